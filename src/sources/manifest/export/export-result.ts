import { toPointer } from '../../../capability/contract.ts'
import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import {
  type Manifest,
  type ManifestCapability,
  type ManifestInterface,
  manifestShape,
} from '../reading/manifest-shape.ts'

/** A manifest in a foreign form, or why it has none. */
export type ExportResult =
  | { readonly json: JsonObject; readonly warnings: readonly ExportWarning[] }
  | { readonly fault: string }

export interface ExportWarning {
  /** JSON pointer into the manifest. */
  readonly path: string
  readonly message: string
}

/** A manifest as it was written, or as it was understood: then items know where they stood. */
export interface ExportableManifest extends Omit<Manifest, 'capabilities' | 'interfaces'> {
  readonly capabilities: readonly Standing<ManifestCapability>[]
  readonly interfaces: readonly Standing<ManifestInterface>[]
}

type Standing<T> = T & { readonly index?: number }

/** Items with the index they were written at. */
export const withIndices = <T extends { readonly index?: number }>(
  items: readonly T[],
): (readonly [at: number, item: T])[] =>
  items.map((item, position) => [item.index ?? position, item])

/**
 * What the foreign form has no field for: the highest place under which nothing was kept. In what
 * was kept, `*` stands for every item of a list.
 */
export function findUnmappedFields(
  manifest: ExportableManifest,
  kept: readonly string[],
  form: string,
): ExportWarning[] {
  const patterns = kept.map((path) => path.split('/').slice(1))
  const sections = Object.keys(manifestShape.shape) as (keyof Manifest)[]
  return sections
    .flatMap((section) => walk(manifest[section], [section], patterns))
    .map((path) => ({ path: toPointer(path), message: `${form} has no field for it.` }))
}

type Path = readonly (string | number)[]

function walk(value: unknown, path: Path, kept: readonly (readonly string[])[]): Path[] {
  if (value === undefined) return []
  const near = kept.filter((pattern) =>
    pattern.every((step, at) => at >= path.length || step === '*' || step === path[at]),
  )
  if (near.length === 0) return [path]
  if (near.some((pattern) => pattern.length <= path.length)) return []
  return childrenOf(value).flatMap(([key, child]) => walk(child, [...path, key], near))
}

function childrenOf(value: unknown): (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return withIndices(value)
  if (!isPlainObject(value)) return []
  return Object.entries(value).filter(([key]) => key !== 'index')
}

/** Cut between words where there is one to cut at, and marked as cut. */
export function truncate(text: string, most: number): string {
  if (text.length <= most) return text
  const room = text.slice(0, most - 1)
  const word = room.replace(/\s+\S*$/, '')
  const kept = word.length > most / 2 ? word : room.replace(/[\uD800-\uDBFF]$/, '')
  return `${kept}…`
}
