import type { Data } from '../model/record-data.ts'
import type { Scope } from '../model/scope.ts'

const titleFields = ['title', 'name', 'subject', 'summary', 'headline']
const timeFields = [
  'sent_at',
  'authored_at',
  'created_at',
  'source_created_at',
  'occurred_at',
  'published_at',
  'date',
  'updated_at',
]
const maxLength = 120

/**
 * A human-readable title: the record's own, else its connection, stream and time. The time it was
 * written is preferred over the time it was collected.
 */
export function toTitle(
  { source: { connection, stream } }: Scope,
  data: Data,
  { key, emittedAt }: { readonly key: string; readonly emittedAt: string },
): string {
  const title = titleFields.map((name) => data[name]).find(isText)
  if (title !== undefined) return toShortLine(title)
  const time = toAuthoredAt(stream.consentTimeField, data) ?? emittedAt
  return [connection.label ?? connection.connector, stream.title ?? stream.name, time || key]
    .map(toShortLine)
    .join(' / ')
}

export function toAuthoredAt(consentTimeField: string | undefined, data: Data): string | undefined {
  const time = [...timeFields, ...(consentTimeField === undefined ? [] : [consentTimeField])]
    .map((name) => data[name])
    .find(isText)
  return time === undefined ? undefined : toShortLine(time)
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** Truncates to one short line: record text must not inject lines into an answer. */
function toShortLine(text: string): string {
  const trimmed = text.trimStart()
  const start = trimmed.slice(0, 4 * maxLength)
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  return line.length > maxLength || start.length < trimmed.length
    ? `${line.slice(0, maxLength - 1)}…`
    : line
}
