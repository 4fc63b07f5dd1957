import type { JsonObject } from '../../capability/json.ts'
import type { GrantPackage, StoredToken } from './model/grant.ts'
import type { RecordBody } from './model/record-data.ts'
import type { Scope } from './model/scope.ts'
import type { Comparable, Connection, Field, RangeOperator, RecordSource } from './model/stream.ts'

/**
 * The store port that reads are built on. Every method that returns records takes a `Scope` and
 * returns nothing outside it. Each call scans a bounded number of rows and returns a `resume`
 * position when there may be more.
 */
export interface RecordStore {
  /** Every connection and stream in the store: for the owner, and for building scopes. */
  sources(): readonly RecordSource[]
  findToken(token: string): StoredToken | undefined
  /** A grant package and all sources, read in one snapshot. */
  view(packageId: string): CatalogView
  findPackage(id: string): GrantPackage | undefined
  /** The encryption key for cursors. */
  readonly key: Uint8Array
  /**
   * The unique mark of the write batch that contains this change. Sequence numbers that are written
   * again after a restore from a backup have another mark.
   */
  lineage(seq: number): number | undefined

  slice(scope: Scope, query: SliceQuery): Slice
  find(scope: Scope, key: string): Row | undefined
  /** The newest arrivals below a number that contain every word. May return false positives. */
  match(scope: Scope, query: MatchQuery): Matches
  byArrival(scope: Scope, arrivals: readonly number[]): ArrivedRows
  changes(scope: Scope, query: ChangesQuery): ChangesSlice
  /** The sequence number of the last change in the whole store. */
  head(): number
  /** Aggregates the next slice of records. */
  tally(scope: Scope, query: TallyQuery): TallySlice
  /** Arrival time of the newest visible record below an arrival number. */
  lastUpdated(scope: Scope, below: number): LastUpdated

  /** Records this blob was uploaded for. The reader checks that a granted record really refers to it. */
  bindings(blobId: string): readonly BlobBinding[]
  blob(id: string): StoredBlob | undefined

  disclose(disclosure: Disclosure): void
  close(): void
}

/** A record as stored. */
export interface Row {
  /** Increases with every arriving record, across all sources. */
  readonly arrival: number
  readonly key: string
  readonly emittedAt: string
  /** May hold fields outside the scope: only `toData` reads it. */
  readonly body: RecordBody
  /** The stored body is damaged, and `body` is empty. */
  readonly isUnreadable?: true
}

export interface Condition {
  readonly field: Field
  readonly operator: 'eq' | RangeOperator
  readonly value: Comparable
}

/** Keyset pagination: the page starts after this record. `value` is `null` among records without one. */
export interface Position {
  readonly value: Comparable | null
  /** `null` is the position before all records without a value. */
  readonly key: string | null
}

export interface PlacedRow extends Row {
  readonly position: Position
}

export interface SliceQuery {
  /** Key order when absent. */
  readonly sort?: Field | undefined
  readonly descending: boolean
  readonly after?: Position | undefined
  readonly conditions: readonly Condition[]
  readonly limit: number
}

export interface Slice {
  readonly rows: readonly PlacedRow[]
  /** End of the scan, when there may be more. The row at this position need not match. */
  readonly resume?: Position
}

export interface MatchQuery {
  readonly words: readonly string[]
  readonly fields: readonly Field[]
  readonly conditions: readonly Condition[]
  /** Exclusive upper bound on arrivals. */
  readonly below: number
  readonly limit: number
}

export interface Matches {
  /** Newest first. */
  readonly arrivals: readonly number[]
  /** The next `below`, when there may be more. The row there need not match. */
  readonly resume?: number
}

export interface ArrivedRows {
  readonly rows: readonly Row[]
  /** Arrivals not read yet; the caller requests them after yielding. */
  readonly remaining: readonly number[]
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
  /** End of the scan, when there may be more: the next `after`, or the next `upTo` if newest first. */
  readonly resume?: number
}

export type RecordChange =
  | { readonly seq: number; readonly row: Row }
  | { readonly seq: number; readonly removed: { readonly key: string; readonly at: string } }

export interface CatalogView {
  readonly package: GrantPackage | undefined
  readonly sources: readonly RecordSource[]
}

export interface TallyQuery {
  /** Exclusive lower bound on arrivals. */
  readonly after: number
  readonly conditions: readonly Condition[]
  readonly field?: Field | undefined
  readonly group?: Grouping
  /** Return each distinct value once, as the group. */
  readonly distinct: boolean
}

export interface Grouping {
  readonly field: Field
  /** Width in milliseconds of the steps in which all times share a group. */
  readonly step?: number
  /** Calendar buckets the steps are merged into. */
  readonly buckets?: TimeBuckets
}

/** Calendar buckets in one time zone, numbered from 1 in order of first use. */
export interface TimeBuckets {
  bucketAt(time: number): number
  /** Writes the bucket of the time in each of `count` rows, 0 for NaN. Returns the highest bucket. */
  fill(times: Float64Array, rows: Uint32Array, count: number, buckets: Uint32Array): number
  /** A time inside the bucket, always the same one. */
  representativeTime(bucket: number): number
}

export interface TallySlice {
  /** A group may appear several times. */
  readonly tallies: readonly Tally[]
  /** The last arrival scanned, when there may be more. */
  readonly resume?: number
}

/** Partial sums of one group. */
export interface Tally {
  /** The group's value. A time bucket is represented by one of its times, always the same one. */
  readonly group: Comparable | null
  readonly count: number
  /** Records with a value. */
  readonly valueCount: number
  readonly sum: number
  readonly min: Comparable | null
  readonly max: Comparable | null
}

export interface LastUpdated {
  readonly at?: string
  /** The next `below`, when there may be an older one. */
  readonly resume?: number
}

/** The record a blob was uploaded for. */
export interface BlobBinding {
  /** The source's number in the store. */
  readonly source: number
  readonly key: string
}

/** Binary content stored beside the records. */
export interface StoredBlob {
  readonly id: string
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** One read under one grant, for the disclosure log. The store keeps record ids as hashes only. */
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
