import type { z } from 'zod'
import { toPointer } from '../../../json/to-pointer.ts'
import type { YamlReading } from '../../../yaml/read-yaml.ts'
import type { ManifestPath, ManifestReadOptions, Report } from './read-manifest.ts'

/** Reports a field that v0.1 does not define: an error in strict mode, else a warning. */
export function reportUnknownField(
  path: ManifestPath,
  key: string,
  document: YamlReading,
  { strict }: ManifestReadOptions,
  report: Report,
): void {
  const message = `${toPointer([...path, key])} is not a field of a v0.1 manifest and is not projected. Remove it, or approve its namespace with "extensions".`
  report(
    strict ? 'error' : 'warning',
    'field_unknown',
    [...path, key],
    message,
    document.keyAt(path, key),
  )
}

/** A copy without the keys that the error reports as unknown. */
export function withoutUnknownFields(value: unknown, { issues }: z.ZodError): unknown {
  const copy = structuredClone(value)
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue
    let node = copy as Record<PropertyKey, unknown>
    for (const segment of issue.path) node = node[segment] as Record<PropertyKey, unknown>
    for (const key of issue.keys) delete node[key]
  }
  return copy
}
