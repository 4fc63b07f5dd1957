import { type Field, isScalar, type Stream } from '../../../sources/records/model/stream.ts'
import { id, type Sql, sql } from '../../sqlite/sql.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import {
  decodeNumbers,
  decodeTexts,
  encodeNumbers,
  encodeTexts,
  segmentLength,
  toValues,
} from './column.ts'
import { arrivals, type ColumnField, readColumns, type Values } from './packed-columns.ts'

/** What is worth a column: whatever is counted by, and what is filtered by and is no prose. */
export const isColumn = ({ primaryKey }: Stream, field: Field): boolean =>
  isScalar(field) &&
  (field.type !== 'string' ||
    field.aggregates.length > 0 ||
    !(field.lexical || primaryKey.includes(field.name)))

/** A field that nobody counts by and that says something else in every record is no column. */
const mostTexts = segmentLength / 2
/** So many stale records are read one by one; then their segments are written again. */
const mostStale = 1024
const mostStalePerSegment = 16

interface Kept extends ColumnField {
  readonly isAlways: boolean
}

export function createSegmentTables(database: Sqlite, n: number): void {
  database.exec(
    `create table g${n} (
       last integer primary key, rows integer not null, version integer not null
     ) strict;
     create table c${n} (
       field integer not null, segment integer not null, data blob not null,
       primary key (field, segment)
     ) strict;
     create table x${n} (id integer primary key) strict;`,
  )
}

/**
 * Fields kept a second time, column by column, for those who count. Everything here happens in the
 * transaction of the records it is about, so both are there or neither is.
 */
export class SegmentWriter {
  readonly #database: Sqlite

  constructor(database: Sqlite) {
    this.#database = database
  }

