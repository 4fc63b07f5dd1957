import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openApiSource } from '../../src/index.ts'
import { aDocument, anOperation } from '../support/api/an-api.ts'
import type { Fields } from '../support/api/api-document.ts'
import { serveHere } from '../support/serve-here.ts'

interface ProbedRequest {
  readonly path: string
  readonly url: string
  readonly cookie: string | undefined
}

async function probe(
  paths: Fields,
  status: number | ((request: ProbedRequest) => number),
  { key = undefined as string | undefined, scheme = {} as Fields } = {},
) {
  const received: string[] = []
  const server = createServer(({ url = '', headers: { cookie } }, response) => {
    const [path = ''] = url.split('?')
    received.push(path)
    const code = typeof status === 'number' ? status : status({ path, url, cookie })
    response.writeHead(code, { allow: 'GET', location: '/elsewhere' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const declared = { type: 'apiKey', in: 'header', name: 'X-Key', ...scheme }
  const schemes = { key: declared, other: { ...declared, name: 'other' } }
  const file = await aDocument(paths, { components: { securitySchemes: schemes } })
  const value = async () => key
  const secrets = { key: { host, value }, other: { host, value } }
  const { bridge } = await serveHere({
    sources: [openApiSource(file, { server: `http://${host}`, secrets })],
  })
  const findings = await bridge.probeUpstreams({ timeoutMs: 5000 })
  return { received, messages: findings.map(({ code, message }) => `${code}: ${message}`) }
}

const many = (count: number): Fields =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`/p${index}`, { get: anOperation(`op${index}`) }]),
  )

test('a secret without a value is named, and the other operations are asked for', async () => {
  const { received, messages } = await probe(
    { '/keyed': { get: anOperation('keyed', { security: [{ key: [] }] }) }, ...many(1) },
    204,
  )

  expect(received).toEqual(['/p0'])
  expect(messages).toEqual([
    expect.stringMatching(/was not asked for 1 of 2 operations: the secret of key has no value\.$/),
  ])
})

test('a busy server is asked no more, and that is the reason', async () => {
  const { received, messages } = await probe(many(3), 429)

  expect(received).toEqual(['/p0'])
  expect(messages.join()).toContain('2 of 3 operations: the server answers that it is busy')
  expect(messages.join()).not.toContain('variables')
})

test('of many paths the first hundred are asked for, and that is the reason', async () => {
  const { received, messages } = await probe(many(101), 204)

  expect(received).toHaveLength(100)
  expect(messages).toEqual([
    expect.stringMatching(/1 of 101 operations: only 100 paths are asked for\.$/),
  ])
})

const keyed = (id: string, scheme: string): Fields => ({
  get: anOperation(id, { security: [{ [scheme]: [] }] }),
})

test.each(['query', 'cookie'])('a key in %s is sent', async (place) => {
  const { messages } = await probe(
    { '/a': keyed('a', 'key') },
    ({ url, cookie }) => (url.endsWith('?k=key-1') || cookie === 'k=key-1' ? 204 : 401),
    { key: 'key-1', scheme: { in: place, name: 'k' } },
  )

  expect(messages).toEqual([])
})

test.each([500, 302, 403])('a path that answers %i decides only for itself', async (status) => {
  const { received, messages } = await probe(many(3), ({ path }) => (path === '/p0' ? status : 204))

  expect(received).toEqual(['/p0', '/p1', '/p2'])
  expect(messages).toEqual([
    expect.stringMatching(
      new RegExp(
        `^upstream_unchecked: .* 1 of 3 operations: OPTIONS is answered with HTTP ${status}`,
      ),
    ),
  ])
})

test.each<[number, RegExp]>([
  [502, /^upstream_unreachable: /],
  [302, /^upstream_invalid: /],
])('a server that answers every path with %i does not work', async (status, message) => {
  const { messages } = await probe(many(3), status)

  expect(messages).toEqual([expect.stringMatching(message)])
})

test('credentials that a server rejects are named, and the others are used', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 6 }, (_, index) => [`/k${index}`, keyed(`k${index}`, 'key')]),
  )
  const { received, messages } = await probe(
    { ...paths, '/other': keyed('other', 'other') },
    ({ path }) => (path === '/other' ? 204 : 401),
    { key: 'key-1' },
  )

  expect(received).toEqual(['/k0', '/k1', '/k2', '/other'])
  expect(messages).toEqual([
    expect.stringMatching(
      /^upstream_unauthorized: .* rejects the credentials of 6 of 7 operations: OPTIONS .* HTTP 401\.$/,
    ),
  ])
})
