import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { isFailed } from '../../src/capability/outcome.ts'
import { aggregateRecords } from '../../src/sources/records/aggregate/aggregate-records.ts'
import { queryRecords } from '../../src/sources/records/query/query-records.ts'
import type { RecordsQuery } from '../../src/sources/records/query/record-page.ts'
import { openReader, type Reader } from '../../src/sources/records/reading/reader.ts'
import { fromServedKey } from '../../src/sources/records/reading/record-key.ts'
import { searchRecords } from '../../src/sources/records/search/search-records.ts'
import { defaultReadBounds, type ReadBounds } from '../../src/storage/records/read-bounds.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { aRecordStore, aStream, type Data } from '../support/a-record-store.ts'
import { amount } from '../support/amount.ts'
import { smallReadBounds } from '../support/small-read-bounds.ts'

const stream = aStream('things', {
  primary_key: 'id',
  cursor_field: 'rank',
  consent_time_field: 'time',
  schema: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      rank: { type: ['integer', 'null'] },
      time: { type: 'string', format: 'date-time' },
      kind: { type: 'string' },
      note: { type: 'string' },
      hidden: { type: 'string' },
    },
  },
  query: {
    range_filters: { rank: ['gte', 'gt', 'lte', 'lt'] },
    search: { lexical_fields: ['note', 'hidden'] },
    aggregations: { sum: ['rank'], group_by: ['kind'] },
  },
})

const names = stream.fields.map(({ name }) => name)
const hours = (n: number) => new Date(Date.UTC(2026, 0, 1, n)).toISOString()

const word = fc.constantFrom('alpha', 'beta', 'gamma')
const aThing = fc.record(
  {
    rank: fc.option(fc.integer({ min: 0, max: 5 })),
    time: fc.integer({ min: 0, max: 9 }).map(hours),
    kind: fc.constantFrom('a', 'b', '\u{1f600}', '\uffee'),
    note: fc.array(word, { maxLength: 3 }).map((words) => words.join(' ')),
    hidden: fc.array(word, { maxLength: 3 }).map((words) => words.join(' ')),
  },
  { requiredKeys: [] },
)
const things = fc
  .array(aThing, { maxLength: 25 })
  .map((list): Data[] =>
    list.map((thing, n) => ({ id: `t${String((n * 7) % 25).padStart(2, '0')}`, ...thing })),
  )

const aGrant = fc
  .record({
    fields: fc.subarray(names, { minLength: 1 }),
    since: fc.option(fc.integer({ min: 0, max: 9 }).map(hours), { nil: undefined }),
    until: fc.option(fc.integer({ min: 0, max: 9 }).map(hours), { nil: undefined }),
    resources: fc.option(
      fc.subarray(Array.from({ length: 25 }, (_, n) => `t${String(n).padStart(2, '0')}`)),
      { nil: undefined },
    ),
  })
  .filter(({ since, until }) => since === undefined || until === undefined || since < until)

const aQuery = fc.record({
  limit: fc.integer({ min: 1, max: 7 }),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  filter: fc.option(
    fc.oneof(
      fc.record({ kind: fc.constantFrom('a', 'b') }),
      fc.record({ rank: fc.record({ gte: fc.integer({ min: 0, max: 5 }) }) }),
      fc.record({ rank: fc.integer({ min: 0, max: 5 }) }),
      fc.record({ hidden: word }),
    ),
    { nil: undefined },
  ),
})

type Grant = {
  fields: string[]
  since?: string | undefined
  until?: string | undefined
  resources?: string[] | undefined
}

/** Reference model: checks every record one by one. */
function toModel(records: readonly Data[], grant: Grant) {
  const visible = records.filter(
    ({ id, time }) =>
      (!grant.resources || grant.resources.includes(String(id))) &&
      ((grant.since === undefined && grant.until === undefined) || time !== undefined) &&
      (grant.since === undefined || String(time) >= grant.since) &&
      (grant.until === undefined || String(time) < grant.until),
  )
  const project = (record: Data) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => grant.fields.includes(name)))
  const isGranted = (name: string) => grant.fields.includes(name)
  return { visible, project, isGranted }
}

