import { once } from 'node:events'
import { createServer } from 'node:http'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { NodeReply } from '../../src/http/node-reply.ts'
import { Drawbridge, defineTool, definitionSource, z } from '../../src/index.ts'
import { subscriptionLimits } from '../../src/mcp/modern/subscriptions.ts'
import { aConfig, aProject, aSharedProject, aToolModule } from '../support/a-project.ts'
import { amount, atMost } from '../support/amount.ts'
import { eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { anInitialize, initialized } from '../support/legacy-request.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { toBytes } from '../support/raw-http.ts'
import { drawbridge, type Serving, startServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { type StdioServer, spawnStdio } from '../support/spawn-server.ts'
import { aModernPost, answerOf, aPostOf2025, initializeSession, post } from '../support/wire.ts'

const ping = defineTool({
  name: 'ping',
  description: 'Answers.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'pong',
})

/** Started here because it takes eleven seconds, and awaited by the last test. */
let slowClients: ReturnType<typeof measureSlowClients>
beforeAll(() => {
  slowClients = measureSlowClients()
})

describe('on SIGTERM', () => {
  /** Tools that finish only after the signal, so that every call is in flight when it arrives. */
  const files = {
    'drawbridge.yaml': aConfig(),
    'tools/slow.ts': `${aToolModule({
      name: 'slow',
      body: 'console.error("began", ++began); await later; return "finished"',
    })}
let began = 0
const later = new Promise((resolve) => process.once('SIGTERM', () => setTimeout(resolve, 300)))
`,
    'tools/stuck.ts': `${aToolModule({
      name: 'stuck',
      body: 'process.stderr.write("began\\n"); await new Promise((resolve) => setTimeout(resolve, 14_000))',
    })}`,
  }
  const slowCall = { name: 'slow', arguments: {} }

  /** Sends SIGTERM and measures the time until exit. */
  async function terminate({ process, exited }: Serving) {
    const startedAt = performance.now()
    process.kill('SIGTERM')
    const code = await exited
    return { code, seconds: (performance.now() - startedAt) / 1000 }
  }

  /** Counts the results by text. */
  async function tally(calls: Promise<object>[]): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const settled of await Promise.allSettled(calls)) {
      const text =
        settled.status === 'rejected' ? String(settled.reason) : JSON.stringify(settled.value)
      const answer = text.includes('"finished"') ? 'finished' : text
      counts[answer] = (counts[answer] ?? 0) + 1
    }
    return counts
  }

  test('in-flight calls of both eras are answered, streams end gracefully, and the exit code is 0', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    const modern = await aModernClient(server.url)
    const legacy = [await aClientOf2025(server.url), await aClientOf2025(server.url)]
    const subscriptions = await Promise.all(
      Array.from({ length: 20 }, () => modern.listen({ toolsListChanged: true })),
    )
    const modernCalls = Array.from({ length: 50 }, () => modern.callTool(slowCall))
    const legacyCalls = legacy.flatMap((client) =>
      Array.from({ length: 25 }, () => client.callTool(slowCall)),
    )
    await server.waitForOutput(/began 100\b/)

    const exit = terminate(server)
    // A client waits a minute for a missing answer; the server exits before that.
    const answers = (calls: Promise<object>[]) =>
      Promise.race([tally(calls), exit.then(() => 'unanswered')])
    const tallies = Promise.all([answers(modernCalls), answers(legacyCalls)])

    expect(await tallies).toEqual([{ finished: 50 }, { finished: 50 }])
    const closeReasons = await Promise.all(subscriptions.map(({ closed }) => closed))
    expect(new Set(closeReasons)).toEqual(new Set(['graceful']))
    expect(await exit).toMatchObject({ code: 0 })
    expect((await exit).seconds).toBeLessThan(atMost(10))
  })

  test('idle keep-alive connections do not delay the exit', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    // `fetch` keeps connections alive.
    const answer = post(server.url, aModernPost('tools/call', slowCall))
    await server.waitForOutput(/began 1\b/)

    const exit = terminate(server)
    await (await answer).text()

    expect(await exit).toMatchObject({ code: 0 })
    expect((await exit).seconds).toBeLessThan(atMost(3))
  })

  test('a call that outlasts the grace period still gets an answer', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    const call = post(server.url, aModernPost('tools/call', { name: 'stuck', arguments: {} })).then(
      answerOf,
    )
    await server.waitForOutput(/began/)

    const exit = terminate(server)

    expect(await call).toMatchObject({ jsonrpc: '2.0', id: 1 })
    expect(await exit).toMatchObject({ code: 0 })
    expect((await exit).seconds).toBeLessThan(atMost(10))
  })

  test('an idle server exits within two seconds', async () => {
    const server = await startServing(['--watch'], { cwd: await aProject(files) })
    const client = await aClientOf2025(server.url)
    await client.listTools()

    const { code, seconds } = await terminate(server)

    expect(code).toBe(0)
    expect(seconds).toBeLessThan(atMost(2))
  })
})

