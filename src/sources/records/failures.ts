import { type FailureTable, failureSet } from '../../capability/failure.ts'

/** Every way a read can fail, and who can fix it. */
export const readFailures = {
  invalid_request: 'model',
  invalid_argument: 'model',
  invalid_filter: 'model',
  invalid_sort: 'model',
  invalid_expand: 'model',
  invalid_cursor: 'model',
  cursor_expired: 'model',
  unknown_field: 'model',
  unknown_stream: 'model',
  not_found: 'model',
  blob_not_found: 'model',
  record_unreadable: 'operator',
  connection_not_found: 'model',
  conflicting_connection_id: 'model',
  ambiguous_connection: 'model',
  ambiguous_schema_detail: 'model',
  timed_out: 'model',
  owner_token_refused: 'client',
  remote_busy: 'model',
  remote_unavailable: 'operator',
  remote_refused: 'operator',
  grant_missing: 'client',
  grant_revoked: 'client',
  grant_expired: 'client',
} as const satisfies FailureTable

export type ReadFailureCode = keyof typeof readFailures

export const cannotRead = failureSet(readFailures)