function toExpected(
  records: readonly Data[],
  grant: Grant,
  { order, filter = {} }: { order: string; filter?: Data | undefined },
) {
  const { visible, project, isGranted } = toModel(records, grant)
  if (Object.keys(filter).some((name) => !isGranted(name))) return 'unknown_field'
  const matches = visible.filter((record) =>
    Object.entries(filter).every(([name, wanted]) =>
      typeof wanted === 'object' && wanted !== null
        ? typeof record[name] === 'number' &&
          Number(record[name]) >= Number((wanted as { gte: number }).gte)
        : record[name] === wanted,
    ),
  )
  const sign = order === 'desc' ? -1 : 1
  const byKey = (a: Data, b: Data) => sign * (String(a.id) < String(b.id) ? -1 : 1)
  const rank = (record: Data) => (typeof record.rank === 'number' ? record.rank : undefined)
  const sorted = [...matches].sort((a, b) => {
    if (!isGranted('rank')) return byKey(a, b)
    const [x, y] = [rank(a), rank(b)]
    if (x === undefined || y === undefined) return x === y ? byKey(a, b) : x === undefined ? 1 : -1
    return sign * (x - y) || byKey(a, b)
  })
  return sorted.map((record) => ({ id: String(record.id), data: project(record) }))
}

async function readAll(reader: Reader, query: RecordsQuery) {
  const seen: { id: string; data: unknown }[] = []
  let cursor: string | undefined
  do {
    const page = await queryRecords(reader, { ...query, ...(cursor && { cursor }) })
    if (isFailed(page)) return page.failure.code
    expect(page.records.length).toBeLessThanOrEqual(query.limit ?? 25)
    // Ids are opaque where the grant leaves out the primary key.
    const toKey = (id: string) => String(fromServedKey(page.scope, id))
    seen.push(...page.records.map(({ id, data }) => ({ id: toKey(id), data })))
    cursor = page.nextCursor
  } while (cursor)
  return seen
}

async function aReaderFactory(bounds = defaultReadBounds) {
  const store = await aRecordStore()
  const reads = new SqliteRecords(store.file, Date.now, () => {}, bounds)
  onTestFinished(() => reads.close())
  let round = 0
  return (records: readonly Data[], grant: Grant) => {
    const connection = `c${round++}`
    store.put(stream, connection, records)
    const { resources, since, until, fields } = grant
    const { id } = store.grant({
      stream: 'things',
      connection,
      fields,
      ...(since !== undefined && { since }),
      ...(until !== undefined && { until }),
      ...(resources && { resources }),
    })
    const reader = openReader(id, { store: reads, now: Date.now, timeoutMs: 10_000 })
    if (isFailed(reader)) throw new Error(reader.failure.message)
    return reader
  }
}

const boundsCases: [string, ReadBounds][] = [
  ['in one batch', defaultReadBounds],
  ['in many small batches', smallReadBounds],
]

test.each(boundsCases)(
  'query_records returns exactly the records and fields the grant allows, %s',
  async (_, bounds) => {
    const open = await aReaderFactory(bounds)
    await fc.assert(
      fc.asyncProperty(things, aGrant, aQuery, async (records, grant, query) => {
        const reader = open(records, grant)

        const seen = await readAll(reader, { stream: 'things', ...query })

        expect(seen).toEqual(toExpected(records, grant, query))
      }),
      { numRuns: amount(20, 300) },
    )
  },
  60_000,
)

test.each(boundsCases)(
  'search and aggregate cover exactly the records the grant allows, %s',
  async (_, bounds) => {
    const open = await aReaderFactory(bounds)
    await fc.assert(
      fc.asyncProperty(things, aGrant, word, async (records, grant, q) => {
        const reader = open(records, grant)
        const { visible, isGranted } = toModel(records, grant)

        const page = await searchRecords(reader, { q, limit: 100 })
        const count = await aggregateRecords(reader, { stream: 'things', metric: 'count' })
        const sum = await aggregateRecords(reader, {
          stream: 'things',
          metric: 'sum',
          field: 'rank',
        })

        if (isFailed(page) || isFailed(count)) throw new Error('failed')
        const expectedHits = visible.filter((record) =>
          ['note', 'hidden'].some(
            (name) =>
              isGranted(name) &&
              String(record[name] ?? '')
                .split(' ')
                .includes(q),
          ),
        )
        expect(page.hits.map(({ row }) => row.key).sort()).toEqual(
          expectedHits.map(({ id }) => id).sort(),
        )
        expect(count.value).toBe(visible.length)
        if (isFailed(sum))
          expect([sum.failure.code, isGranted('rank')]).toEqual(['unknown_field', false])
        else
          expect(sum.value).toBe(visible.reduce((total, { rank }) => total + Number(rank ?? 0), 0))
      }),
      { numRuns: amount(15, 200) },
    )
  },
  60_000,
)

const editList = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 24 }).map((n) => `t${String(n).padStart(2, '0')}`),
    thing: fc.option(aThing, { freq: 4 }),
  }),
  { maxLength: 40 },
)