const stdioFolder = await aSharedProject({
  'drawbridge.yaml': aConfig(),
  'tools/stuck.ts': aToolModule({
    name: 'stuck',
    body: `process.stderr.write('began\\n')
  context.signal.addEventListener('abort', () => process.stderr.write(\`aborted \${Date.now()}\\n\`))
  await new Promise(() => {})`,
  }),
})

describe('over stdio', () => {
  const stuckCall = { name: 'stuck', arguments: {} }
  const legacyList = { jsonrpc: '2.0', method: 'tools/list' }
  const openers: Readonly<Record<string, (server: StdioServer) => Promise<{ call: object }>>> = {
    2025: async (server) => {
      await server.request({ ...anInitialize(), id: 1 })
      await server.send(initialized)
      return { call: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: stuckCall } }
    },
    2026: async (server) => {
      await server.request(aModernRequest('server/discover', {}, 1))
      return { call: aModernRequest('tools/call', stuckCall, 7) }
    },
  }

  async function spawn(): Promise<StdioServer> {
    const server = spawnStdio(stdioFolder)
    onTestFinished(async () => {
      await server.stop()
    })
    return server
  }
  const waitForLog = (server: StdioServer, pattern: RegExp) =>
    eventually(() => {
      const match = server.stderr.match(pattern)
      if (!match) throw new Error(`has not said ${pattern}: ${server.stderr}`)
      return match
    })

  test('end of input before any message exits with 0', async () => {
    const { code, stdout } = await drawbridge(['serve', '--stdio'], { cwd: stdioFolder })

    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  })

  test.each(Object.keys(openers))(
    'end of input during a %s call exits with 0 within two seconds',
    async (era) => {
      const server = await spawn()
      const { call } = (await openers[era]?.(server)) ?? {}
      await server.send(call ?? {})
      await waitForLog(server, /began/)

      const startedAt = performance.now()
      server.closeInput()
      const { code } = await server.ended

      expect(code).toBe(0)
      expect(performance.now() - startedAt).toBeLessThan(atMost(2000))
    },
  )

  describe.each(Object.keys(openers))('in %s', (era) => {
    /** One process: the first test cancels a call, the second one ends the process. */
    let server: StdioServer
    let call: object
    const lines: string[] = []
    beforeAll(async () => {
      server = spawnStdio(stdioFolder)
      server.onLine((line) => lines.push(line))
      call = (await openers[era]?.(server))?.call ?? {}
    })
    afterAll(() => server?.stop())

    test('a cancelled call is aborted within 250 ms and gets no answer', async () => {
      await server.send(call)
      await waitForLog(server, /began/)

      const cancelledAt = Date.now()
      await server.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 7, reason: 'enough' },
      })
      const [, abortedAt] = await waitForLog(server, /aborted (\d+)/)
      // Messages are ordered: an answer to 7 would arrive before this one.
      await server.request(
        era === '2026' ? aModernRequest('tools/list', {}, 8) : { ...legacyList, id: 8 },
      )

      expect(Number(abortedAt) - cancelledAt).toBeLessThan(atMost(250))
      expect(lines.filter((line) => JSON.parse(line).id === 7)).toEqual([])
    })

    test('SIGTERM during a call exits with 0 within two seconds', async () => {
      const { length } = server.stderr
      await server.send({ ...call, id: 9 })
      await eventually(() => expect(server.stderr.slice(length)).toContain('began'))

      const startedAt = performance.now()
      const { code } = await server.stop()

      expect(code).toBe(0)
      expect(performance.now() - startedAt).toBeLessThan(atMost(2000))
    })
  })
})

