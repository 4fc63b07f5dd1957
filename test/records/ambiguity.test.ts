import { expect, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { createTokenGate } from '../../src/sources/records/grants/token-gate.ts'
import type { DisclosingStore } from '../../src/sources/records/reading/reader.ts'
import { localRecordSource, toGrantCaller } from '../../src/sources/records/record-source.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { atMost } from '../support/amount.ts'
import { aCall } from '../support/builders.ts'

async function aPackage(connections: number) {
  const store = await aRecordStore()
  for (let index = 0; index < connections; index++)
    store.put(
      messages(),
      `connection_${String(index).padStart(2, '0')}`,
      someMessages(1),
      `No ${index}`,
    )
  const given = store.grant({ stream: 'messages' })
  return { store, given, reader: await aReader(store, given.token) }
}

const sourceRequired = [
  ['query_records', { stream: 'messages' }],
  ['aggregate', { stream: 'messages', metric: 'count' }],
  ['fetch', { id: 'messages:m0' }],
] as const

test('a read of one source among several asks which, and lists them for the next try [R80, R81, R82, R83, R85]', async () => {
  const { reader, given } = await aPackage(3)

  for (const [tool, input] of sourceRequired) {
    const { failure, text, isError } = await reader.call(tool, input)

    expect(isError).toBe(true)
    expect(failure).toMatchObject({
      code: 'ambiguous_connection',
      details: { retry_with: 'connection_id', available_connection_count: 3 },
    })
    const listed = failure?.details?.available_connections as Record<string, string>[]
    expect(listed).toEqual(
      [0, 1, 2].map((n) => ({
        connection_id: `connection_0${n}`,
        connector_key: 'mail',
        grant_id: given.grants[n],
        display_name: `No ${n}`,
      })),
    )
    for (const { connection_id, grant_id } of listed) {
      expect(text).toContain(`"connection_id":"${connection_id}"`)
      expect(text).toContain(`"grant_id":"${grant_id}"`)
      const again = await reader.call(tool, { ...input, connection_id })
      expect(again.isError, again.text).toBe(false)
    }
  }
})

test('where only one of several has the stream, it is named', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(1))
  store.put(messages('chat', 'talk'), 'team', someMessages(1))
  const { token } = store.grant({ stream: 'messages' }, { stream: 'talk' })
  const reader = await aReader(store, token)

  const { failure } = await reader.call('query_records', { stream: 'talk' })

  expect(failure).toMatchObject({
    code: 'ambiguous_connection',
    message: expect.stringContaining('Only "team" is possible here'),
    details: { available_connections: [{ connection_id: 'team' }] },
  })
})

test('of many, twelve are listed, with how many there are and where to find the rest [R82, R86]', async () => {
  const { reader } = await aPackage(25)

  const { failure, text } = await reader.call('query_records', { stream: 'messages' })

  expect(failure?.details).toMatchObject({
    available_connection_count: 25,
    available_connections_truncated: true,
    available_connections_omitted: 13,
    discovery_hint: expect.stringContaining('schema'),
  })
  expect(failure?.details?.available_connections).toHaveLength(12)
  expect(text).toContain('12 of 25 are listed; call schema for all of them.')
  const index = await reader.call('schema')
  for (let n = 0; n < 25; n++)
    expect(index.text).toContain(`connection_${String(n).padStart(2, '0')}`)
})

test('no source is asked anything to say so, and it is said at once [R84]', async () => {
  const { store, given } = await aPackage(50)
  const records = new SqliteRecords(store.file, Date.now, () => {})
  const asked: string[] = []
  const harmless = [
    'sources',
    'findPackage',
    'view',
    'findToken',
    'key',
    'close',
    'disclose',
    'canDisclose',
  ]
  const spied = new Proxy(records, {
    get(target, name) {
      if (!harmless.includes(String(name))) asked.push(String(name))
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as DisclosingStore
  const options = { store: spied, now: Date.now, timeoutMs: 1000 }
  const door = createTokenGate(
    () => options,
    () => {
      throw new Error('Nobody puts anything in.')
    },
  )
  const source = localRecordSource({
    id: 'records',
    open: door.open,
    holdsOwner: door.holdsOwner,
    diagnostics: () => [],
    close: () => records.close(),
  })
  const { capabilities } = await source.read()
  const query = capabilities.find(({ name }) => name === 'query_records')
  if (!query) throw new Error('no query_records')
  const call = aCall({
    capability: query,
    caller: toGrantCaller(given.id),
    input: { stream: 'messages' },
    cancellation: new Cancellation(),
  })
  await query.invoke(call)
  const start = performance.now()

  const outcome = await query.invoke(call)

  expect(performance.now() - start).toBeLessThan(atMost(50))
  expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'ambiguous_connection' } })
  expect(asked).toEqual([])
  await source.close?.()
})

test('one connection is never ambiguous', async () => {
  const { reader } = await aPackage(1)

  for (const [tool, input] of sourceRequired)
    expect((await reader.call(tool, input)).isError).toBe(false)
})
