import { expect, onTestFinished, test } from 'vitest'
import { anInitialize, openSession, toLegacyHeaders } from '../support/legacy-request.ts'
import { RawConnection, toBytes } from '../support/raw-http.ts'
import { spawnServer } from '../support/spawn-server.ts'

test.each([
  ['it does not accept text/event-stream', { accept: 'application/json' }, 406],
  ['its body is a batch', {}, 400],
])('an initialize refused because %s leaks no memory', async (_, extraHeaders, status) => {
  const { connection, server } = await connect()
  const initialize = anInitialize()
  const body = JSON.stringify(status === 400 ? [initialize, initialize] : initialize)
  const bytes = toBytes({ headers: { ...toLegacyHeaders(), ...extraHeaders }, body })
  const refuse = async (times: number) => {
    for (let time = 0; time < times; time += 10) {
      const responses = await Promise.all(Array.from({ length: 10 }, () => connection.send(bytes)))
      for (const response of responses) expect(response.status).toBe(status)
    }
  }

  await refuse(1000)
  const residentBefore = server.residentMegabytes
  await refuse(10_000)

  expect(server.residentMegabytes - residentBefore).toBeLessThanOrEqual(40)
})

test('the event log of a session is bounded in bytes', async () => {
  const { connection, server } = await connect()
  const headers = toLegacyHeaders(await openSession(server.url))
  const text = 'x'.repeat(1024 * 1024)
  const residentBefore = server.residentMegabytes

  for (let id = 0; id < 150; id++) {
    const params = { name: 'echo', arguments: { text } }
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    expect((await connection.send(toBytes({ headers, body }))).status).toBe(200)
  }

  expect(server.residentMegabytes - residentBefore).toBeLessThanOrEqual(128)
})

async function connect() {
  // A small heap, so that uncollected garbage is not mistaken for a leak.
  const server = await spawnServer('test/fixtures/fuzz', { flags: ['--max-old-space-size=128'] })
  const connection = await RawConnection.open(server.port)
  onTestFinished(async () => {
    connection.close()
    await server.stop()
  })
  return { server, connection }
}
