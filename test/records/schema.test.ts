import { describe, expect, test } from 'vitest'
import type { Stream } from '../../src/sources/records/model/stream.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aReader,
  aRecordStore,
  aStream,
  bytes,
  messages,
  someMessages,
} from '../support/a-record-store.ts'

const aWideStream = (name: string, fieldCount: number, connector = 'wide', wordCount = 200) =>
  aStream(
    name,
    {
      primary_key: 'id',
      schema: {
        type: 'object',
        properties: Object.fromEntries([
          ['id', { type: 'string' }],
          ...Array.from({ length: fieldCount - 1 }, (_, index) => [
            `field_${index}`,
            {
              type: index % 3 === 0 ? 'number' : 'string',
              description: 'words '.repeat(wordCount),
            },
          ]),
        ]),
      },
    },
    connector,
  )

/** Inserts streams without records straight into the catalogue: faster than declaring thousands. */
function declareEmpty(file: string, streams: readonly Stream[]) {
  const database = openSqlite(file)
  database.exec('begin')
  for (const [index, stream] of streams.entries()) {
    const { connector, name } = stream
    database
      .prepare('insert into streams (n, connector, name, declaration) values (?, ?, ?, ?)')
      .run(index + 1, connector, name, JSON.stringify(stream))
    database
      .prepare('insert or ignore into connections (id, connector) values (?, ?)')
      .run(`of_${connector}`, connector)
    database
      .prepare('insert into sources (connection, stream) values (?, ?)')
      .run(`of_${connector}`, index + 1)
  }
  database.exec(`update meta set value = 'changed' where name = 'catalogue'`)
  database.exec('commit')
  database.close()
}

/** One stream name under two connectors, one of them with two connections. */
async function aSharedStream() {
  const store = await aRecordStore()
  store.put(messages('mail'), 'work', someMessages(3), 'Work mail')
  store.put(messages('mail'), 'home', someMessages(3))
  store.put(messages('chat'), 'team', someMessages(3), 'Team chat')
  const { token } = store.grant(
    { stream: 'messages', connection: 'work' },
    { stream: 'messages', connection: 'home', fields: ['id', 'sent_at', 'size'] },
    { stream: 'messages', connection: 'team' },
  )
  return aReader(store, token)
}

describe('schema without a stream', () => {
  test('returns a compact index from which a stream can be chosen [R27, R28, R35, R36]', async () => {
    const reader = await aSharedStream()

    const { data, text } = await reader.call('schema')

    expect(data.data).toMatchObject({
      object: 'schema',
      detail: 'compact',
      stream_count: 2,
      connection_count: 3,
    })
    expect(text).toContain('connector_key mail')
    expect(text).toContain('connection_id work ("Work mail")')
    expect(text).toContain('stream messages')
    expect(text).toMatch(/Next: schema with stream/)
  })

  test('lists no fields and does not grow with their number [R33]', async () => {
    const sizesInBytes = await Promise.all(
      [30, 60].map(async (fieldCount) => {
        const store = await aRecordStore()
        for (let index = 0; index < 24; index++)
          store.put(aWideStream(`stream_${index}`, fieldCount), 'one', [])
        const terms = Array.from({ length: 24 }, (_, index) => ({ stream: `stream_${index}` }))
        const reader = await aReader(store, store.grant(...terms).token)
        const { rawResult, text } = await reader.call('schema')
        expect(text).not.toContain('field_1')
        return bytes(rawResult)
      }),
    )

    expect(sizesInBytes[0]).toBeLessThanOrEqual(12 * 1024)
    expect(sizesInBytes[1]).toBe(sizesInBytes[0])
  })

  test('lists all of 3,000 streams by connector within 64 KB [R31, R32, R37]', async () => {
    const store = await aRecordStore()
    const names = Array.from(
      { length: 3000 },
      (_, index) => `stream_${String(index).padStart(4, '0')}`,
    )
    const streams = names.map((name, index) => aWideStream(name, 2, `kind_${index % 3}`, 1))
    declareEmpty(store.file, streams)
    const reader = await aReader(store, store.grant(...names.map((stream) => ({ stream }))).token)

    const { text, rawResult } = await reader.call('schema')

    for (const name of names) expect(text).toContain(name)
    const lines = text.split('\n').filter((line) => line.startsWith('connector_key'))
    expect(lines).toHaveLength(3)
    expect(bytes(rawResult)).toBeLessThanOrEqual(64 * 1024)
  })
})

