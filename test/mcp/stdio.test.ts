import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineTool, definitionSource, z } from '../../src/index.ts'
import { aChangingSource } from '../support/a-changing-source.ts'
import { amount } from '../support/amount.ts'
import { aWhile, eventually, until } from '../support/eventually.ts'
import { anInitialize } from '../support/legacy-request.ts'
import { aModernRequest } from '../support/modern-request.ts'
import { serveHere } from '../support/serve-here.ts'
import { StdioPeer } from '../support/stdio-peer.ts'

const echo = defineTool({
  name: 'echo',
  description: 'Returns its text.',
  category: 'analysis',
  schema: z.object({ text: z.string(), repeat: z.number().default(1) }),
  execute: ({ text, repeat }) => text.repeat(repeat),
})

async function connect() {
  const { bridge } = await serveHere({ sources: [definitionSource([echo])] })
  return StdioPeer.connect(bridge)
}

const aCall = (id: number | string, text: string, repeat = 1) =>
  aModernRequest('tools/call', { name: 'echo', arguments: { text, repeat } }, id)
const toLine = (message: object): string => `${JSON.stringify(message)}\n`
const textOf = ({ result }: { readonly result?: object | undefined }) =>
  (result as { content?: { text: string }[] } | undefined)?.content?.[0]?.text

describe('lines', () => {
  test('may arrive in pieces of any size', async () => {
    const peer = (await connect()).read()
    const bytes = Buffer.from(
      [aCall(1, 'Grüße, 👩‍👩‍👧‍👦'), aCall(2, 'second')].map(toLine).join(''),
    )

    for (const byte of bytes) {
      peer.input.write(Buffer.of(byte))
      await setImmediate()
    }

    expect(textOf(await peer.answerTo(1))).toBe('Grüße, 👩‍👩‍👧‍👦')
    expect(textOf(await peer.answerTo(2))).toBe('second')
  })

  test('may arrive together, with CRLF and empty lines between them', async () => {
    const peer = (await connect()).read()
    const texts = Array.from({ length: 50 }, (_, index) => `text ${index}`)

    peer.input.write(
      texts
        .map((text, id) =>
          toLine(aCall(id, text)).replace('\n', ['\n', '\r\n', '\n\n \n'][id % 3] ?? ''),
        )
        .join(''),
    )
    await until(() => peer.messages.length === texts.length)

    expect(peer.messages.map(textOf)).toEqual(texts)
  })

  test('that are no messages are dropped, and the next one is answered', async () => {
    const peer = (await connect()).read()

    peer.input.write('not JSON\n{"jsonrpc":"2.0"}\n[]\n7\n\0\n')
    peer.send(aCall(1, 'still here'))

    expect(textOf(await peer.answerTo(1))).toBe('still here')
    expect(peer.messages).toHaveLength(1)
  })

  test('above 10 MiB end the connection with a reason', async () => {
    const peer = (await connect()).read()

    for (let megabyte = 0; megabyte < 11; megabyte++) {
      peer.input.write('x'.repeat(1024 * 1024))
      await setImmediate()
    }

    expect(await peer.connection.closed).toMatchObject({
      message: expect.stringContaining('10485760'),
    })
  })

  test('of almost 10 MiB are answered', async () => {
    const peer = (await connect()).read()
    const text = 'x'.repeat(10 * 1024 * 1024 - 1000)

    peer.send(aModernRequest('tools/list', { ignored: text }, 1))

    expect(await peer.answerTo(1)).toHaveProperty('result')
  })
})

describe('a client that does not read', () => {
  const calls = amount(2_000, 20_000)

  test(`is not read from either, and then gets all ${calls} answers in order`, async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const peer = await connect()
    const { input, output } = peer
    let sent = 0
    const feed = async () => {
      while (sent < calls) {
        if (input.writableNeedDrain) await once(input, 'drain')
        peer.send(aCall(sent++, 'x', 1_000))
        await setImmediate()
      }
    }
    const fed = feed()

    await until(() => input.writableNeedDrain)
    await aWhile(50)
    const [sentBefore, unreadBytes] = [sent, output.readableLength + output.writableLength]
    peer.read()
    await fed
    await until(() => peer.messages.length === calls)

    expect(sentBefore).toBeLessThan(calls)
    expect(unreadBytes).toBeLessThan(512 * 1024)
    expect(peer.messages.map(({ id }) => id)).toEqual([...Array(calls).keys()])
    expect(warnings).toEqual([])
  })

  test('does not lose what ends later, and leaves no listener behind', async () => {
    const finishers: (() => void)[] = []
    const hold = defineTool({
      name: 'hold',
      description: 'Ends later.',
      category: 'analysis',
      schema: z.object({}),
      execute: () =>
        new Promise<string>((resolve) => finishers.push(() => resolve('x'.repeat(20_000)))),
    })
    const { bridge } = await serveHere({ sources: [definitionSource([hold])] })
    const peer = await StdioPeer.connect(bridge)
    for (let id = 0; id < 50; id++)
      peer.send(aModernRequest('tools/call', { name: 'hold', arguments: {} }, id))
    await eventually(() => expect(finishers).toHaveLength(50))

    for (const finish of finishers) {
      finish()
      await aWhile(1)
    }
    const listeners = peer.output.listenerCount('drain')
    peer.read()
    await until(() => peer.messages.length === 50)

    expect(listeners).toBeLessThanOrEqual(1)
    expect(peer.messages.map(({ id }) => id)).toEqual([...Array(50).keys()])
  })
})