test('the batch size of a change feed affects neither its pages nor its cursors', async () => {
  const store = await aRecordStore()
  const [inOneBatch, inSmallBatches] = [defaultReadBounds, smallReadBounds].map((bounds) => {
    const reads = new SqliteRecords(store.file, Date.now, () => {}, bounds)
    onTestFinished(() => reads.close())
    return reads
  })
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      things,
      editList,
      aGrant,
      fc.integer({ min: 1, max: 7 }),
      async (...inputs) => {
        const [records, changes, { fields, ...grant }, limit] = inputs
        const connection = `c${round++}`
        const source = store.put(stream, connection, records)
        const { resources, since, until } = grant
        const { id } = store.grant({
          stream: 'things',
          connection,
          fields,
          ...(since !== undefined && { since }),
          ...(until !== undefined && { until }),
          ...(resources && { resources }),
        })
        const readAll = async (reads: SqliteRecords | undefined) => {
          const pages: unknown[] = []
          for (let cursor: string | undefined; ; ) {
            if (!reads) throw new Error('no store')
            const reader = openReader(id, { store: reads, now: Date.now, timeoutMs: 10_000 })
            if (isFailed(reader)) throw new Error(reader.failure.message)
            const page = await queryRecords(reader, {
              stream: 'things',
              changesSince: 'beginning',
              limit,
              ...(cursor && { cursor }),
            })
            if (isFailed(page)) throw new Error(page.failure.message)
            pages.push([page.records, page.nextCursor, page.nextChangesSince])
            cursor = page.nextCursor
            if (!cursor) return pages
          }
        }

        for (const { id: key, thing } of changes)
          if (thing) store.put(stream, connection, [{ id: key, ...thing }])
          else store.remove(source, key)

        expect(await readAll(inSmallBatches)).toEqual(await readAll(inOneBatch))
      },
    ),
    { numRuns: amount(15, 200) },
  )
}, 60_000)

test('edits of records and fields that are not granted change no visible result', async () => {
  const store = await aRecordStore()
  const reads = new SqliteRecords(store.file, Date.now, () => {})
  onTestFinished(() => reads.close())
  const thing = (n: number): Data => ({
    id: `t${n}`,
    rank: n % 7,
    time: hours(n % 20),
    kind: 'abc'[n % 3],
    note: `alpha ${n % 2 ? 'beta' : 'gamma'} ${'x '.repeat(n % 5)}`,
    hidden: 'alpha',
  })
  const records = Array.from({ length: 60 }, (_, n) => thing(n))
  store.put(stream, 'granted', records)
  store.put(stream, 'other', records)
  const { id } = store.grant({
    stream: 'things',
    connection: 'granted',
    fields: ['id', 'rank', 'note', 'kind'],
    since: hours(2),
    until: hours(15),
  })
  const readEverything = async () => {
    const reader = openReader(id, { store: reads, now: Date.now, timeoutMs: 10_000 })
    if (isFailed(reader)) throw new Error('failed')
    const strip = (value: unknown) =>
      JSON.stringify(value, (key, item) =>
        key === 'scope' ? undefined : item instanceof Set ? [...item] : item,
      )
    return [
      await queryRecords(reader, { stream: 'things', limit: 10, count: 'exact' }),
      await queryRecords(reader, { stream: 'things', changesSince: 'beginning', limit: 100 }),
      await searchRecords(reader, { q: 'alpha', limit: 10 }).then((page) =>
        'hits' in page
          ? {
              ...page,
              hits: page.hits.map(({ row, score, data }) => [row.key, row.emittedAt, score, data]),
            }
          : page,
      ),
      await aggregateRecords(reader, {
        stream: 'things',
        metric: 'sum',
        field: 'rank',
        groupBy: 'kind',
      }),
    ].map(strip)
  }
  const before = await readEverything()
  let state = 7
  const random = (max: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    // The low bits of a linear congruential generator have short periods.
    return (state >>> 12) % max
  }
  const current = new Map(records.map((record) => [String(record.id), record]))

  for (let round = 0; round < amount(60, 1000); round++) {
    const n = random(60)
    const record = current.get(`t${n}`) ?? thing(n)
    const isInside = n % 20 >= 2 && n % 20 < 15
    const edits: (() => void)[] = [
      () => {
        const next = { ...record, hidden: `alpha ${round} ${'y '.repeat(random(50))}` }
        current.set(`t${n}`, next)
        store.put(stream, 'granted', [next])
      },
      () => {
        // The time changes, but stays on the same side of the granted range.
        const next = { ...record, time: hours(isInside ? 2 + random(13) : 15 + random(5)) }
        current.set(`t${n}`, next)
        store.put(stream, 'granted', [next])
      },
      () => store.put(stream, 'other', [{ ...thing(n), note: `alpha ${round}` }]),
      () => store.put(stream, 'granted', [{ ...thing(1000 + round), time: hours(15 + random(5)) }]),
    ]
    edits[random(edits.length)]?.()
    if (round % 20 === 19) expect(await readEverything()).toEqual(before)
  }
}, 120_000)
