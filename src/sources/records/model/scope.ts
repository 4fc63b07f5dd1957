import type { Grant } from './grant.ts'
import type { Field, RecordSource } from './stream.ts'

/**
 * One source, restricted by a grant. All reading code takes a scope and nothing else, so a field,
 * time or connection outside the grant cannot even be named. Unrelated to the OAuth scopes of a caller.
 */
export interface Scope {
  readonly source: RecordSource
  readonly grant: Grant['id']
  /** Granted fields by name; other fields do not exist for the reader. */
  readonly fields: ReadonlyMap<string, Field>
  readonly window?: Window
  /** Record keys, when the grant is restricted to certain records. */
  readonly keys?: readonly string[]
  /** Seals record ids; present when the primary key includes fields outside the grant. */
  readonly idKey?: Uint8Array
}

/** A time range on one field in milliseconds: `from` inclusive, `to` exclusive. */
export interface Window {
  readonly field: Field
  readonly from: number
  readonly to: number
}
