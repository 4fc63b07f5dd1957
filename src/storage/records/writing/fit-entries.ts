import type { Stream } from '../../../sources/records/model/stream.ts'
import { toContent } from '../../../sources/records/model/to-content.ts'
import type { RecordEntry } from '../../../sources/records/record-sink.ts'

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
  return entries.map((entry) => {
    if (!entry.content) return entry
    const { body } = entry.content
    return { ...entry, content: toContent(stream, JSON.parse(body), body) }
  })
}
