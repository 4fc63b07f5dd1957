import { isPlainObject } from '../../../json/is-plain-object.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { type Manifest, manifestShape } from '../reading/manifest-shape.ts'
import { type ExportableManifest, type ExportWarning, withIndices } from './export-result.ts'

/**
 * Warns about the fields that the target format has no place for: the topmost pointers below which
 * nothing was exported. `exportedPointers` lists those that were; `*` matches every item of a list.
 */
export function findUnmappedFields(
  manifest: ExportableManifest,
  exportedPointers: readonly string[],
  format: string,
): ExportWarning[] {
  const patterns = exportedPointers.map((path) => path.split('/').slice(1))
  const sections = Object.keys(manifestShape.shape) as (keyof Manifest)[]
  return sections
    .flatMap((section) => walk(manifest[section], [section], patterns))
    .map((path) => ({ path: toPointer(path), message: `${format} has no field for it.` }))
}

type Path = readonly (string | number)[]

function walk(value: unknown, path: Path, patterns: readonly (readonly string[])[]): Path[] {
  if (value === undefined) return []
  const matchingPatterns = patterns.filter((pattern) =>
    pattern.every((step, at) => at >= path.length || step === '*' || step === path[at]),
  )
  if (matchingPatterns.length === 0) return [path]
  if (matchingPatterns.some((pattern) => pattern.length <= path.length)) return []
  return childrenOf(value).flatMap(([key, child]) => walk(child, [...path, key], matchingPatterns))
}

function childrenOf(value: unknown): (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return withIndices(value)
  if (!isPlainObject(value)) return []
  return Object.entries(value).filter(([key]) => key !== 'index')
}
