import { once } from 'node:events'
import net from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Drawbridge, defineTool, definitionSource, z } from '../../src/index.ts'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { amount, atMost } from '../support/amount.ts'
import { eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { anInitialize as anInitializeMessage, initialized } from '../support/legacy-request.ts'
import { aModernRequest as aModernMessage } from '../support/modern-request.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { drawbridge, type Serving, startServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { type StdioServer, spawnStdio } from '../support/spawn-server.ts'
import { aModernRequest, answerOf, aRequestOf2025, openSession, post } from '../support/wire.ts'

const ping = defineTool({
  name: 'ping',
  description: 'Answers.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'pong',
})

/** Takes eleven seconds of waiting, during which the other tests run; judged at the end. */
let slowClients: ReturnType<typeof bearSlowClients>
beforeAll(() => {
  slowClients = bearSlowClients()
})

describe('when it is told to stop', () => {
  /** A tool that answers only after the signal came, so that every call is in flight by then. */
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
  const slow = { name: 'slow', arguments: {} }

  /** How long it takes from the signal to the end, and with which code. */
  async function terminate({ process, exited }: Serving) {
    const started = performance.now()
    process.kill('SIGTERM')
    const code = await exited
    return { code, seconds: (performance.now() - started) / 1000 }
  }

  /** How often each answer was given. */
  async function tally(calls: Promise<object>[]): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const settled of await Promise.allSettled(calls)) {
      const said =
        settled.status === 'rejected' ? String(settled.reason) : JSON.stringify(settled.value)
      const answer = said.includes('"finished"') ? 'finished' : said
      counts[answer] = (counts[answer] ?? 0) + 1
    }
    return counts
  }

  test('calls of 2026 in flight are answered, streams end gracefully, and it exits with 0', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    const client = await aModernClient(server.url)
    const subscriptions = await Promise.all(
      Array.from({ length: 20 }, () => client.listen({ toolsListChanged: true })),
    )
    const calls = Array.from({ length: 50 }, () => client.callTool(slow))
    await server.said(/began 50\b/)

    const ending = terminate(server)

    expect(await tally(calls)).toEqual({ finished: 50 })
    const endings = await Promise.all(subscriptions.map(({ closed }) => closed))
    expect(new Set(endings)).toEqual(new Set(['graceful']))
    expect(await ending).toMatchObject({ code: 0 })
    expect((await ending).seconds).toBeLessThan(atMost(10))
  })

  test('calls of 2025 in flight are answered, and it exits with 0', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    const clients = [await aClientOf2025(server.url), await aClientOf2025(server.url)]
    const calls = clients.flatMap((client) =>
      Array.from({ length: 25 }, () => client.callTool(slow)),
    )
    await server.said(/began 50\b/)

    const ending = terminate(server)

    // The client waits a minute for an answer that never comes: the end of the server comes first.
    expect(await Promise.race([tally(calls), ending.then(() => 'unanswered')])).toEqual({
      finished: 50,
    })
    expect(await ending).toMatchObject({ code: 0 })
    expect((await ending).seconds).toBeLessThan(atMost(10))
  })

  test('connections that are merely kept alive do not hold it up', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    // `fetch` keeps its connections, like every client.
    const answer = post(server.url, aModernRequest('tools/call', slow))
    await server.said(/began 1\b/)

    const ending = terminate(server)
    await (await answer).text()

    expect(await ending).toMatchObject({ code: 0 })
    expect((await ending).seconds).toBeLessThan(atMost(3))
  })

  test('a call that would take longer than it waits is answered all the same', async () => {
    const server = await startServing([], { cwd: await aProject(files) })
    const call = post(
      server.url,
      aModernRequest('tools/call', { name: 'stuck', arguments: {} }),
    ).then(answerOf)
    await server.said(/began/)

    const ending = terminate(server)

    expect(await call).toMatchObject({ jsonrpc: '2.0', id: 1 })
    expect(await ending).toMatchObject({ code: 0 })
    expect((await ending).seconds).toBeLessThan(atMost(10))
  })

  test('an idle one is gone within two seconds', async () => {
    const server = await startServing(['--watch'], { cwd: await aProject(files) })
    const client = await aClientOf2025(server.url)
    await client.listTools()

    const { code, seconds } = await terminate(server)

    expect(code).toBe(0)
    expect(seconds).toBeLessThan(atMost(2))
  })
})

