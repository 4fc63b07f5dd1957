import { expect, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { createTokenGate } from '../../src/sources/records/grants/token-gate.ts'
import type { DisclosingStore } from '../../src/sources/records/reading/reader.ts'
import { localRecordSource, toGrantCaller } from '../../src/sources/records/record-source.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { atMost } from '../support/amount.ts'
import { aCall } from '../support/builders.ts'

async function aPackage(connectionCount: number) {
  const store = await aRecordStore()
  for (let index = 0; index < connectionCount; index++)
    store.put(
      messages(),
      `connection_${String(index).padStart(2, '0')}`,
      someMessages(1),
      `No ${index}`,
    )
  const grant = store.grant({ stream: 'messages' })
  return { store, grant, reader: await aReader(store, grant.token) }
}

const sourceRequired = [
  ['query_records', { stream: 'messages' }],
  ['aggregate', { stream: 'messages', metric: 'count' }],
  ['fetch', { id: 'messages:m0' }],
] as const

test('a read without connection_id among several connections fails and lists them for a retry [R80, R81, R82, R83, R85]', async () => {
  const { reader, grant } = await aPackage(3)

  for (const [tool, input] of sourceRequired) {
    const { failure, text, isError } = await reader.call(tool, input)

    expect(isError).toBe(true)
    expect(failure).toMatchObject({
      code: 'ambiguous_connection',
      details: { retry_with: 'connection_id', available_connection_count: 3 },
    })
    const available = failure?.details?.available_connections as Record<string, string>[]
    expect(available).toEqual(
      [0, 1, 2].map((n) => ({
        connection_id: `connection_0${n}`,
        connector_key: 'mail',
        grant_id: grant.grants[n],
        display_name: `No ${n}`,
      })),
    )
    for (const { connection_id, grant_id } of available) {
      expect(text).toContain(`"connection_id":"${connection_id}"`)
      expect(text).toContain(`"grant_id":"${grant_id}"`)
      const retried = await reader.call(tool, { ...input, connection_id })
      expect(retried.isError, retried.text).toBe(false)
    }
  }
})

test('when only one of several connections has the stream, the error names it', async () => {
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

test('an ambiguity error lists at most twelve connections, the total, and where to find the rest [R82, R86]', async () => {
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

test('an ambiguity error is returned at once without querying any source [R84]', async () => {
  const { store, grant } = await aPackage(50)
  const records = new SqliteRecords(store.file, Date.now, () => {})
  const storeCalls: string[] = []
  const allowedCalls = [
    'sources',
    'findPackage',
    'view',
    'findToken',
    'key',
    'close',
    'disclose',
    'canDisclose',
  ]
  const spiedStore = new Proxy(records, {
    get(target, name) {
      if (!allowedCalls.includes(String(name))) storeCalls.push(String(name))
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as DisclosingStore
  const options = { store: spiedStore, now: Date.now, timeoutMs: 1000 }
  const tokenGate = createTokenGate(
    () => options,
    () => {
      throw new Error('Ingestion is not expected.')
    },
  )
  const source = localRecordSource({
    id: 'records',
    open: tokenGate.open,
    containsOwnerToken: tokenGate.containsOwnerToken,
    diagnostics: () => [],
    close: () => records.close(),
  })
  const { capabilities } = await source.read()
  const query = capabilities.find(({ name }) => name === 'query_records')
  if (!query) throw new Error('no query_records')
  const call = aCall({
    capability: query,
    caller: toGrantCaller(grant.id),
    input: { stream: 'messages' },
    cancellation: new Cancellation(),
  })
  await query.invoke(call)
  const startMs = performance.now()

  const outcome = await query.invoke(call)

  expect(performance.now() - startMs).toBeLessThan(atMost(50))
  expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'ambiguous_connection' } })
  expect(storeCalls).toEqual([])
  await source.close?.()
})

test('one connection is never ambiguous', async () => {
  const { reader } = await aPackage(1)

  for (const [tool, input] of sourceRequired)
    expect((await reader.call(tool, input)).isError).toBe(false)
})