describe('over HTTP', () => {
  /** A tool that never settles and records when it starts and is aborted. */
  function aStuckTool() {
    const startHandlers: (() => void)[] = []
    const abortedAt: number[] = []
    const tool = defineTool({
      name: 'stuck',
      description: 'Never ends by itself.',
      category: 'read',
      schema: z.object({ at: z.number() }),
      execute: ({ at }, { signal }) => {
        signal.addEventListener('abort', () => {
          abortedAt[at] = performance.now()
        })
        startHandlers[at]?.()
        return new Promise(() => {})
      },
    })
    const whenStarted = (at: number) =>
      new Promise<void>((resolve) => (startHandlers[at] = resolve))
    return { tool, whenStarted, abortedAt }
  }
  const call = (at: number) => ({ name: 'stuck', arguments: { at } })

  test('a disconnecting 2026 client aborts only its own call, within 250 ms', async () => {
    const { tool, whenStarted, abortedAt } = aStuckTool()
    const { bridge, url } = await serveHere({ sources: [definitionSource([tool])] })
    const indexes = Array.from({ length: 50 }, (_, at) => at)

    const delays = await Promise.all(
      indexes.map(async (at) => {
        const client = new AbortController()
        const started = whenStarted(at)
        const answer = post(url, aModernPost('tools/call', call(at)), {}, client.signal)
        await started
        // Spread the disconnects over half a second.
        await new Promise((resolve) => setTimeout(resolve, at * 10))
        const disconnectedAt = performance.now()
        client.abort()
        await expect(answer).rejects.toThrow('abort')
        await eventually(() => expect(abortedAt[at]).toBeDefined())
        return (abortedAt[at] ?? Number.NaN) - disconnectedAt
      }),
    )

    expect(Math.max(...delays)).toBeLessThan(atMost(250))
    expect(bridge.audit).toHaveLength(50)
    for (const { outcome, code } of bridge.audit)
      expect({ outcome, code }).toEqual({ outcome: 'failed', code: 'cancelled' })
  })

  test('a tool that checks its signal late finds it aborted', async () => {
    const [started, disconnected, abortedFlag] = [new Latch(), new Latch(), new Latch<boolean>()]
    const lateTool = defineTool({
      name: 'late',
      description: 'Looks late.',
      category: 'read',
      schema: z.object({}),
      execute: async (_, context) => {
        started.open()
        await disconnected.opened
        abortedFlag.open(context.signal.aborted)
      },
    })
    const { bridge, url } = await serveHere({ sources: [definitionSource([lateTool])] })
    const client = new AbortController()
    const message = aModernPost('tools/call', { name: 'late', arguments: {} })

    const answer = post(url, message, {}, client.signal).catch(() => {})
    await started.opened
    client.abort()
    await eventually(() => expect(bridge.audit).toHaveLength(1))
    disconnected.open()
    await answer

    expect(await abortedFlag.opened).toBe(true)
  })

  test('a 2025 client that cancels aborts its call within 250 ms', async () => {
    const { tool, whenStarted, abortedAt } = aStuckTool()
    const { url } = await serveHere({ sources: [definitionSource([tool])] })
    const client = await aClientOf2025(url)
    const controller = new AbortController()
    const started = whenStarted(0)
    const answer = client.callTool(call(0), undefined, { signal: controller.signal })
    const rejection = expect(answer).rejects.toThrow()
    await started

    const cancelledAt = performance.now()
    controller.abort('enough')
    await rejection
    await eventually(() => expect(abortedAt[0]).toBeDefined())

    expect((abortedAt[0] ?? Number.NaN) - cancelledAt).toBeLessThan(atMost(250))
  })

  test('a 2025 client that only loses its connection does not abort its call', async () => {
    const { tool, whenStarted, abortedAt } = aStuckTool()
    const { bridge, url } = await serveHere({ sources: [definitionSource([tool])] })
    const session = await initializeSession(url)
    const connection = new AbortController()
    const started = whenStarted(0)
    const message = aPostOf2025('tools/call', call(0), session)
    const response = await post(url, message, {}, connection.signal)
    await started

    connection.abort()
    await response.text().catch(() => {})
    await post(url, aPostOf2025('tools/list', {}, session)).then(answerOf)

    expect(abortedAt).toEqual([])
    expect(bridge.audit).toEqual([])
  })
})