  /** The last record that is in a segment. */
  sealed(n: number): number {
    const [row] = this.#all<{ last: number | null }>(
      sql`select max(last) as last from ${id('g', n)}`,
    )
    return row?.last ?? 0
  }

  /** Says that a record in a segment was changed or removed. */
  markStale(n: number, record: number): void {
    this.#all(sql`insert or ignore into ${id('x', n)} (id) values (${record})`)
  }

  /** Seals what is complete and mends what is stale, as much of it as is allowed; whether any is left. */
  settle(n: number, stream: Stream, most = Infinity): boolean {
    const kept: Kept[] = [
      { ...arrivals, isAlways: true },
      ...stream.fields
        .filter((field) => isColumn(stream, field))
        .map((field) => ({ ...field, isAlways: field.aggregates.length > 0 })),
    ]
    let sealed = this.sealed(n)
    for (let times = 0; this.#isComplete(n, sealed); times++) {
      if (times >= most) return true
      sealed = this.#seal(n, kept, sealed)
    }
    const [stale] = this.#all<{ count: number; segments: number }>(
      sql`select (select count(*) from ${id('x', n)}) as count, (select count(*) from ${id('g', n)}) as segments`,
    )
    if (stale && stale.count > Math.max(mostStale, stale.segments * mostStalePerSegment))
      this.#mend(n, kept)
    return false
  }

  #isComplete(n: number, sealed: number): boolean {
    const [row] = this.#all<{ count: number }>(
      sql`select count(*) as count from (select 1 from ${id('r', n)} where id > ${sealed} limit ${segmentLength})`,
    )
    return row?.count === segmentLength
  }

  #seal(n: number, kept: readonly Kept[], sealed: number): number {
    const columns = this.#read(n, kept, sql`id > ${sealed} order by id limit ${segmentLength}`)
    const [ids = []] = columns
    const last = Number(ids.at(-1))
    this.#write(n, last, kept, columns)
    return last
  }

  #mend(n: number, kept: readonly Kept[]): void {
    const segments = this.#all<{ last: number; first: number }>(
      sql`select last, first from (select last, lag(last, 1, 0) over (order by last) as first from ${id('g', n)}) where exists (select 1 from ${id('x', n)} where id > first and id <= last)`,
    )
    for (const { first, last } of segments) {
      const stale = new Set(
        this.#all<{ id: number }>(
          sql`select id from ${id('x', n)} where id > ${first} and id <= ${last}`,
        ).map((row) => row.id),
      )
      const now = this.#read(
        n,
        kept,
        sql`id in (select id from ${id('x', n)} where id > ${first} and id <= ${last}) order by id`,
      )
      this.#write(n, last, kept, this.#mended(n, last, kept, stale, now))
    }
    this.#database.exec(`delete from x${n}`)
    this.#dropEmptied(n)
  }

  /** What has no records is no segment: its columns would be as long as those that are left out. */
  #dropEmptied(n: number): void {
    this.#database.exec(
      `delete from c${n} where segment in (select last from g${n} where rows = 0);
       delete from g${n} where rows = 0`,
    )
  }

  /** What stays as it was, and in between what is something else by now. */
  #mended(
    n: number,
    segment: number,
    kept: readonly Kept[],
    stale: ReadonlySet<number>,
    now: readonly Values[],
  ): readonly Values[] {
    const former = kept.map((field) => this.#decode(n, segment, field))
    if (former.some((values) => values === undefined))
      return this.#read(
        n,
        kept,
        sql`id > ${this.#before(n, segment)} and id <= ${segment} order by id`,
      )
    const [formerIds = [], nowIds = []] = [former[0], now[0]]
    const places = [
      ...formerIds.flatMap((one, at) =>
        stale.has(Number(one)) ? [] : [[Number(one), former, at] as const],
      ),
      ...nowIds.map((one, at) => [Number(one), now, at] as const),
    ].sort(([a], [b]) => a - b)
    return kept.map((_, column) => places.map(([, from, at]) => from[column]?.[at] ?? null))
  }

  #before(n: number, segment: number): number {
    const [row] = this.#all<{ last: number | null }>(
      sql`select max(last) as last from ${id('g', n)} where last < ${segment}`,
    )
    return row?.last ?? 0
  }

  #decode(n: number, segment: number, { n: field, type }: Kept): Values | undefined {
    const [row] = this.#all<{ data: Uint8Array | ArrayBuffer }>(
      sql`select data from ${id('c', n)} where field = ${field} and segment = ${segment}`,
    )
    const bytes = row && toBuffer(row.data)
    if (!bytes || bytes.byteLength === 0) return undefined
    return toValues(type === 'string' ? decodeTexts(bytes) : decodeNumbers(bytes))
  }

  #read(n: number, kept: readonly Kept[], which: Sql): readonly Values[] {
    return readColumns((query) => this.#all(query), n, kept, which)
  }

  #write(n: number, segment: number, kept: readonly Kept[], columns: readonly Values[]): void {
    const rows = columns[0]?.length ?? 0
    this.#all(
      sql`insert or replace into ${id('g', n)} (last, rows, version) values (${segment}, ${rows}, ${this.#nextVersion()})`,
    )
    // One of the drivers gives no bytes at all as null.
    const put = this.#database.prepare(
      `insert or replace into c${n} (field, segment, data) values (?, ?, coalesce(?, x''))`,
    )
    for (const [at, { n: field, type, isAlways }] of kept.entries()) {
      const values = columns[at] ?? []
      put.run(field, segment, toBytes(type, values, isAlways))
    }
  }

  #nextVersion(): number {
    this.#database.exec(
      `update meta set value = cast(cast(value as integer) + 1 as text) where name = 'segments'`,
    )
    const [row] = this.#all<{ value: string }>(sql`select value from meta where name = 'segments'`)
    return Number(row?.value)
  }

  #all<Row>({ text, values }: Sql): Row[] {
    return this.#database.prepare<Row>(text).all(...values)
  }
}

function toBytes(type: Field['type'], values: Values, isAlways: boolean): Uint8Array {
  if (type !== 'string') return encodeNumbers(values as (number | null)[])
  if (!isAlways && new Set(values).size > mostTexts) return new Uint8Array(0)
  return encodeTexts(values as (string | null)[])
}

/** One driver gives bytes, the other what they lie in. */
export const toBuffer = (data: Uint8Array | ArrayBuffer): ArrayBuffer =>
  data instanceof ArrayBuffer ? data : (new Uint8Array(data).buffer as ArrayBuffer)
