import type { Fault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Manifest, ManifestCapability, ManifestInterface } from '../reading/manifest-shape.ts'

/** A manifest in another format, or why it cannot be exported. */
export type ExportResult =
  | { readonly json: JsonObject; readonly warnings: readonly ExportWarning[] }
  | Fault

export interface ExportWarning {
  /** JSON pointer into the manifest. */
  readonly path: string
  readonly message: string
}

/** A manifest as written or as read by `readManifest`, whose items carry their original index. */
export interface ExportableManifest extends Omit<Manifest, 'capabilities' | 'interfaces'> {
  readonly capabilities: readonly MaybeIndexed<ManifestCapability>[]
  readonly interfaces: readonly MaybeIndexed<ManifestInterface>[]
}

type MaybeIndexed<T> = T & { readonly index?: number }

/** Pairs items with the index they have in the file. */
export const withIndices = <T extends { readonly index?: number }>(
  items: readonly T[],
): (readonly [index: number, item: T])[] =>
  items.map((item, position) => [item.index ?? position, item])

/** Shortens to `maxLength` UTF-16 units, preferably between words, never inside a surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const prefix = text.slice(0, maxLength - 1)
  const wholeWords = prefix.replace(/\s+\S*$/, '')
  const shortText =
    wholeWords.length > maxLength / 2 ? wholeWords : prefix.replace(/[\uD800-\uDBFF]$/, '')
  return `${shortText}…`
}
