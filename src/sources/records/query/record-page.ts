import type { JsonObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { toData } from '../model/record-data.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import type { SourceSelector } from '../reading/find-scope.ts'
import type { RecordProjection } from '../reading/project-fields.ts'
import { toServedKey } from '../reading/record-key.ts'
import type { Row } from '../record-store.ts'

export interface RecordsQuery extends SourceSelector, RecordProjection {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly sort?: string | undefined
  readonly order?: 'asc' | 'desc' | undefined
  readonly count?: 'none' | 'estimated' | 'exact' | undefined
  readonly filter?: unknown
  readonly expand?: readonly string[] | undefined
  readonly expandLimit?: Readonly<Record<string, number>> | undefined
  readonly changesSince?: string | undefined
}

/** A record as returned: its identity in the envelope, its granted fields in `data`. */
export interface ServedRecord extends JsonObject {
  readonly object: 'record'
  readonly id: string
  readonly stream: string
  readonly connection_id: string
  readonly emitted_at: string
  readonly data?: JsonObject | undefined
  /** The stored record is damaged. */
  readonly unreadable?: true
}

export interface RecordPage {
  readonly scope: Scope
  readonly fields: readonly Field[]
  readonly records: readonly ServedRecord[]
  /** The stored keys of the records, for the disclosure log; never served. */
  readonly keys: readonly string[]
  readonly hasMore: boolean
  readonly nextCursor?: string | undefined
  readonly nextChangesSince?: string | undefined
  readonly count?: number | undefined
  readonly warnings: readonly Warning[]
}

export interface Warning extends JsonObject {
  readonly code: string
  readonly message: string
  readonly param?: string
  readonly detail?: JsonObject
}

export const defaultLimit = 25
export const maxRecords = 100

export const toPageSize = ({ limit }: RecordsQuery): number =>
  Math.min(limit ?? defaultLimit, maxRecords)

export const toRecord = (
  scope: Scope,
  fields: readonly Field[],
  { key, emittedAt, body, isUnreadable }: Row,
): ServedRecord => ({
  object: 'record',
  id: toServedKey(scope, key),
  stream: scope.source.stream.name,
  connection_id: scope.source.connection.id,
  display_name: scope.source.connection.label,
  emitted_at: emittedAt,
  ...(isUnreadable ? { unreadable: true } : { data: toData(body, fields) as JsonObject }),
})

export const invalidCursor = (): Failed =>
  cannotRead(
    'invalid_cursor',
    'The cursor is not valid for this read. Repeat the read it came from without changes, or start again without a cursor.',
  )
