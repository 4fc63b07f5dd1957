import { type RecordEntry, toRecordEntry } from '../../../sources/records/import/to-entry.ts'
import type { Stream } from '../../../sources/records/model/stream.ts'

const layouts = new WeakMap<Stream, string>()

/** The part of a declaration that the values and words of an entry depend on. */
export function toLayout(stream: Stream): string {
  const layout =
    layouts.get(stream) ??
    JSON.stringify(stream.fields.map(({ n, name, type, lexical }) => [n, name, type, lexical]))
  layouts.set(stream, layout)
  return layout
}

/** Converts entries that were made for another declaration; their keys stay. */
export function fitEntries(
  entries: readonly RecordEntry[],
  layout: string,
  stream: Stream,
): readonly RecordEntry[] {
  if (layout === toLayout(stream)) return entries
  const keyless = { ...stream, primaryKey: [] }
  return entries.map(({ written, ...entry }) =>
    written ? { ...entry, written: refit(keyless, written.body) } : entry,
  )
}

export function refit(keyless: Stream, body: string): NonNullable<RecordEntry['written']> {
  const entry = toRecordEntry(keyless, { object: 'record', data: JSON.parse(body) }, '')
  if (typeof entry === 'string' || !entry.written)
    throw new Error(
      `The stream ${keyless.name} cannot be redeclared: a stored record does not fit: ${entry}`,
    )
  return { ...entry.written, body }
}
