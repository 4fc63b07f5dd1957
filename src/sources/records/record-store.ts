import type { JsonObject } from '../../capability/json.ts'
import type { Buckets } from './aggregate/time-buckets.ts'
import type { GrantPackage, TokenKind } from './grants/grant.ts'
import type { Scope } from './grants/scope.ts'
import type { Comparable, Connection, Field, RangeOperator, RecordSource } from './model/stream.ts'

/**
 * What reading needs of a store. Every function that gives out records takes a `Scope`, and gives
 * nothing outside of it. Each looks at a bounded number of rows; those who need more come again.
 */
export interface RecordStore {
  /** Every connection and stream there is; for the owner, and for making scopes. */
  sources(): readonly RecordSource[]
  findToken(token: string): TokenKind | undefined
  /** A package, and all sources there are, at the same moment. */
  view(package_: string): CatalogView
  findPackage(id: string): GrantPackage | undefined
  /** What cursors are sealed with. */
  readonly key: Uint8Array
  /** What was written together with a change has the same mark, and nothing else ever has. */
  lineage(seq: number): number | undefined

  slice(scope: Scope, query: SliceQuery): Slice
  find(scope: Scope, key: string): Row | undefined
  /** The newest arrivals that have every word in one of these fields, below a number; perhaps others, too. */
  match(scope: Scope, query: MatchQuery): Matches
  byArrival(scope: Scope, arrivals: readonly number[]): Arrived
  changes(scope: Scope, query: ChangesQuery): ChangesSlice
  /** The number of the last change of anything. */
  head(): number
  /** Counts the next so many records. */
  tally(scope: Scope, query: TallyQuery): TallySlice
  /** When the newest record arrived, of those before a number. */
  lastUpdated(scope: Scope, below: number): Updated

  /** Which records were said to name it; whether one does, and is granted, is for the reader to see. */
  bindings(blob: string): readonly StoreBinding[]
  blob(id: string): KeptBlob | undefined

  disclose(disclosure: Disclosure): void
  close(): void
}

/** A record as it lies in the store. */
export interface Row {
  /** Grows with every record that arrives, over all sources. */
  readonly arrival: number
  readonly key: string
  readonly emittedAt: string
  /** The record, as JSON text or parsed already: mostly whole, and only `toData` takes out what may be seen. */
  readonly body: string | Readonly<Record<string, unknown>>
}

export interface Condition {
  readonly field: Field
  readonly operator: 'eq' | RangeOperator
  readonly value: Comparable
}

/** Where a page begins: after this one. The value is `null` among those that have none. */
export interface Position {
  readonly value: Comparable | null
  /** `null` is before all of those that have no value. */
  readonly key: string | null
}

export interface PlacedRow extends Row {
  readonly position: Position
}

export interface SliceQuery {
  /** In key order where absent. */
  readonly sort?: Field
  readonly descending: boolean
  readonly after?: Position
  readonly conditions: readonly Condition[]
  readonly limit: number
}

export interface Slice {
  readonly rows: readonly PlacedRow[]
  /** Where looking stopped, when there may be more; not necessarily at a row that fits. */
  readonly resume?: Position
}

export interface MatchQuery {
  readonly words: readonly string[]
  readonly fields: readonly Field[]
  readonly conditions: readonly Condition[]
  /** Only arrivals below this. */
  readonly below: number
  readonly limit: number
}

export interface Matches {
  /** Newest first. */
  readonly arrivals: readonly number[]
  /** What to look below next, when there may be more; not necessarily one that fits. */
  readonly resume?: number
}

export interface Arrived {
  readonly rows: readonly Row[]
  /** Those to ask for in another turn. */
  readonly left: readonly number[]
}

export interface ChangesQuery {
  readonly after: number
  /** Inclusive. */
  readonly upTo: number
  readonly newestFirst: boolean
  readonly limit: number
}

export interface ChangesSlice {
  readonly changes: readonly RecordChange[]
  /** Where looking stopped, when there may be more: `after` of the next, or `upTo` where the newest are first. */
  readonly resume?: number
}

export type RecordChange =
  | { readonly seq: number; readonly row: Row }
  | { readonly seq: number; readonly removed: { readonly key: string; readonly at: string } }

export interface CatalogView {
  readonly given?: GrantPackage
  readonly sources: readonly RecordSource[]
}

export interface TallyQuery {
  /** Only arrivals after this. */
  readonly after: number
  readonly conditions: readonly Condition[]
  readonly field?: Field
  readonly group?: Grouping
  /** The values themselves, each once. */
  readonly distinct: boolean
}

export interface Grouping {
  readonly field: Field
  /** Times that are this near to each other are always in one group. */
  readonly step?: number
  /** Which times are in one group besides. */
  readonly buckets?: Buckets
}

export interface TallySlice {
  /** A group may come several times. */
  readonly tallies: readonly Tally[]
  /** The last arrival that was looked at, when there may be more. */
  readonly resume?: number
}

/** Partial sums of one group. */
export interface Tally {
  /** Of a group of times, one of them: always the same one of the same buckets. */
  readonly group: Comparable | null
  readonly count: number
  /** How many have a value. */
  readonly valued: number
  readonly sum: number
  readonly min: Comparable | null
  readonly max: Comparable | null
}

export interface Updated {
  readonly at?: string
  /** Before which to look next, when there may be one. */
  readonly resume?: number
}

/** One record of one source. */
export interface StoreBinding {
  /** Its number in the store. */
  readonly source: number
  readonly key: string
}

/** Bytes beside the records. */
export interface KeptBlob {
  readonly id: string
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** What was read under which grant; ids only hashed. */
export interface Disclosure {
  readonly package: GrantPackage['id']
  readonly grant: string
  readonly tool: string
  readonly connection: Connection['id']
  readonly stream: string
  readonly fields: readonly string[]
  readonly records: readonly string[]
  readonly details?: JsonObject
}
