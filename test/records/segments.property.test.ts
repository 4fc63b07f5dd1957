import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import {
  createBuckets,
  granularities,
  toStepMs,
} from '../../src/sources/records/aggregate/time-buckets.ts'
import type { Scope } from '../../src/sources/records/model/scope.ts'
import type { Field } from '../../src/sources/records/model/stream.ts'
import type { Condition, TallyQuery } from '../../src/sources/records/record-store.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { aRecordStore, aStream, type Data, type TestStore } from '../support/a-record-store.ts'
import { amount } from '../support/amount.ts'
import { tallyBoth } from '../support/tally-both.ts'

const ranges = ['gte', 'gt', 'lte', 'lt']

const stream = aStream('things', {
  primary_key: 'id',
  cursor_field: 'time',
  consent_time_field: 'time',
  schema: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      time: { type: 'string', format: 'date-time' },
      day: { type: 'string', format: 'date' },
      kind: { type: 'string' },
      tag: { type: 'string' },
      amount: { type: 'number' },
      size: { type: 'integer' },
      open: { type: 'boolean' },
      prose: { type: 'string' },
    },
  },
  query: {
    range_filters: { time: ranges, day: ranges, amount: ranges, size: ranges },
    search: { lexical_fields: ['prose'] },
    aggregations: {
      sum: ['amount', 'size'],
      min: ['amount', 'time'],
      max: ['amount', 'time'],
      group_by: ['kind', 'size', 'open'],
      group_by_time: ['time', 'day'],
      count_distinct: ['kind', 'amount'],
    },
  },
})

const findField = (name: string): Field => {
  const match = stream.fields.find((field) => field.name === name)
  if (!match) throw new Error(name)
  return match
}

const kinds = ['a', 'b', '', 'é', '\u{1f600}', '\uffee', '"\\\n']
/** More than two segments of 4,096 rows. */
const recordCount = 10_000

function createRandom(seed: number): (max: number) => number {
  let state = seed
  return (max) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 8) % max
  }
}

function aThing(n: number, random: (max: number) => number): Data {
  const omitOneIn = (rarity: number, value: Data): Data => (random(rarity) === 0 ? {} : value)
  // Daylight-saving changes, times before 1970 and odd milliseconds.
  const time =
    [Date.UTC(2026, 2, 28), Date.UTC(1969, 11, 30), Date.UTC(2026, 9, 24)][random(3)] ?? 0
  return {
    id: `t${n}`,
    ...omitOneIn(9, { time: new Date(time + random(4 * 86_400_000)).toISOString() }),
    ...omitOneIn(9, { day: new Date(time + random(400) * 86_400_000).toISOString().slice(0, 10) }),
    ...omitOneIn(5, { kind: kinds[random(kinds.length)] }),
    ...omitOneIn(5, { tag: `tag ${random(7)}` }),
    ...omitOneIn(4, {
      amount: [random(100) / 7, -random(1000) / 100, random(9) * 1e15, 0.1][random(4)],
    }),
    ...omitOneIn(4, { size: random(12) - 3 }),
    ...omitOneIn(6, { open: random(2) === 0 }),
    prose: `words ${random(50)}`,
  }
}

const aCondition = fc.oneof(
  fc.record({
    field: fc.constantFrom('time', 'day').map(findField),
    operator: fc.constantFrom('eq', 'gte', 'gt', 'lte', 'lt'),
    value: fc.integer({ min: -3, max: 5 }).map((days) => Date.UTC(2026, 2, 28) + days * 43_200_000),
  }),
  fc.record({
    field: fc.constantFrom('kind', 'tag', 'prose').map(findField),
    operator: fc.constantFrom('eq', 'gte', 'gt', 'lte', 'lt'),
    value: fc.constantFrom(...kinds, 'tag 3', 'words 7', '\ud800'),
  }),
  fc.record({
    field: fc.constantFrom('amount', 'size', 'open').map(findField),
    operator: fc.constantFrom('eq', 'gte', 'gt', 'lte', 'lt'),
    value: fc.constantFrom(0, 1, -1, 0.1, 2, 5e15, -3.5, 1 / 7),
  }),
) as fc.Arbitrary<Condition>

const zone = fc.constantFrom('UTC', 'Europe/Rome', 'Asia/Kathmandu', 'America/St_Johns')
const aGroup = fc.oneof(
  fc.constantFrom('kind', 'size', 'open', 'tag').map((name) => ({ field: findField(name) })),
  fc
    .tuple(fc.constantFrom('time', 'day'), fc.constantFrom(...granularities), zone)
    .map(([name, granularity, timeZone]) => ({
      field: findField(name),
      step: toStepMs(granularity),
      buckets: createBuckets(granularity, timeZone),
    })),
) as fc.Arbitrary<TallyQuery['group']>

const aTallyQuery = fc.record({
  conditions: fc.array(aCondition, { maxLength: 3 }),
  group: fc.option(aGroup, { nil: undefined }),
  field: fc.option(fc.constantFrom('amount', 'size', 'time', 'kind').map(findField), {
    nil: undefined,
  }),
  isDistinct: fc.boolean(),
  from: fc.option(fc.integer({ min: -2, max: 8 }), { nil: undefined }),
  to: fc.option(fc.integer({ min: -2, max: 8 }), { nil: undefined }),
})

function toScope(store: TestStore, from?: number, to?: number): Scope {
  const [source] = store.writer.sources
  if (!source) throw new Error('no source')
  const start = Date.UTC(2026, 2, 28)
  const bound = (days: number) => start + days * 43_200_000
  return {
    source,
    grant: 'grant',
    fields: new Map(stream.fields.map((field) => [field.name, field])),
    ...((from ?? to) !== undefined && {
      window: {
        field: findField('time'),
        from: from === undefined ? -Infinity : bound(from),
        to: to === undefined ? Infinity : bound(to),
      },
    }),
  }
}

test('column segments and rows give the same tallies, also after changes and removals', async () => {
  const store = await aRecordStore()
  const reads = new SqliteRecords(store.file, Date.now, () => {})
  onTestFinished(() => reads.close())
  const random = createRandom(3)
  const source = store.put(
    stream,
    'c',
    Array.from({ length: recordCount }, (_, n) => aThing(n, random)),
  )
  let round = 0

  fc.assert(
    fc.property(aTallyQuery, ({ conditions, group, field, isDistinct, from, to }) => {
      // A few changes are kept outside the segments; every 10th round has enough to rewrite them.
      const changeCount = ++round % 10 === 0 ? 1500 : random(4)
      store.put(
        stream,
        'c',
        Array.from({ length: changeCount }, () => aThing(random(recordCount + 500), random)),
      )
      if (round % 3 === 0) store.remove(source, `t${random(recordCount)}`)
      const query = {
        conditions,
        ...(isDistinct
          ? { field: field ?? findField('kind'), distinct: true }
          : { ...(field && { field }), ...(group && { group }), distinct: false }),
      }

      const { columns, rows } = tallyBoth(reads, toScope(store, from, to), query)

      expect(columns).toEqual(rows)
    }),
    { numRuns: amount(30, 3000) },
  )
})