describe('on standard input and output', () => {
  const files = {
    'drawbridge.yaml': aConfig(),
    'tools/stuck.ts': aToolModule({
      name: 'stuck',
      body: `process.stderr.write('began\\n')
    context.signal.addEventListener('abort', () => process.stderr.write(\`aborted \${Date.now()}\\n\`))
    await new Promise(() => {})`,
    }),
  }
  const stuck = { name: 'stuck', arguments: {} }
  const aListOf2025 = { jsonrpc: '2.0', method: 'tools/list' }
  const eras: Readonly<Record<string, (server: StdioServer) => Promise<{ call: object }>>> = {
    2025: async (server) => {
      await server.request({ ...anInitializeMessage(), id: 1 })
      await server.send(initialized)
      return { call: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: stuck } }
    },
    2026: async (server) => {
      await server.request(aModernMessage('server/discover', {}, 1))
      return { call: aModernMessage('tools/call', stuck, 7) }
    },
  }

  async function spawn(): Promise<StdioServer> {
    const server = spawnStdio(await aProject(files))
    onTestFinished(async () => {
      await server.stop()
    })
    return server
  }
  const says = (server: StdioServer, pattern: RegExp) =>
    eventually(() => {
      const match = server.said.match(pattern)
      if (!match) throw new Error(`has not said ${pattern}: ${server.said}`)
      return match
    })

  test('the end of the input before anything was said ends it with 0', async () => {
    const { code, stdout } = await drawbridge(['serve', '--stdio'], { cwd: await aProject(files) })

    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  })

  test.each(Object.keys(eras))(
    'the end of the input ends it with 0 within two seconds, even amid a call of %s',
    async (era) => {
      const server = await spawn()
      const { call } = (await eras[era]?.(server)) ?? {}
      await server.send(call ?? {})
      await says(server, /began/)

      const started = performance.now()
      server.closeInput()
      const { code } = await server.ended

      expect(code).toBe(0)
      expect(performance.now() - started).toBeLessThan(atMost(2000))
    },
  )

  test.each(Object.keys(eras))(
    'a signal ends it with 0 within two seconds, even amid a call of %s',
    async (era) => {
      const server = await spawn()
      const { call } = (await eras[era]?.(server)) ?? {}
      await server.send(call ?? {})
      await says(server, /began/)

      const started = performance.now()
      const { code } = await server.stop()

      expect(code).toBe(0)
      expect(performance.now() - started).toBeLessThan(atMost(2000))
    },
  )

  test.each(Object.keys(eras))(
    'a cancelled call of %s is told to stop within 250 ms, and nothing more is said of it',
    async (era) => {
      const server = await spawn()
      const lines: string[] = []
      server.onLine((line) => lines.push(line))
      const { call } = (await eras[era]?.(server)) ?? {}
      await server.send(call ?? {})
      await says(server, /began/)

      const cancelled = Date.now()
      await server.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 7, reason: 'enough' },
      })
      const [, aborted] = await says(server, /aborted (\d+)/)
      // Whatever it had to say about 7 would come before this.
      await server.request(
        era === '2026' ? aModernMessage('tools/list', {}, 8) : { ...aListOf2025, id: 8 },
      )

      expect(Number(aborted) - cancelled).toBeLessThan(atMost(250))
      expect(lines.filter((line) => JSON.parse(line).id === 7)).toEqual([])
    },
  )
})