test('a stream that is opened after its client has disconnected is closed at once', async () => {
  const closed = new Latch()
  const server = createServer((_, response) => {
    response.once('close', () => {
      const stream = new NodeReply(response, () => {}).stream()
      stream.onClose(() => closed.open())
    })
    socket.resetAndDestroy()
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo

  const socket = net.connect(port, '127.0.0.1')
  socket.write(toBytes({ headers: {} }))

  await closed.opened
})

test('a stream in process that nobody reads is closed, and its call aborted', async () => {
  let entries = 0
  const aborted = new Latch()
  const chatter = defineTool({
    name: 'chatter',
    description: 'Logs until it is aborted.',
    category: 'analysis',
    schema: z.object({}),
    execute: async (_, { log, signal }) => {
      for (; !signal.aborted && entries < 200; entries++) {
        log('info', 'x'.repeat(100 * 1024))
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (signal.aborted) aborted.open()
      return 'done'
    },
  })
  const { bridge, url } = await serveHere({ sources: [definitionSource([chatter])] })
  const { headers, body } = aModernPost('tools/call', {
    name: 'chatter',
    arguments: {},
    _meta: { 'io.modelcontextprotocol/logLevel': 'info' },
  })

  const response = await bridge.fetch(new Request(url, { method: 'POST', headers, body }))
  await aborted.opened

  expect(entries).toBeLessThan(50)
  await expect(response.text()).rejects.toThrow('does not read')
})

describe('subscriptions whose client has disconnected are closed', () => {
  const listen = (notifications: object) => {
    const message = aModernRequest('subscriptions/listen', { notifications })
    return toBytes({ headers: toModernHeaders(message), body: JSON.stringify(message) })
  }
  const uris = Array.from({ length: 600 }, (_, index) => `file:///${'x'.repeat(60)}${index}`)

  test.each([
    ['before its large body was parsed', listen({ resourceSubscriptions: uris }), 1],
    ['while they waited for an earlier response', listen({ toolsListChanged: true }), 32],
  ])('%s', async (_, request, perConnection) => {
    const { port, url } = await serveHere({ sources: [definitionSource([ping])] })
    const bytes = Buffer.concat(Array.from({ length: perConnection }, () => request))
    const sendAndReset = async () => {
      const socket = net.connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await new Promise((resolve) => socket.write(bytes, resolve))
      // Pipelined requests have to be read first.
      if (perConnection > 1) await once(socket, 'data')
      socket.resetAndDestroy()
    }
    const connections = Math.ceil((1.5 * subscriptionLimits.perCaller) / perConnection)
    for (let count = 0; count < connections; count += 16)
      await Promise.all(Array.from({ length: 16 }, sendAndReset))

    const subscribe = async (signal: AbortSignal) => {
      const notifications = { toolsListChanged: true }
      const response = await post(
        url,
        aModernPost('subscriptions/listen', { notifications }),
        {},
        signal,
      )
      const { value } = (await response.body?.getReader().read()) ?? {}
      return Buffer.from(value ?? []).toString()
    }
    const texts = await eventually(async () => {
      const clients = new AbortController()
      const received = await Promise.all(
        Array.from({ length: 8 }, () => subscribe(clients.signal)),
      ).finally(() => clients.abort())
      expect(received.join()).not.toContain('Too many open subscriptions')
      return received
    })

    for (const text of texts) expect(text).toContain('subscriptions/acknowledged')
  })
})

test('slow clients are disconnected within 15 seconds without delaying others', async () => {
  const { lifetimesMs, otherDurationsMs } = await slowClients

  expect(Math.max(...lifetimesMs)).toBeLessThan(amount(40_000, 15_000))
  expect(otherDurationsMs.length).toBeGreaterThan(amount(10, 50))
  expect(
    otherDurationsMs.sort((a, b) => a - b)[Math.floor(otherDurationsMs.length * 0.9)],
  ).toBeLessThan(atMost(250))
})

/** Measures in ms how long slow clients stay connected and how long other requests take meanwhile. */
async function measureSlowClients(): Promise<{
  lifetimesMs: number[]
  otherDurationsMs: number[]
}> {
  const bridge = new Drawbridge({ sources: [definitionSource([ping])] })
  const { port } = await bridge.listen({ port: 0 })
  const otherDurationsMs: number[] = []
  const requestTimer = setInterval(async () => {
    const startedAt = performance.now()
    await post(`http://127.0.0.1:${port}/mcp`, aModernPost('tools/list')).then(answerOf)
    otherDurationsMs.push(performance.now() - startedAt)
  }, 100)
  const head = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  const lifetimesMs = await Promise.all([
    ...Array.from({ length: 40 }, () => trickle(port, `${head}X-Slow: `)),
    ...Array.from({ length: 20 }, () => trickle(port, `${head}Content-Length: 9999\r\n\r\n`)),
    ...Array.from({ length: 10 }, () => trickle(port, '')),
  ])
  clearInterval(requestTimer)
  await bridge.close(100)
  return { lifetimesMs, otherDurationsMs: otherDurationsMs }
}

/** Sends the text, then a byte every half second until the server disconnects or 45 s pass. */
async function trickle(port: number, initialText: string): Promise<number> {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  const startedAt = performance.now()
  socket.write(initialText)
  const timer = initialText === '' ? undefined : setInterval(() => socket.write('a'), 500)
  const deadline = setTimeout(() => socket.destroy(), 45_000)
  await once(socket, 'close')
  clearTimeout(deadline)
  clearInterval(timer)
  return performance.now() - startedAt
}
