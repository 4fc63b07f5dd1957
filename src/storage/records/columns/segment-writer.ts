import { type Field, isScalar, type Stream } from '../../../sources/records/model/stream.ts'
import { type All, type Sql, sql } from '../../sqlite/sql.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import { columnTable, recordTable, segmentTable, staleTable } from '../table-names.ts'
import {
  decodeNumbers,
  decodeTexts,
  encodeNumbers,
  encodeTexts,
  segmentLength,
  toValues,
} from './column.ts'
import { arrivals, type ColumnField, readColumns, type Values } from './packed-columns.ts'

/** Scalar fields have a column, but searchable texts and text keys only if they are aggregated. */
export const hasColumn = ({ primaryKey }: Stream, field: Field): boolean =>
  isScalar(field) &&
  (field.type !== 'string' ||
    field.aggregates.length > 0 ||
    !(field.lexical || primaryKey.includes(field.name)))

/** Text fields with more distinct values per segment are stored only if they are aggregated. */
const maxDistinctTexts = segmentLength / 2
/** Up to so many stale records are read row by row; then their segments are rewritten. */
const maxStale = 1024
const maxStalePerSegment = 16

interface StoredColumn extends ColumnField {
  /** Stored even with many distinct values. */
  readonly isRequired: boolean
}

export function createSegmentTables(database: Sqlite, n: number): void {
  database.exec(
    `create table ${segmentTable(n)} (
       last integer primary key, rows integer not null, version integer not null
     ) strict;
     create table ${columnTable(n)} (
       field integer not null, segment integer not null, data blob not null,
       primary key (field, segment)
     ) strict;
     create table ${staleTable(n)} (id integer primary key) strict;`,
  )
}

/**
 * Writes a second, columnar copy of the fields for aggregation. It runs in the transaction that writes the
 * records, so rows and columns never disagree.
 */
export class SegmentWriter {
  readonly #database: Sqlite
  readonly #all: All = ({ text, values }) => this.#database.prepare<never>(text).all(...values)

  constructor(database: Sqlite) {
    this.#database = database
  }

