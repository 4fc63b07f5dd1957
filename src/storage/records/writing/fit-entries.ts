import { type RecordEntry, toRecordEntry } from '../../../sources/records/import/to-entry.ts'
import type { Stream } from '../../../sources/records/model/stream.ts'

const known = new WeakMap<Stream, string>()

/** Everything of a declaration that the values and words of an entry depend on. */
export function toLayout(stream: Stream): string {
  const layout =
    known.get(stream) ??
    JSON.stringify(stream.fields.map(({ n, name, type, lexical }) => [n, name, type, lexical]))
  known.set(stream, layout)
  return layout
}

/** Entries that were made for another declaration are made again; each keeps the key it has. */
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
    throw new Error(`${keyless.name} cannot be declared anew because of a record: ${entry}`)
  return { ...entry.written, body }
}
