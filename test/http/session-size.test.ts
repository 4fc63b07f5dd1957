import { expect, onTestFinished, test } from 'vitest'
import { amount } from '../support/amount.ts'
import { anInitialize, toLegacyHeaders } from '../support/legacy-request.ts'
import { RawConnection, toBytes } from '../support/raw-http.ts'
import { repository } from '../support/spawn-server.ts'
import { startProcess } from '../support/start-process.ts'
import { asBearer, toTokenEntry } from '../support/tokens.ts'

/** Below the limit of sessions per caller. */
const sessionsPerCaller = amount(150, 250)
const callers = amount(1, 4)
const callsPerSession = 40

const subjects = Array.from({ length: callers }, (_, index) => `caller-${index}`)

/** In a process of its own, which prints its heap for each line of input: clients need memory too. */
const serve = `
  import { createInterface } from 'node:readline'
  import { createDrawbridge, defineTool, definitionSource, z } from 'drawbridge-mcp'
  const add = defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    category: 'analysis',
    schema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => ({ sum: a + b }),
  })
  const tokens = ${JSON.stringify(subjects.map((subject) => toTokenEntry({ subject, scopes: [] })))}
  const bridge = createDrawbridge({ sources: [definitionSource([add])], http: { tokens } })
  const { port } = await bridge.listen({ port: 0 })
  console.log('port', port)
  for await (const line of createInterface({ input: process.stdin })) {
    for (let round = 0; round < 3; round++) {
      gc()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    console.log(line, process.memoryUsage().heapUsed)
  }
  await bridge.close()
`

test(`a session costs at most 10 kilobytes after ${callsPerSession} calls`, async () => {
  const script = startProcess(['--expose-gc', '--input-type=module', '-e', serve], {
    cwd: repository,
  })
  const [, port] = await script.waitForOutput(/port (\d+)\n/)
  const connection = await RawConnection.open(Number(port))
  onTestFinished(() => {
    connection.close()
    script.process.kill('SIGKILL')
  })
  const measureHeap = async (name: string) => {
    script.process.stdin.write(`${name}\n`)
    const [, bytes] = await script.waitForOutput(new RegExp(`^${name} (\\d+)\\n`, 'm'))
    return Number(bytes)
  }
  const send = async (subject: string, session: string | undefined, message: object) => {
    const headers = { ...toLegacyHeaders(session), ...asBearer(subject) }
    const response = await connection.send(toBytes({ headers, body: JSON.stringify(message) }))
    expect(response.status).toBe(200)
    return response.headers['mcp-session-id']
  }
  const openSession = async (subject: string) => {
    const session = await send(subject, undefined, anInitialize())
    const calls = Array.from({ length: callsPerSession }, (_, id) => {
      const params = { name: 'add', arguments: { a: id, b: 1 } }
      return send(subject, session, { jsonrpc: '2.0', id, method: 'tools/call', params })
    })
    await Promise.all(calls)
    return session
  }
  const endSession = (subject: string, session = '') =>
    connection.send(
      toBytes({ method: 'DELETE', headers: { ...toLegacyHeaders(session), ...asBearer(subject) } }),
    )
  // Compiles code and fills caches.
  for (let count = 0; count < 50; count++)
    await endSession('caller-0', await openSession('caller-0'))

  const before = await measureHeap('before')
  for (const subject of subjects)
    for (let count = 0; count < sessionsPerCaller; count++) await openSession(subject)
  const after = await measureHeap('after')

  const kilobytes = (after - before) / (callers * sessionsPerCaller) / 1024
  console.info(`${kilobytes.toFixed(1)} kilobytes per session`)
  expect(kilobytes).toBeGreaterThan(0)
  expect(kilobytes).toBeLessThanOrEqual(10)
  script.process.stdin.end()
  expect(await script.exited).toBe(0)
})
