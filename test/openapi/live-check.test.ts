import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openApiSource } from '../../src/index.ts'
import { aDocument, anOperation } from '../support/api/an-api.ts'
import type { Fields } from '../support/api/api-document.ts'
import { serveHere } from '../support/serve-here.ts'

async function probe(paths: Fields, status: number) {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(request.url ?? '')
    response.writeHead(status, { allow: 'GET' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const key = { type: 'apiKey', in: 'header', name: 'X-Key' }
  const file = await aDocument(paths, { components: { securitySchemes: { key } } })
  const secrets = { key: { host, value: async () => undefined } }
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
