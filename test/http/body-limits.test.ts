import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { amount, atMost } from '../support/amount.ts'
import { openSession, toLegacyHeaders } from '../support/legacy-request.ts'
import { aModernRequest, postModern, toModernHeaders } from '../support/modern-request.ts'
import { RawConnection, type RawResponse, toBytes } from '../support/raw-http.ts'
import { type HttpServer, spawnServer } from '../support/spawn-server.ts'

const limit = 4 * 1024 * 1024
const bodiesAtOnce = amount(200, 1000)

let server: HttpServer
beforeAll(async () => {
  server = await spawnServer('test/fixtures/fuzz')
})
afterAll(async () => {
  await server.stop()
})

const addition = { name: 'add', arguments: { a: 1, b: 2 } }
const message = aModernRequest('tools/call', addition)
const headers = toModernHeaders(message)

/** A valid request padded to exactly this size. */
const padRequest = (size: number): string => JSON.stringify(message).padEnd(size, ' ')

describe('a request body', () => {
  test('of exactly the limit is accepted', async () => {
    const response = await withConnection((connection) =>
      connection.send(toBytes({ headers, body: padRequest(limit) })),
    )

    expect(response.status).toBe(200)
  })

  // A server that closes without draining the body triggers a TCP reset, which discards its answer.
  test.each([
    ['one byte over the limit', limit + 1],
    ['twice the limit', limit * 2],
    ['ten times the limit', limit * 10],
  ])('of %s with Content-Length is refused with a readable answer', async (_, size) => {
    const bytes = toBytes({ headers, body: padRequest(size) })

    for (let time = 0; time < amount(2, 10); time++)
      expectTooLarge(await withConnection((connection) => connection.send(bytes)))
  })

  test.each([
    ['one byte over the limit', limit + 1],
    ['twice the limit', limit * 2],
    ['ten times the limit', limit * 10],
  ])('of %s in chunks is refused with a readable answer', async (_, size) => {
    const bytes = toChunkedBytes(padRequest(size))

    for (let time = 0; time < amount(2, 10); time++)
      expectTooLarge(await withConnection((connection) => connection.send(bytes)))
  })

  test('with an oversized Content-Length is refused before it is sent', async () => {
    const head = toBytes({ headers: { ...headers, 'content-length': String(5 * 2 ** 30) } })

    expectTooLarge(await withConnection((connection) => connection.send(head)))
  })

  test('of endless chunks is refused at the limit', async () => {
    const chunk = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`)
    const fields = { ...headers, 'transfer-encoding': 'chunked' }

    const response = await withConnection(async (connection) => {
      const response = connection.send(toHead(fields))
      for (let sentBytes = 0; sentBytes < limit * 2; sentBytes += 0x10000) connection.write(chunk)
      return response
    })

    expectTooLarge(response)
  })

  test('with Content-Encoding is refused (decompression bomb)', async () => {
    const bomb = gzipSync(padRequest(64 * 1024 * 1024))
    const fields = { ...headers, 'content-encoding': 'gzip' }

    const response = await withConnection((connection) =>
      connection.send(toBytes({ headers: fields, body: bomb })),
    )

    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(JSON.parse(response.body)).toHaveProperty('error.code')
  })

  test('with a very long property name gets a short answer and leaks no memory', async () => {
    const ownServer = await spawnServer('test/fixtures/fuzz')
    onTestFinished(async () => void (await ownServer.stop()))
    const call = aModernRequest('tools/call', {
      name: 'add',
      arguments: { a: 1, ['k'.repeat(limit - 1024)]: 1 },
    })
    const bytes = toBytes({ headers: toModernHeaders(call), body: JSON.stringify(call) })
    const connection = await RawConnection.open(ownServer.port)
    const lengths: number[] = []

    for (let time = 0; time < amount(15, 150); time++) {
      const { status, body } = await connection.send(bytes)
      expect(status).toBe(200)
      lengths.push(body.length)
    }

    connection.close()
    const residentMegabytes = ownServer.residentMegabytes
    expect(Math.max(...lengths)).toBeLessThan(64 * 1024)
    expect(residentMegabytes).toBeLessThan(512)
  })

  test(`of 1 MB is accepted ${bodiesAtOnce} times concurrently within 512 MB`, async () => {
    const ownServer = await spawnServer('test/fixtures/fuzz')
    onTestFinished(async () => void (await ownServer.stop()))
    const bytes = toBytes({ headers, body: padRequest(1024 * 1024) })

    const connections = await Promise.all(
      Array.from({ length: bodiesAtOnce }, () => RawConnection.open(ownServer.port)),
    )
    const responses = await Promise.allSettled(
      connections.map((connection) => connection.send(bytes)),
    )

    for (const connection of connections) connection.close()
    const peak = peakMegabytes(ownServer)
    console.info(`peak memory ${peak.toFixed(0)} MB`)
    const statuses = responses.map((result) =>
      result.status === 'fulfilled' ? result.value.status : 0,
    )
    // Each request is served or rejected with a retryable status, never dropped.
    expect(statuses.filter((status) => ![200, 408, 413, 429, 503].includes(status))).toEqual([])
    expect(peak).toBeLessThanOrEqual(512)
  })
})

test('clients that disconnect while their large bodies wait for memory leave none reserved', async () => {
  const open = async () => {
    const connection = await RawConnection.open(server.port)
    // The head alone: the server reserves memory for a body that never comes.
    connection.write(toBytes({ headers: { ...headers, 'content-length': String(limit) } }))
    return connection
  }
  // Bodies of 4 MB fill the 64 MB for all bodies; as many again have to wait.
  const holders = await Promise.all(Array.from({ length: 16 }, open))
  const waitingConnections = await Promise.all(Array.from({ length: 16 }, open))
  // The server reads its sockets in order: an answer means that it has seen all heads above.
  await withConnection((connection) =>
    connection.send(toBytes({ headers, body: padRequest(1024) })),
  )

  for (const connection of [...waitingConnections, ...holders]) connection.close()
  const response = await withConnection((connection) =>
    connection.send(toBytes({ headers, body: padRequest(limit) })),
  )

  expect(response.status).toBe(200)
})

describe.each(['modern', 'legacy'] as const)('in a %s request', (era) => {
  const bodies = {
    arguments: (value: string) => `"name":"echo","arguments":{"value":${value}},"_meta":META`,
    _meta: (value: string) => `"name":"echo","arguments":{},"_meta":{"deep":${value},REST}`,
    inputResponses: (value: string) =>
      `"name":"confirm","arguments":{},"inputResponses":{"sure":${value}},"_meta":META`,
  }
  const meta = JSON.stringify(message.params?._meta)
  const toBody = (bodyPart: keyof typeof bodies, value: string) => {
    const params = bodies[bodyPart](value).replace('META', meta).replace('REST', meta.slice(1, -1))
    return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`
  }
  let eraHeaders: Record<string, string>
  beforeAll(async () => {
    eraHeaders =
      era === 'legacy' ? toLegacyHeaders(await openSession(server.url)) : toModernHeaders(message)
  })
  const send = (bodyPart: keyof typeof bodies, value: string) => {
    const toolName = bodyPart === 'inputResponses' ? 'confirm' : 'echo'
    const allHeaders = era === 'modern' ? { ...eraHeaders, 'mcp-name': toolName } : eraHeaders
    const body = toBody(bodyPart, value)
    // A 2025 session does not expect the 2026 envelope.
    const sentBody = era === 'modern' ? body : body.replace(meta.slice(1, -1), '"x":1')
    return withConnection((connection) =>
      connection.send(toBytes({ headers: allHeaders, body: sentBody })),
    )
  }

  describe.each(Object.keys(bodies) as (keyof typeof bodies)[])('%s', (bodyPart) => {
    test.each([100, 1000, 5000, 200_000])(
      'nested %i deep are refused at once, as arrays and as objects',
      async (depth) => {
        const lists = `${'['.repeat(depth)}${']'.repeat(depth)}`
        const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
        const unclosed = '['.repeat(depth)
        for (const value of [lists, objects, unclosed]) {
          const times: number[] = []
          for (let time = 0; time < amount(1, 5); time++) {
            const startedAt = performance.now()
            const response = await send(bodyPart, value)
            times.push(performance.now() - startedAt)
            expect(response.status).toBe(400)
            expect(JSON.parse(response.body)).toMatchObject({ error: { code: -32600 } })
          }
          // The minimum, so that load on the machine does not matter.
          expect(Math.min(...times)).toBeLessThan(atMost(50))
        }
      },
    )

    test('may contain brackets inside strings', async () => {
      const response = await send(bodyPart, JSON.stringify({ text: '[{"'.repeat(10_000) }))

      expect(response.status).toBe(200)
      expect(response.body).not.toContain('-32600')
    })
  })
})

test('the server still answers after all of this, without a stack overflow', async () => {
  const { answer } = await postModern(server.url, 'tools/call', addition)

  expect(answer.result).toMatchObject({ structuredContent: { sum: 3 } })
  expect(server.stderr).not.toContain('RangeError')
})

async function withConnection(
  exchange: (connection: RawConnection) => Promise<RawResponse>,
): Promise<RawResponse> {
  const connection = await RawConnection.open(server.port)
  try {
    return await exchange(connection)
  } finally {
    connection.close()
  }
}

function expectTooLarge({ status, body }: RawResponse): void {
  expect(status).toBe(413)
  expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 } })
}

function toChunkedBytes(body: string): Buffer {
  const pieces = body.match(/.{1,65536}/gs) ?? []
  const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
  const head = toHead({ ...headers, 'transfer-encoding': 'chunked' })
  return Buffer.concat([head, Buffer.from(`${chunks.join('')}0\r\n\r\n`)])
}

/** A request head without Content-Length. */
const toHead = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.from(
    toBytes({ headers: fields })
      .toString('latin1')
      .replace(/content-length: 0\r\n/, ''),
  )

const peakMegabytes = ({ pid }: HttpServer): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
