import type { Data } from '../grants/narrow-fields.ts'
import type { Scope } from '../grants/scope.ts'

const named = ['title', 'name', 'subject', 'summary', 'headline']
const authored = [
  'sent_at',
  'authored_at',
  'created_at',
  'source_created_at',
  'occurred_at',
  'published_at',
  'date',
  'updated_at',
]
const longest = 120

/**
 * Who a record is, in words. What it calls itself, else whose it is and from when: the time somebody
 * wrote it, before the time it was collected.
 */
export function toTitle(
  { source: { connection, stream } }: Scope,
  data: Data,
  { key, emittedAt }: { readonly key: string; readonly emittedAt: string },
): string {
  const own = named.map((name) => data[name]).find(isText)
  if (own !== undefined) return cut(own)
  const time = toAuthoredAt(stream.consentTimeField, data) ?? emittedAt
  return [connection.label ?? connection.connector, stream.title ?? stream.name, time || key]
    .map(cut)
    .join(' / ')
}

export function toAuthoredAt(consent: string | undefined, data: Data): string | undefined {
  const time = [...authored, ...(consent === undefined ? [] : [consent])]
    .map((name) => data[name])
    .find(isText)
  return time === undefined ? undefined : cut(time)
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** One line, and not a long one: whoever wrote it must not write lines of ours. */
function cut(text: string): string {
  const whole = text.trimStart()
  const beginning = whole.slice(0, 4 * longest)
  const line = beginning.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  return line.length > longest || beginning.length < whole.length
    ? `${line.slice(0, longest - 1)}…`
    : line
}
