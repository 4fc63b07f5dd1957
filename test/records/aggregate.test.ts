import { expect, test } from 'vitest'
import type { RecordStore } from '../../src/sources/records/record-store.ts'
import {
  aReader,
  aRecordStore,
  aStream,
  messages,
  someMessages,
} from '../support/a-record-store.ts'

async function aMailbox() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(60))
  return aReader(store, store.grant({ stream: 'messages' }).token)
}

test.each([
  [{ metric: 'count' }, 60],
  [{ metric: 'sum', field: 'size' }, 1770],
  [{ metric: 'avg', field: 'size' }, 29.5],
  [{ metric: 'min', field: 'size' }, 0],
  [{ metric: 'max', field: 'sent_at' }, '2026-01-03T11:00:00.000Z'],
  [{ metric: 'count_distinct', field: 'author' }, 3],
  [{ metric: 'count', filter: { unread: true } }, 30],
])('%j is %j', async (input, value) => {
  const reader = await aMailbox()

  const { data, text } = await reader.call('aggregate', { stream: 'messages', ...input })

  expect(data.data).toMatchObject({ object: 'aggregation', value })
  expect(text).toContain(`= ${JSON.stringify(value)}.`)
})

test('groups are sorted by count, and the records of omitted groups are reported', async () => {
  const reader = await aMailbox()

  const { data, text } = await reader.call('aggregate', {
    stream: 'messages',
    metric: 'sum',
    field: 'size',
    group_by: 'author',
    limit: 2,
  })

  expect(data.data).toMatchObject({
    groups: [
      { key: 'ann', count: 20, value: 570 },
      { key: 'bob', count: 20, value: 590 },
    ],
    other_count: 20,
    group_count: 3,
  })
  expect(text).toContain('2 of 3 groups, 60 records, other_count 20.')
})

test('a date is the same day in every time zone, and an invalid date is grouped as null', async () => {
  const store = await aRecordStore()
  const properties = { id: { type: 'string' }, booked: { type: 'string', format: 'date' } }
  const bookings = aStream('bookings', {
    primary_key: 'id',
    schema: { type: 'object', properties },
    query: { aggregations: { group_by_time: ['booked'] } },
  })
  store.put(bookings, 'bank', [
    { id: '1', booked: '2026-03-01' },
    { id: '2', booked: '2024-02-29' },
    { id: '3', booked: '2026-02-29' },
  ])
  const reader = await aReader(store, store.grant({ stream: 'bookings' }).token)

  const count = { stream: 'bookings', metric: 'count', group_by_time: 'booked' }
  const inNewYork = { ...count, granularity: 'day', time_zone: 'America/New_York' }
  const { data, text } = await reader.call('aggregate', inNewYork)
  const unknownZone = await reader.call('aggregate', { ...inNewYork, time_zone: 'Mars/Olympus' })

  const { groups, time_zone } = data.data as { groups: { key: string }[]; time_zone: string }
  expect(groups.map(({ key }) => key)).toEqual([null, '2024-02-29', '2026-03-01'])
  expect([time_zone, text]).toEqual(['UTC', expect.stringContaining('per day (UTC)')])
  expect(unknownZone.text).toContain('Unknown time_zone "Mars/Olympus"')
})

test('time buckets follow the requested time zone', async () => {
  const reader = await aMailbox()
  const countByDay = async (time_zone: string) => {
    const { data } = await reader.call('aggregate', {
      stream: 'messages',
      metric: 'count',
      group_by_time: 'sent_at',
      granularity: 'day',
      time_zone,
    })
    return (data.data as { groups: { key: string; count: number }[] }).groups.map(
      ({ key, count }) => [key, count],
    )
  }

  expect(await countByDay('UTC')).toEqual([
    ['2026-01-01', 24],
    ['2026-01-02', 24],
    ['2026-01-03', 12],
  ])
  expect(await countByDay('Asia/Kathmandu')).toEqual([
    ['2026-01-01', 19],
    ['2026-01-02', 24],
    ['2026-01-03', 17],
  ])
  expect(await countByDay('America/New_York')).toEqual([
    ['2025-12-31', 5],
    ['2026-01-01', 24],
    ['2026-01-02', 24],
    ['2026-01-03', 7],
  ])
})

test('a sum of integers is exact up to the largest safe integer', async () => {
  const store = await aRecordStore()
  const maxInteger = Number.MAX_SAFE_INTEGER
  store.put(
    messages(),
    'work',
    someMessages(2, (n) => ({ size: n === 0 ? maxInteger - 7 : 7 })),
  )
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)

  const { data } = await reader.call('aggregate', {
    stream: 'messages',
    metric: 'sum',
    field: 'size',
  })

  expect(data.data).toMatchObject({ value: maxInteger })
})

test('sorting many groups yields to the event loop, so that a revocation ends the read', async () => {
  const store = await aRecordStore()
  store.put(
    messages(),
    'work',
    someMessages(6000, (n) => ({ author: `author ${n}` })),
  )
  const grant = store.grant({ stream: 'messages' })
  const reader = await aReader(store, grant.token)
  const query = { stream: 'messages', metric: 'count', group_by: 'author', limit: 2 }
  const { data } = await reader.call('aggregate', query)
  expect(data.data).toMatchObject({
    groups: [{ key: 'author 0' }, { key: 'author 1' }],
    group_count: 6000,
    other_count: 5998,
  })

  // The grant is revoked after the last tally and before the sort.
  const overrides = (plain: RecordStore) => ({
    tally: (...query: Parameters<RecordStore['tally']>) => {
      const slice = plain.tally(...query)
      if (slice.resume === undefined) store.writer.revoke(grant.id, Date.now())
      return slice
    },
  })
  const { origin } = await aReader(store, grant.token, { overrides })
  const response = await fetch(
    `${origin}/v1/streams/messages/aggregate?metric=count&group_by=author`,
    { headers: { authorization: `Bearer ${grant.token}` } },
  )

  expect(response.status).toBe(403)
})
