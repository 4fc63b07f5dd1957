import { text } from '../../../capability/content.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Done } from '../../../capability/outcome.ts'
import { toRecordId } from '../model/record-id.ts'
import type { RecordPage, ServedRecord } from '../query/record-page.ts'
import { quoteName } from '../schema/stream-features.ts'
import { toContinuation } from './continuation.ts'

/** Characters of records in one answer's text. Longer pages are shortened, with a note. */
const maxRecordsLength = 40_000
const maxValueLength = 400

/** A page of records as data, and as self-contained text. */
export function toPageAnswer(page: RecordPage): Done {
  const { scope, records, warnings } = page
  const { connection, stream } = scope.source
  const emittedAt = findCommonTime(records)
  const { lines, isShortened } = toLines(records, emittedAt)
  const head = [
    `${records.length} of stream ${quoteName(stream.name)}, connection_id ${quoteName(connection.id)}.`,
    ...toContinuation(page),
    ...(emittedAt === undefined ? [] : [`All have emitted_at ${quoteName(emittedAt)}.`]),
    ...(isShortened ? ['Long values are shortened; fetch a record to read it in full.'] : []),
    ...warnings.map(({ message }) => message),
    ...(records.length > 0
      ? [
          `To fetch a record, pass ${JSON.stringify(toRecordId(connection.id, stream.name, ''))} followed by its id below.`,
        ]
      : []),
  ].join(' ')
  return {
    kind: 'done',
    data: { data: toListEnvelope(page) },
    content: [text([head, ...lines].join('\n'))],
  }
}

export const toListEnvelope = (page: RecordPage): JsonObject => ({
  object: 'list',
  data: page.records,
  has_more: page.hasMore,
  next_cursor: page.nextCursor,
  next_changes_since: page.nextChangesSince,
  meta: {
    count: page.count === undefined ? { kind: 'none' } : { kind: 'exact', value: page.count },
    warnings: page.warnings,
  },
})

/** Records of one import share `emitted_at`; the text states a common time once instead of per record. */
function findCommonTime([first, ...others]: readonly ServedRecord[]): string | undefined {
  const at = first?.emitted_at
  return others.length > 0 && others.every(({ emitted_at }) => emitted_at === at) ? at : undefined
}

function toLines(
  records: readonly ServedRecord[],
  emittedAt: string | undefined,
): { readonly lines: readonly string[]; readonly isShortened: boolean } {
  const entries = records.map(({ id, emitted_at, deleted, unreadable, data, expanded }) => ({
    id,
    emitted_at: emittedAt === undefined ? emitted_at : undefined,
    deleted: deleted === true ? deleted : undefined,
    unreadable,
    data,
    expanded,
  }))
  const full = entries.map((record) => JSON.stringify(record))
  if (totalLength(full) <= maxRecordsLength) return { lines: full, isShortened: false }
  const maxLength = Math.max(
    40,
    Math.min(maxValueLength, Math.floor(maxRecordsLength / records.length / 8)),
  )
  const shortLines = entries.map((record) =>
    JSON.stringify(record, (_, value) => shorten(value, maxLength)),
  )
  let room = maxRecordsLength
  const lines = shortLines.map((line, index) => {
    room -= line.length
    return room >= 0
      ? line
      : JSON.stringify({ id: entries[index]?.id, left_out: 'too long; fetch it' })
  })
  return { lines, isShortened: true }
}

const shorten = (value: unknown, maxLength: number): unknown =>
  typeof value === 'string' && value.length > maxLength
    ? `${value.slice(0, maxLength)}… (${value.length} characters)`
    : value

const totalLength = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + line.length, 0)