describe('subscriptions/listen', () => {
  const listen = (id: number, notifications: object) =>
    aModernRequest('subscriptions/listen', { notifications }, id)
  const subscriptionId = 'io.modelcontextprotocol/subscriptionId'

  async function connectChanging() {
    const { source, changeTools, update } = aChangingSource()
    const { bridge } = await serveHere({ sources: [source] })
    const peer = (await StdioPeer.connect(bridge)).read()
    return { bridge, peer, changeTools, update }
  }
  const isAcknowledged = ({ method }: { readonly method?: string }) =>
    method === 'notifications/subscriptions/acknowledged'

  test('sends what each subscription asked for, with its id, until it is cancelled', async () => {
    const { peer, changeTools, update } = await connectChanging()
    peer.send(
      listen(1, { toolsListChanged: true }),
      listen(2, { resourceSubscriptions: ['lamp://hall'] }),
    )
    await until(() => peer.messages.filter(isAcknowledged).length === 2)
    peer.messages.length = 0

    update('lamp://hall')
    update('lamp://attic')
    changeTools()
    await until(() => peer.messages.length >= 2)
    const first = peer.messages.splice(0)
    peer.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    })
    changeTools()
    update('lamp://hall')
    await peer.receive(({ method }) => method === 'notifications/resources/updated')
    await aWhile(20)

    expect(first.map(({ method, params }) => [method, params?._meta])).toEqual(
      expect.arrayContaining([
        ['notifications/resources/updated', { [subscriptionId]: 2 }],
        ['notifications/tools/list_changed', { [subscriptionId]: 1 }],
      ]),
    )
    expect(first).toHaveLength(2)
    expect(peer.messages.map(({ params }) => params?._meta)).toEqual([{ [subscriptionId]: 2 }])
  })

  test('is answered when the server closes', async () => {
    const { bridge, peer } = await connectChanging()
    peer.send(listen(1, { toolsListChanged: true }))
    await peer.receive(isAcknowledged)

    await bridge.close(100)

    expect(await peer.answerTo(1)).toMatchObject({
      result: { resultType: 'complete', _meta: { [subscriptionId]: 1 } },
    })
  })

  test('is a method of 2026 only', async () => {
    const { peer } = await connectChanging()

    peer.send(anInitialize(1))
    peer.send({ jsonrpc: '2.0', id: 2, method: 'subscriptions/listen', params: {} })

    expect(await peer.answerTo(2)).toMatchObject({ error: { code: -32601 } })
  })
})

test('in 2025, subscribed resources and lists are announced until the client unsubscribes', async () => {
  const { source, changeTools, update } = aChangingSource()
  const { bridge } = await serveHere({ sources: [source] })
  const peer = (await StdioPeer.connect(bridge)).read()
  const request = (id: number, method: string) => ({
    jsonrpc: '2.0',
    id,
    method,
    params: { uri: 'lamp://hall' },
  })
  peer.send(anInitialize(0), request(1, 'resources/subscribe'))
  await peer.answerTo(1)

  update('lamp://hall')
  await peer.receive(({ method }) => method === 'notifications/resources/updated')
  peer.send(request(2, 'resources/unsubscribe'))
  await peer.answerTo(2)
  update('lamp://hall')
  changeTools()
  await peer.receive(({ method }) => method === 'notifications/tools/list_changed')
  await aWhile(120)

  expect(peer.messages.flatMap(({ method }) => method ?? [])).toEqual([
    'notifications/resources/updated',
    'notifications/tools/list_changed',
  ])
})

test('a client that does not read is disconnected when its notifications take too much memory', async () => {
  let entries = 0
  const chatter = defineTool({
    name: 'chatter',
    description: 'Logs until it is aborted.',
    category: 'analysis',
    schema: z.object({}),
    execute: async (_, { log, signal }) => {
      for (; !signal.aborted && entries < 200; entries++) {
        log('info', 'x'.repeat(1024 * 1024))
        await setImmediate()
      }
      return 'done'
    },
  })
  const { bridge } = await serveHere({ sources: [definitionSource([chatter])] })
  const peer = await StdioPeer.connect(bridge)
  const params = { name: 'chatter', arguments: {} }

  peer.send(anInitialize(), { jsonrpc: '2.0', id: 1, method: 'tools/call', params })

  expect(await peer.connection.closed).toMatchObject({
    message: expect.stringContaining('has not read'),
  })
  expect(entries).toBeLessThan(100)
})

test('after the end of the input, running calls are answered for the grace period, and then cancelled', async () => {
  const cancelled: number[] = []
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    category: 'analysis',
    schema: z.object({ ms: z.number() }),
    execute: async ({ ms }, { signal }) => {
      signal.addEventListener('abort', () => cancelled.push(ms))
      await aWhile(ms)
      return 'waited'
    },
  })
  const { bridge } = await serveHere({ sources: [definitionSource([wait])] })
  const toWait = (id: number, ms: number) =>
    toLine(aModernRequest('tools/call', { name: 'wait', arguments: { ms } }, id))
  const patient = (await StdioPeer.connect(bridge)).read()
  const hasty = (await StdioPeer.connect(bridge, { graceMs: 50 })).read()

  patient.input.end(toWait(1, 100))
  hasty.input.end(toWait(2, 2000))
  await Promise.all([patient.connection.closed, hasty.connection.closed])

  await eventually(() => expect(patient.messages.map(textOf)).toEqual(['waited']))
  expect([hasty.messages, cancelled]).toEqual([[], [2000]])
})