describe('over HTTP', () => {
  /** A tool that never ends by itself and says when it began and when it was told to stop. */
  function aStuckTool() {
    const began: (() => void)[] = []
    const stopped: number[] = []
    const tool = defineTool({
      name: 'stuck',
      description: 'Never ends by itself.',
      category: 'read',
      schema: z.object({ at: z.number() }),
      execute: ({ at }, { signal }) => {
        signal.addEventListener('abort', () => {
          stopped[at] = performance.now()
        })
        began[at]?.()
        return new Promise(() => {})
      },
    })
    const begins = (at: number) => new Promise<void>((resolve) => (began[at] = resolve))
    return { tool, begins, stopped }
  }
  const call = (at: number) => ({ name: 'stuck', arguments: { at } })

  test('a modern client that leaves stops its call within 250 ms, and no other', async () => {
    const { tool, begins, stopped } = aStuckTool()
    const { bridge, url } = await serveHere({ sources: [definitionSource([tool])] })
    const leaving = Array.from({ length: 50 }, (_, at) => at)

    const delays = await Promise.all(
      leaving.map(async (at) => {
        const client = new AbortController()
        const began = begins(at)
        const answer = post(url, aModernRequest('tools/call', call(at)), {}, client.signal)
        await began
        // Spread over half a second, as people leave.
        await new Promise((resolve) => setTimeout(resolve, at * 10))
        const left = performance.now()
        client.abort()
        await expect(answer).rejects.toThrow('abort')
        await eventually(() => expect(stopped[at]).toBeDefined())
        return (stopped[at] ?? Number.NaN) - left
      }),
    )

    expect(Math.max(...delays)).toBeLessThan(atMost(250))
    expect(bridge.audit).toHaveLength(50)
    for (const { outcome, code } of bridge.audit)
      expect({ outcome, code }).toEqual({ outcome: 'failed', code: 'cancelled' })
  })

  test('a tool that looks at its signal only later finds it aborted', async () => {
    const [began, gone, seen] = [new Latch(), new Latch(), new Latch<boolean>()]
    const late = defineTool({
      name: 'late',
      description: 'Looks late.',
      category: 'read',
      schema: z.object({}),
      execute: async (_, context) => {
        began.open()
        await gone.opened
        seen.open(context.signal.aborted)
      },
    })
    const { bridge, url } = await serveHere({ sources: [definitionSource([late])] })
    const client = new AbortController()
    const sending = aModernRequest('tools/call', { name: 'late', arguments: {} })

    const answer = post(url, sending, {}, client.signal).catch(() => {})
    await began.opened
    client.abort()
    await eventually(() => expect(bridge.audit).toHaveLength(1))
    gone.open()
    await answer

    expect(await seen.opened).toBe(true)
  })

  test('a client of 2025 that cancels stops its call within 250 ms', async () => {
    const { tool, begins, stopped } = aStuckTool()
    const { url } = await serveHere({ sources: [definitionSource([tool])] })
    const client = await aClientOf2025(url)
    const cancel = new AbortController()
    const began = begins(0)
    const answer = client.callTool(call(0), undefined, { signal: cancel.signal })
    const refused = expect(answer).rejects.toThrow()
    await began

    const cancelled = performance.now()
    cancel.abort('enough')
    await refused
    await eventually(() => expect(stopped[0]).toBeDefined())

    expect((stopped[0] ?? Number.NaN) - cancelled).toBeLessThan(atMost(250))
  })

  test('a client of 2025 that only loses its connection does not: it may come back for the answer', async () => {
    const { tool, begins, stopped } = aStuckTool()
    const { bridge, url } = await serveHere({ sources: [definitionSource([tool])] })
    const session = await openSession(url)
    const connection = new AbortController()
    const began = begins(0)
    const sending = aRequestOf2025('tools/call', call(0), session)
    const response = await post(url, sending, {}, connection.signal)
    await began

    connection.abort()
    await response.text().catch(() => {})
    await post(url, aRequestOf2025('tools/list', {}, session)).then(answerOf)

    expect(stopped).toEqual([])
    expect(bridge.audit).toEqual([])
  })
})

test('slow clients are let go within 15 seconds, and nobody else notices', async () => {
  const { lifetimes, honest } = await slowClients

  expect(Math.max(...lifetimes)).toBeLessThan(amount(40_000, 15_000))
  expect(honest.length).toBeGreaterThan(amount(10, 50))
  expect(honest.sort((a, b) => a - b)[Math.floor(honest.length * 0.9)]).toBeLessThan(atMost(250))
})

/** How long each slow client was borne, and how long honest ones waited meanwhile, in ms. */
async function bearSlowClients(): Promise<{ lifetimes: number[]; honest: number[] }> {
  const bridge = new Drawbridge({ sources: [definitionSource([ping])] })
  const { port } = await bridge.listen({ port: 0 })
  const honest: number[] = []
  const asking = setInterval(async () => {
    const started = performance.now()
    await post(`http://127.0.0.1:${port}/mcp`, aModernRequest('tools/list')).then(answerOf)
    honest.push(performance.now() - started)
  }, 100)
  const head = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  const lifetimes = await Promise.all([
    ...Array.from({ length: 40 }, () => trickle(port, `${head}X-Slow: `)),
    ...Array.from({ length: 20 }, () => trickle(port, `${head}Content-Length: 9999\r\n\r\n`)),
    ...Array.from({ length: 10 }, () => trickle(port, '')), // not even a first byte
  ])
  clearInterval(asking)
  await bridge.close(100)
  return { lifetimes, honest }
}

/** Sends this, then a byte every half second, until the server hangs up or far too long. */
async function trickle(port: number, first: string): Promise<number> {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  const started = performance.now()
  socket.write(first)
  const timer = first === '' ? undefined : setInterval(() => socket.write('a'), 500)
  const patience = setTimeout(() => socket.destroy(), 45_000)
  await once(socket, 'close')
  clearTimeout(patience)
  clearInterval(timer)
  return performance.now() - started
}