  /** The last record that is in a segment. */
  lastSealedId(n: number): number {
    const [row] = this.#all<{ last: number | null }>(
      sql`select max(last) as last from ${segmentTable(n)}`,
    )
    return row?.last ?? 0
  }

  /** Marks a record in a segment as changed or deleted. */
  markStale(n: number, record: number): void {
    this.#all(sql`insert or ignore into ${staleTable(n)} (id) values (${record})`)
  }

  /**
   * Seals up to `maxSealed` complete segments, then rewrites stale ones when there are many stale records.
   * Returns whether complete segments are left to seal.
   */
  maintain(n: number, stream: Stream, maxSealed = Infinity): boolean {
    const columns: StoredColumn[] = [
      { ...arrivals, isRequired: true },
      ...stream.fields
        .filter((field) => hasColumn(stream, field))
        .map((field) => ({ ...field, isRequired: field.aggregates.length > 0 })),
    ]
    let lastSealedId = this.lastSealedId(n)
    for (let count = 0; this.#isComplete(n, lastSealedId); count++) {
      if (count >= maxSealed) return true
      lastSealedId = this.#seal(n, columns, lastSealedId)
    }
    const [counts] = this.#all<{ stale: number; segments: number }>(sql`
      select
        (select count(*) from ${staleTable(n)}) as stale,
        (select count(*) from ${segmentTable(n)}) as segments`)
    if (counts && counts.stale > Math.max(maxStale, counts.segments * maxStalePerSegment))
      this.#rewriteStale(n, columns)
    return false
  }

  #isComplete(n: number, lastSealedId: number): boolean {
    const [row] = this.#all<{ count: number }>(sql`
      select count(*) as count
      from (select 1 from ${recordTable(n)} where id > ${lastSealedId} limit ${segmentLength})`)
    return row?.count === segmentLength
  }

  #seal(n: number, columns: readonly StoredColumn[], lastSealedId: number): number {
    const values = this.#read(
      n,
      columns,
      sql`id > ${lastSealedId} order by id limit ${segmentLength}`,
    )
    const [ids = []] = values
    const last = Number(ids.at(-1))
    this.#write(n, last, columns, values)
    return last
  }

  #rewriteStale(n: number, columns: readonly StoredColumn[]): void {
    const segments = this.#all<{ last: number; first: number }>(sql`
      select last, first
      from (
        select last, lag(last, 1, 0) over (order by last) as first from ${segmentTable(n)}
      )
      where exists (select 1 from ${staleTable(n)} where id > first and id <= last)`)
    for (const { first, last } of segments) {
      const selectStale = sql`
        select id from ${staleTable(n)} where id > ${first} and id <= ${last}`
      const staleIds = new Set(this.#all<{ id: number }>(selectStale).map((row) => row.id))
      const presentColumns = this.#read(n, columns, sql`id in (${selectStale}) order by id`)
      this.#write(n, last, columns, this.#merge(n, last, columns, staleIds, presentColumns))
    }
    this.#database.exec(`delete from ${staleTable(n)}`)
    this.#dropEmpty(n)
  }

  /** Deletes segments without records: zero bytes of data already mean "column not stored". */
  #dropEmpty(n: number): void {
    this.#database.exec(
      `delete from ${columnTable(n)}
         where segment in (select last from ${segmentTable(n)} where rows = 0);
       delete from ${segmentTable(n)} where rows = 0`,
    )
  }

  /** Replaces the stale records of a segment by their present values, in order of their ids. */
  #merge(
    n: number,
    segment: number,
    columns: readonly StoredColumn[],
    staleIds: ReadonlySet<number>,
    presentColumns: readonly Values[],
  ): readonly Values[] {
    const formerColumns = columns.map((column) => this.#decode(n, segment, column))
    if (formerColumns.some((values) => values === undefined))
      return this.#read(
        n,
        columns,
        sql`id > ${this.#lastBefore(n, segment)} and id <= ${segment} order by id`,
      )
    const [formerIds = [], presentIds = []] = [formerColumns[0], presentColumns[0]]
    const places = [
      ...formerIds.flatMap((id, at) =>
        staleIds.has(Number(id)) ? [] : [[Number(id), formerColumns, at] as const],
      ),
      ...presentIds.map((id, at) => [Number(id), presentColumns, at] as const),
    ].sort(([a], [b]) => a - b)
    return columns.map((_, column) => places.map(([, from, at]) => from[column]?.[at] ?? null))
  }

  #lastBefore(n: number, segment: number): number {
    const [row] = this.#all<{ last: number | null }>(
      sql`select max(last) as last from ${segmentTable(n)} where last < ${segment}`,
    )
    return row?.last ?? 0
  }

  #decode(n: number, segment: number, { n: field, type }: StoredColumn): Values | undefined {
    const [row] = this.#all<{ data: Uint8Array | ArrayBuffer }>(
      sql`select data from ${columnTable(n)} where field = ${field} and segment = ${segment}`,
    )
    const bytes = row && toBuffer(row.data)
    if (!bytes || bytes.byteLength === 0) return undefined
    return toValues(type === 'string' ? decodeTexts(bytes) : decodeNumbers(bytes))
  }

  #read(n: number, columns: readonly StoredColumn[], filter: Sql): readonly Values[] {
    return readColumns(this.#all, n, columns, filter)
  }

  #write(
    n: number,
    segment: number,
    columns: readonly StoredColumn[],
    values: readonly Values[],
  ): void {
    const rows = values[0]?.length ?? 0
    this.#all(sql`
      insert or replace into ${segmentTable(n)} (last, rows, version)
      values (${segment}, ${rows}, ${this.#nextVersion()})`)
    // One of the drivers binds an empty byte array as null.
    const put = this.#database.prepare(
      `insert or replace into ${columnTable(n)} (field, segment, data)
       values (?, ?, coalesce(?, x''))`,
    )
    for (const [at, { n: field, type, isRequired }] of columns.entries())
      put.run(field, segment, toBytes(type, values[at] ?? [], isRequired))
  }

  #nextVersion(): number {
    this.#database.exec(
      `update meta set value = cast(cast(value as integer) + 1 as text) where name = 'segments'`,
    )
    const [row] = this.#all<{ value: string }>(sql`select value from meta where name = 'segments'`)
    return Number(row?.value)
  }
}

/** Zero bytes mean that the column is not stored. */
function toBytes(type: Field['type'], values: Values, isRequired: boolean): Uint8Array {
  if (type !== 'string') return encodeNumbers(values as (number | null)[])
  if (!isRequired && new Set(values).size > maxDistinctTexts) return new Uint8Array(0)
  return encodeTexts(values as (string | null)[])
}

/** One driver returns a Uint8Array, the other an ArrayBuffer. */
export const toBuffer = (data: Uint8Array | ArrayBuffer): ArrayBuffer =>
  data instanceof ArrayBuffer ? data : (new Uint8Array(data).buffer as ArrayBuffer)