describe('schema with a stream', () => {
  test('lists fields and aggregations of every matching connection in the text [R34, R38, R39]', async () => {
    const reader = await aSharedStream()

    const { text } = await reader.call('schema', { stream: 'messages' })
    const rows = text.split(/^stream /m).slice(1)

    expect(rows).toHaveLength(3)
    for (const connection of ['work', 'home', 'team'])
      expect(rows.filter((row) => row.includes(`connection_id ${connection}`))).toHaveLength(1)
    const home = rows.find((row) => row.includes('connection_id home')) ?? ''
    expect(home).toContain('sum size')
    expect(home).not.toContain('author')
    expect(text).toContain('pass connection_id')
  })

  test('says that reads need a connection_id, even when only one of several connections has the stream', async () => {
    const store = await aRecordStore()
    store.put(messages('mail'), 'work', someMessages(1))
    store.put(messages('mail', 'letters'), 'home', someMessages(1))
    const both = store.grant({ stream: 'messages' }, { stream: 'letters' })
    const one = store.grant({ stream: 'messages' })
    const [readerOfTwo, readerOfOne] = [
      await aReader(store, both.token),
      await aReader(store, one.token),
    ]

    const { text } = await readerOfTwo.call('schema', { stream: 'messages' })
    const ofOne = await readerOfOne.call('schema', { stream: 'messages' })

    expect(text).toContain('pass connection_id')
    expect(ofOne.text).not.toContain('pass connection_id')
  })

  test('every operation listed in the text succeeds for a client that reads only the text [R39, R42, R43]', async () => {
    const reader = await aSharedStream()
    const { text } = await reader.call('schema', { stream: 'messages', connection_id: 'work' })
    const listFields = (flags: string) =>
      (new RegExp(`^  ${flags}: (.*)$`, 'm').exec(text)?.[1] ?? '').split(', ')
    const [sort = ''] = /sort: (\S+)/.exec(text)?.slice(1) ?? []
    const [sum = ''] = /aggregate: .*\bsum (\w+)/.exec(text)?.slice(1) ?? []
    const [group = ''] = /group_by (\w+)/.exec(text)?.slice(1) ?? []
    const base = { stream: 'messages', connection_id: 'work' }

    const calls = [
      ...listFields('string eq').map(
        (name) => ['query_records', { ...base, filter: { [name]: 'x' } }] as const,
      ),
      ...listFields('integer eq range').map(
        (name) => ['query_records', { ...base, filter: { [name]: { gte: 1 } } }] as const,
      ),
      ['query_records', { ...base, sort, fields: listFields('string eq search') }] as const,
      ['query_records', { ...base, view: 'brief', expand: ['replies'] }] as const,
      ['aggregate', { ...base, metric: 'sum', field: sum }] as const,
      ['aggregate', { ...base, metric: 'count', group_by: group }] as const,
    ]

    expect(text).toContain('Legend: eq: filter')
    expect(sort).toBe('-sent_at')
    for (const [name, input] of calls)
      expect(await reader.call(name, input), JSON.stringify(input)).toMatchObject({
        isError: false,
      })
  })

  test('and a connection describes only that connection, with everything the next read needs [R40, R41]', async () => {
    const reader = await aSharedStream()

    const { text, data } = await reader.call('schema', {
      stream: 'messages',
      connection_id: 'work',
    })

    expect(text).not.toMatch(/home|team|chat/)
    expect(JSON.stringify(data)).not.toMatch(/home|team|chat/)
    for (const phrase of [
      'connection_id work ("Work mail")',
      'connector_key mail',
      'stream messages',
      'string eq: id',
      'projection: fields, or view brief (id author)',
      'sort: -sent_at or sent_at',
      'count: none or exact',
      'expand: replies (has_many messages by thread)',
      'search modes: lexical over author, body',
      'aggregate: count; sum size',
    ])
      expect(text).toContain(phrase)
  })

  test('lists all of 60 fields in the text within 3 KB', async () => {
    const store = await aRecordStore()
    store.put(aWideStream('wide', 60), 'one', [])
    const reader = await aReader(store, store.grant({ stream: 'wide' }).token)

    const { text, rawResult } = await reader.call('schema', { stream: 'wide' })

    for (let index = 0; index < 59; index++) expect(text).toContain(`field_${index}`)
    expect(bytes(rawResult)).toBeLessThanOrEqual(3 * 1024)
  })
})

describe('schema with full detail', () => {
  test('without a stream is refused with the call to make instead [R29, R44, R45]', async () => {
    const reader = await aSharedStream()

    const { isError, text, data } = await reader.call('schema', { detail: 'full' })

    expect(isError).toBe(true)
    expect(text).toContain('schema(stream, connection_id, detail: "full")')
    expect(data).toEqual({})
  })

  test('of a stream in several connections asks for a connection_id and returns no schema [R47]', async () => {
    const reader = await aSharedStream()

    const { failure, text } = await reader.call('schema', { stream: 'messages', detail: 'full' })

    expect(failure).toMatchObject({
      code: 'ambiguous_schema_detail',
      details: { retry_with: 'connection_id', available_connection_count: 3 },
    })
    expect(text).not.toContain('"properties"')
    expect(text).toContain('"retry_with":"connection_id"')
  })

  test('returns the JSON Schema of one stream of one connection, once, directly under data [R46, R48, R50, R51]', async () => {
    const reader = await aSharedStream()

    const { data, text } = await reader.call('schema', {
      stream: 'messages',
      connection_id: 'home',
      detail: 'full',
    })

    expect(data.data).toMatchObject({
      detail: 'full',
      connectors: [
        {
          connections: [{ connection_id: 'home' }],
          streams: [{ name: 'messages', schema: { properties: { size: { type: 'integer' } } } }],
        },
      ],
    })
    expect(data.data).not.toHaveProperty('data')
    expect(data.data).not.toHaveProperty('streams')
    expect(JSON.stringify(data)).not.toMatch(/author|work|team/)
    expect(text).toContain('"size":{"type":"integer"}')
  })

  test('of a stream with a huge schema is bounded and names what was shortened [R49]', async () => {
    const store = await aRecordStore()
    store.put(aWideStream('wide', 200), 'one', [])
    const reader = await aReader(store, store.grant({ stream: 'wide' }).token)

    const { text, rawResult } = await reader.call('schema', { stream: 'wide', detail: 'full' })

    expect(bytes(rawResult)).toBeLessThanOrEqual(64 * 1024)
    expect(text).toContain('Shortened because of their length:')
  })
})
