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

/** A request in order that is exactly this long. */
const padded = (size: number): string => JSON.stringify(message).padEnd(size, ' ')

describe('a body', () => {
  test('of exactly the limit is served', async () => {
    const response = await once((connection) =>
      connection.send(toBytes({ headers, body: padded(limit) })),
    )

    expect(response.status).toBe(200)
  })

  // A server that closes without reading the rest makes the client's system throw the answer away.
  test.each([
    ['one byte over the limit', limit + 1],
    ['twice the limit', limit * 2],
    ['ten times the limit', limit * 10],
  ])('of %s, its length said, is refused with an answer the client can read', async (_, size) => {
    const bytes = toBytes({ headers, body: padded(size) })

    for (let time = 0; time < amount(2, 10); time++)
      expectTooLarge(await once((connection) => connection.send(bytes)))
  })

  test.each([
    ['one byte over the limit', limit + 1],
    ['twice the limit', limit * 2],
    ['ten times the limit', limit * 10],
  ])('of %s, in chunks, is refused with an answer the client can read', async (_, size) => {
    const bytes = toChunkedBytes(padded(size))

    for (let time = 0; time < amount(2, 10); time++)
      expectTooLarge(await once((connection) => connection.send(bytes)))
  })

  test('that is announced as too large is refused before any of it is sent', async () => {
    const head = toBytes({ headers: { ...headers, 'content-length': String(5 * 2 ** 30) } })

    expectTooLarge(await once((connection) => connection.send(head)))
  })

  test('in chunks that never end is refused when the limit is reached', async () => {
    const chunk = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`)
    const fields = { ...headers, 'transfer-encoding': 'chunked' }

    const response = await once(async (connection) => {
      const answered = connection.send(toHead(fields))
      for (let sent = 0; sent < limit * 2; sent += 0x10000) connection.write(chunk)
      return answered
    })

    expectTooLarge(response)
  })

  test('that is compressed is refused, however little of it there is', async () => {
    const bomb = gzipSync(padded(64 * 1024 * 1024))
    const fields = { ...headers, 'content-encoding': 'gzip' }

    const response = await once((connection) =>
      connection.send(toBytes({ headers: fields, body: bomb })),
    )

    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(JSON.parse(response.body)).toHaveProperty('error.code')
  })

  test('with a name as long as it may be is refused in few words, and not kept', async () => {
    const own = await spawnServer('test/fixtures/fuzz')
    onTestFinished(async () => void (await own.stop()))
    const call = aModernRequest('tools/call', {
      name: 'add',
      arguments: { a: 1, ['k'.repeat(limit - 1024)]: 1 },
    })
    const bytes = toBytes({ headers: toModernHeaders(call), body: JSON.stringify(call) })
    const connection = await RawConnection.open(own.port)
    const lengths: number[] = []

    for (let time = 0; time < amount(15, 150); time++) {
      const { status, body } = await connection.send(bytes)
      expect(status).toBe(200)
      lengths.push(body.length)
    }

    connection.close()
    const resident = own.residentMegabytes
    expect(Math.max(...lengths)).toBeLessThan(64 * 1024)
    expect(resident).toBeLessThan(512)
  })

  test(`of 1 MB is served ${bodiesAtOnce} times at once within 512 MB`, async () => {
    const own = await spawnServer('test/fixtures/fuzz')
    onTestFinished(async () => void (await own.stop()))
    const bytes = toBytes({ headers, body: padded(1024 * 1024) })

    const connections = await Promise.all(
      Array.from({ length: bodiesAtOnce }, () => RawConnection.open(own.port)),
    )
    const responses = await Promise.allSettled(
      connections.map((connection) => connection.send(bytes)),
    )

    for (const connection of connections) connection.close()
    const peak = peakMegabytes(own)
    console.info(`peak memory ${peak.toFixed(0)} MB`)
    const statuses = responses.map((one) => (one.status === 'fulfilled' ? one.value.status : 0))
    // Served, or told to come back: never left without an answer.
    expect(statuses.filter((status) => ![200, 408, 413, 429, 503].includes(status))).toEqual([])
    expect(peak).toBeLessThanOrEqual(512)
  })
})

describe.each(['modern', 'legacy'] as const)('in a %s request', (era) => {
  const places = {
    arguments: (value: string) => `"name":"echo","arguments":{"value":${value}},"_meta":META`,
    _meta: (value: string) => `"name":"echo","arguments":{},"_meta":{"deep":${value},REST}`,
    inputResponses: (value: string) =>
      `"name":"confirm","arguments":{},"inputResponses":{"sure":${value}},"_meta":META`,
  }
  const meta = JSON.stringify(message.params?._meta)
  const toBody = (place: keyof typeof places, value: string) => {
    const params = places[place](value).replace('META', meta).replace('REST', meta.slice(1, -1))
    return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`
  }
  let fields: Record<string, string>
  beforeAll(async () => {
    fields =
      era === 'legacy' ? toLegacyHeaders(await openSession(server.url)) : toModernHeaders(message)
  })
  const send = (place: keyof typeof places, value: string) => {
    const named = place === 'inputResponses' ? 'confirm' : 'echo'
    const whole = era === 'modern' ? { ...fields, 'mcp-name': named } : fields
    const body = toBody(place, value)
    // A session of 2025 does not expect the envelope of 2026.
    const spoken = era === 'modern' ? body : body.replace(meta.slice(1, -1), '"x":1')
    return once((connection) => connection.send(toBytes({ headers: whole, body: spoken })))
  }

  describe.each(Object.keys(places) as (keyof typeof places)[])('%s', (place) => {
    test.each([100, 1000, 5000, 200_000])(
      'nested %i deep are refused at once, as lists and as objects',
      async (depth) => {
        const lists = `${'['.repeat(depth)}${']'.repeat(depth)}`
        const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
        const unclosed = '['.repeat(depth)
        for (const value of [lists, objects, unclosed]) {
          const times: number[] = []
          for (let time = 0; time < amount(1, 5); time++) {
            const began = performance.now()
            const response = await send(place, value)
            times.push(performance.now() - began)
            expect(response.status).toBe(400)
            expect(JSON.parse(response.body)).toMatchObject({ error: { code: -32600 } })
          }
          // The quickest: a busy machine must not decide.
          expect(Math.min(...times)).toBeLessThan(atMost(50))
        }
      },
    )

    test('may hold as many brackets as they like inside a string', async () => {
      const response = await send(place, JSON.stringify({ text: '[{"'.repeat(10_000) }))

      expect(response.status).toBe(200)
      expect(response.body).not.toContain('-32600')
    })
  })
})

test('after all of it the server answers as before, and nothing overflowed', async () => {
  const { answer } = await postModern(server.url, 'tools/call', addition)

  expect(answer.result).toMatchObject({ structuredContent: { sum: 3 } })
  expect(server.said).not.toContain('RangeError')
})

async function once(
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

/** Only the head, without a length. */
const toHead = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.from(
    toBytes({ headers: fields })
      .toString('latin1')
      .replace(/content-length: 0\r\n/, ''),
  )

const peakMegabytes = ({ pid }: HttpServer): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
