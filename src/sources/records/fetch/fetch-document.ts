import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { type Data, toData } from '../model/record-data.ts'
import { readRecordId, toRecordId, toUrl } from '../model/record-id.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import { findScope } from '../reading/find-scope.ts'
import { toFields } from '../reading/project-fields.ts'
import type { Reader } from '../reading/reader.ts'
import { fromServedKey, toServedKey } from '../reading/record-key.ts'
import type { Row } from '../record-store.ts'
import { toAuthoredAt, toTitle } from './title.ts'

export interface FetchQuery {
  readonly id: string
  readonly connection?: string | undefined
  readonly fields?: readonly string[] | undefined
  /** Start position in the text, in characters. */
  readonly offset?: number | undefined
}

export interface RecordDocument extends JsonObject {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly url: string
  readonly metadata: JsonObject
}

export interface FetchedDocument {
  readonly scope: Scope
  readonly fields: readonly Field[]
  readonly row: Row
  readonly document: RecordDocument
}

/** Characters of text per answer; `offset` continues a longer text. */
const maxTextLength = 50_000

export function fetchDocument(reader: Reader, query: FetchQuery): FetchedDocument | Failed {
  const record = findRecord(reader, query)
  if (isFailed(record)) return record
  const { scope, row } = record
  const fields = toFields(scope, query)
  if (isFailed(fields)) return fields
  return { scope, fields, row, document: toDocument(scope, fields, row, query) }
}

/** Built from the projected fields only. */
export function toDocument(
  scope: Scope,
  fields: readonly Field[],
  row: Omit<Row, 'arrival'>,
  query: FetchQuery,
): RecordDocument {
  const { connection, stream } = scope.source
  const data = toData(row.body, fields)
  const text = toText(data, query.fields !== undefined)
  const offset = Math.min(query.offset ?? 0, text.length)
  const end = toBoundary(text, Math.min(text.length, offset + maxTextLength))
  const authoredAt = toAuthoredAt(stream.consentTimeField, data)
  const key = toServedKey(scope, row.key)
  const name = { connection: connection.id, stream: stream.name, key }
  const isPart = offset > 0 || end < text.length
  return {
    id: toRecordId(connection.id, stream.name, key),
    title: toTitle(scope, data, { key, emittedAt: row.emittedAt }),
    text: text.slice(offset, end),
    url: toUrl(name, data),
    metadata: {
      connection_id: connection.id,
      connector_key: connection.connector,
      stream: stream.name,
      record_id: key,
      display_name: connection.label,
      emitted_at: row.emittedAt,
      authored_at: authoredAt,
      ...(isPart && { text_offset: offset, text_total_chars: text.length }),
      ...(end < text.length && {
        next_offset: end,
        more: `The text continues: fetch the same id with offset ${end}.`,
      }),
    },
  }
}

function findRecord(
  reader: Reader,
  query: FetchQuery,
): { readonly scope: Scope; readonly row: Row } | Failed {
  const target = resolveRecordId(reader, query)
  if (isFailed(target)) return target
  const { scope } = target
  const key = fromServedKey(scope, target.key)
  const row = key === undefined ? undefined : reader.store.find(scope, key)
  if (!row) return noRecord()
  return row.isUnreadable ? unreadableRecord(scope, row) : { scope, row }
}

/** Resolves an id to a scope and a served key. Reads nothing from the store. */
export function resolveRecordId(
  reader: Pick<Reader, 'scopes'>,
  { id, connection }: Pick<FetchQuery, 'id' | 'connection'>,
): { readonly scope: Scope; readonly key: string } | Failed {
  const name = readRecordId(id)
  if (!name)
    return cannotRead(
      'invalid_argument',
      'id must come from search or query_records, in the form connection/stream:key.',
    )
  if (connection !== undefined && name.connection !== undefined && connection !== name.connection)
    return cannotRead(
      'conflicting_connection_id',
      'The id names a different connection than connection_id. Leave connection_id out.',
    )
  const scope = findScope(reader, {
    stream: name.stream,
    connection: name.connection ?? connection,
  })
  return isFailed(scope) ? scope : { scope, key: name.key }
}

export const noRecord = (): Failed =>
  cannotRead('not_found', 'Record not found. Use an id from search or query_records.')

export const unreadableRecord = ({ source }: Scope, { arrival }: Row): Failed =>
  cannotRead(
    'record_unreadable',
    `Row ${arrival} of ${source.connection.id}/${source.stream.name} is damaged.`,
    {
      advice:
        'The stored record is damaged: run "drawbridge store check", then import the record again, or run "drawbridge store restore" or "drawbridge store repair".',
    },
  )

const textFields = ['text', 'content', 'body', 'message', 'summary']

/** The record's text field as is; all data as JSON if it has none, or if several fields were requested. */
function toText(data: Data, isProjected: boolean): string {
  const textField = textFields.find((name) => typeof data[name] === 'string' && data[name] !== '')
  if (textField !== undefined && (!isProjected || Object.keys(data).length === 1))
    return String(data[textField])
  return JSON.stringify(data, null, 2)
}

/** Moves the boundary back if it would split a surrogate pair. */
const toBoundary = (text: string, end: number): number => {
  const code = text.charCodeAt(end - 1)
  return end < text.length && code >= 0xd800 && code <= 0xdbff ? end - 1 : end
}
