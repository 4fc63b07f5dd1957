import { expect, onTestFinished, test } from 'vitest'
import type { Scope } from '../../src/sources/records/model/scope.ts'
import type { Field } from '../../src/sources/records/model/stream.ts'
import { SegmentReader } from '../../src/storage/records/columns/segment-reader.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import type { Sql } from '../../src/storage/sqlite/sql.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aMessage,
  aRecordStore,
  messages,
  someMessages,
  type TestStore,
} from '../support/a-record-store.ts'
import { tallyBoth } from '../support/tally-both.ts'

const stream = messages()
const findField = (name: string): Field => {
  const match = stream.fields.find((field) => field.name === name)
  if (!match) throw new Error(name)
  return match
}
const byAuthor = {
  conditions: [],
  group: { field: findField('author') },
  field: findField('size'),
  distinct: false,
}

const toScope = ({ writer }: TestStore): Scope => {
  const [source] = writer.sources
  if (!source) throw new Error('no source')
  return { source, grant: 'grant', fields: new Map([['author', findField('author')]]) }
}

const openReads = ({ file }: TestStore): SqliteRecords => {
  const reads = new SqliteRecords(file, Date.now, () => {})
  onTestFinished(() => reads.close())
  return reads
}

test('a store without segments gets them when it is opened', async () => {
  const store = await aRecordStore()
  store.put(stream, 'work', someMessages(10_000))
  const database = openSqlite(store.file)
  database.exec('drop table g1; drop table c1; drop table x1')
  database.exec(
    `delete from meta where name = 'segments'; drop table fields; pragma user_version = 2`,
  )
  database.close()

  const { columns, rows, spans } = tallyBoth(openReads(store), toScope(store), byAuthor)

  expect(columns).toEqual(rows)
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(10_000)
  // One span for both segments and one for the remaining rows; without segments there would be three.
  expect(spans).toBe(2)
})

test('a redeclared stream has segments of its new fields', async () => {
  const store = await aRecordStore()
  store.put(stream, 'work', someMessages(5000))
  const reads = openReads(store)
  tallyBoth(reads, toScope(store), byAuthor)
  const [first, ...others] = stream.fields
  const redeclared = { ...stream, fields: [...others, ...(first ? [first] : [])] }

  store.writer.declare(redeclared)

  const { fields } = toScope(store).source.stream
  const [author, size] = ['author', 'size'].map((name) => fields.find((one) => one.name === name))
  const { columns, rows } = tallyBoth(reads, toScope(store), {
    conditions: [],
    ...(author && { group: { field: author } }),
    ...(size && { field: size }),
    distinct: false,
  })
  expect(columns).toEqual(rows)
  expect(columns.map(({ group }) => group)).toEqual(['ann', 'bob', 'cyd'])
})

test('a redeclared stream keeps every record, even one that looks like an envelope', async () => {
  const store = await aRecordStore()
  const envelopeLike = aMessage(1, { object: 'record', deleted: true, data: { author: 'eve' } })
  const source = store.put(stream, 'work', [{ object: 'record', data: envelopeLike }, aMessage(2)])

  store.writer.declare({ ...stream, views: [] })

  const rows = [...store.writer.export(source)]
  expect(rows.map(({ key, body }) => [key, JSON.parse(body)])).toEqual([
    ['m1', envelopeLike],
    ['m2', aMessage(2)],
  ])
  expect(tallyBoth(openReads(store), toScope(store), byAuthor).columns).toMatchObject([
    { group: 'bob', count: 1 },
    { group: 'cyd', count: 1 },
  ])
})

test('a tally reads only the columns it needs', async () => {
  const store = await aRecordStore()
  const source = store.put(stream, 'work', someMessages(9000))
  store.remove(source, 'm17')
  const database = openSqlite(store.file)
  onTestFinished(() => database.close())
  const queries: Sql[] = []
  const reader = new SegmentReader(<Row>(query: Sql) => {
    queries.push(query)
    return database.prepare<Row>(query.text).all(...query.values)
  })

  let count = 0
  for (let after: number | undefined = 0; after !== undefined; ) {
    const slice = reader.tally(toScope(store), {
      conditions: [],
      group: { field: findField('author') },
      distinct: false,
      after,
    })
    count += slice?.tallies.reduce((sum, tally) => sum + tally.count, 0) ?? 0
    after = slice?.resume
  }

  expect(count).toBe(8999)
  const columns = queries
    .filter(({ text }) => text.includes('from c1'))
    .map(({ values }) => values[0])
  expect(new Set(columns)).toEqual(new Set([0, findField('author').n]))
  for (const { text } of queries)
    for (const [, n] of text.matchAll(/\bf(\d+)/g)) expect(Number(n)).toBe(findField('author').n)
})

test('a segment without remaining records is dropped, and tallies still use columns', async () => {
  const store = await aRecordStore()
  const source = store.put(stream, 'work', someMessages(9000))
  const reads = openReads(store)
  const emittedAt = '2026-06-02T00:00:00.000Z'
  const countSegments = () => {
    const database = openSqlite(store.file)
    const [segmentRows, columns] = [
      'select last, rows from g1',
      'select distinct segment from c1',
    ].map((query) => database.prepare(query).all())
    const reader = new SegmentReader(<Row>(query: Sql) =>
      database.prepare<Row>(query.text).all(...query.values),
    )
    const tallies = reader.tally(toScope(store), { ...byAuthor, after: 0 })
    database.close()
    return {
      kept: segmentRows?.length,
      columns: columns?.length,
      isFromColumns: tallies !== undefined,
    }
  }
  const check = (count: number) => {
    const { columns, rows } = tallyBoth(reads, toScope(store), byAuthor)
    expect(columns).toEqual(rows)
    expect(rows.reduce((sum, one) => sum + one.count, 0)).toBe(count)
  }
  expect(countSegments()).toEqual({ kept: 2, columns: 2, isFromColumns: true })

  store.writer.write(
    source,
    Array.from({ length: 4096 }, (_, number) => ({ key: `m${number}`, emittedAt })),
  )
  expect(countSegments()).toEqual({ kept: 1, columns: 1, isFromColumns: true })
  check(4904)
  store.put(stream, 'work', someMessages(4096))
  check(9000)
  store.writer.write(
    source,
    Array.from({ length: 9000 }, (_, number) => ({ key: `m${number}`, emittedAt })),
  )
  check(0)
  store.put(stream, 'work', someMessages(5000))

  expect(countSegments()).toMatchObject({ kept: 1, columns: 1 })
  check(5000)
})
