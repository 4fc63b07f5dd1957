import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Drawbridge } from '../../src/index.ts'
import {
  aManifest,
  anInterface,
  type Fields,
  serveManifest,
  toolNames,
} from '../support/a-manifest.ts'
import { aProject, put } from '../support/a-project.ts'
import { aRawServer, reply } from '../support/a-raw-server.ts'
import { drawbridge } from '../support/run-cli.ts'

const aDocument = (parts: Fields = {}): string =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Orders', version: '1.0.0' },
    security: [{ key: [] }],
    paths: {
      '/orders/{number}': {
        put: {
          operationId: 'changeOrder',
          parameters: [
            { name: 'number', in: 'path', required: true, schema: { type: 'string' } },
            { name: 'dry', in: 'query', schema: { type: 'boolean' } },
          ],
          requestBody: {
            content: { 'application/json': { schema: { type: 'object' } } },
          },
          responses: { 200: { description: 'The order.' } },
        },
      },
    },
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'api_key' } },
    },
    ...parts,
  })

const aChange = { number: 'a/b', dry: true, body: { note: 'x' }, idempotency_key: 'k-1' }

/** A manifest whose only capability is called over HTTP, by the document `api.json`. */
const withDocument = (endpoint: string, parts: Fields = {}, secrets: readonly Fields[] = []) =>
  aManifest({
    requirements: { secrets },
    capabilities: [
      {
        id: 'change-order',
        protocols: ['MCP', 'HTTP'],
        side_effect_level: 'low',
        idempotency_key_required: true,
        input_schema: { type: 'object' },
      },
    ],
    interfaces: [
      anInterface({
        name: 'http',
        protocol: 'HTTP',
        endpoint,
        auth: 'api_key',
        schema_ref: './api.json',
        ...parts,
      }),
    ],
  })

const aSecret = (id: string) => ({ id, secret_ref: `vault://${id}` })
const resolveSecret = async (reference: string) => `value-of-${reference}`

const anAgent = () =>
  aRawServer((socket) =>
    reply(socket, 200, '{"changed":true}', { 'content-type': 'application/json' }),
  )

const messagesOf = ({ diagnostics }: Drawbridge, code: string) =>
  diagnostics.filter((one) => one.code === code).map(({ message }) => message)

describe('an HTTP interface with a schema_ref', () => {
  test('is called by method, path, parameters and body of its document', async () => {
    const { url, requests } = await anAgent()
    const manifest = withDocument(`${url}/v1`, {}, [aSecret('key')])
    const bridge = await serveManifest(manifest, {
      resolveSecret,
      files: { 'api.json': aDocument() },
    })

    const { structuredContent } = await bridge.call('change-order', aChange)

    expect(structuredContent).toEqual({ changed: true })
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({
      line: 'PUT /v1/orders/a%2Fb?dry=true&api_key=value-of-vault%3A%2F%2Fkey HTTP/1.1',
      headers: { 'idempotency-key': 'k-1' },
      body: '{"note":"x"}',
    })
  })

  test('sends no credentials if its auth is none', async () => {
    const { url, requests } = await anAgent()
    const manifest = withDocument(url, { auth: 'none' }, [aSecret('key')])
    const bridge = await serveManifest(manifest, {
      resolveSecret,
      files: { 'api.json': aDocument() },
    })

    await bridge.call('change-order', aChange)

    expect(requests[0]?.line).toBe('PUT /orders/a%2Fb?dry=true HTTP/1.1')
  })

  test('gets the secret with its own name, where its document needs one scheme', async () => {
    const { url, requests } = await anAgent()
    const bridge = await serveManifest(withDocument(url, {}, [aSecret('http')]), {
      resolveSecret,
      files: { 'api.json': aDocument() },
    })

    await bridge.call('change-order', aChange)

    expect(requests[0]?.line).toContain('api_key=value-of-vault%3A%2F%2Fhttp')
  })

  test('gets no secret that the operator bound to another host', async () => {
    const { url, requests } = await anAgent()
    const bridge = await serveManifest(withDocument(url, {}, [aSecret('key')]), {
      resolveSecret,
      secrets: { key: { id: 'key', host: 'orders.example' } },
      files: { 'api.json': aDocument() },
    })

    const result = await bridge.call('change-order', aChange)

    expect(result._meta).toMatchObject({
      'dev.drawbridge/failure': { code: 'upstream_credentials' },
    })
    expect(requests).toEqual([])
    expect(messagesOf(bridge, 'secret_unbound')).toEqual([
      expect.stringMatching(/bound to the host orders\.example, and the server is at 127/),
    ])
  })

  test.each<[string, Readonly<Record<string, string>>, RegExp, Fields?]>([
    ['is missing', {}, /schema_ref cannot be read: api\.json does not exist/],
    [
      'has no valid path',
      {},
      /schema_ref cannot be read: \.\/%zz\.json is not a valid path/,
      { schema_ref: './%zz.json' },
    ],
    [
      'is not valid',
      { 'api.json': '{ "openapi": "2.5.0" }' },
      /schema_ref cannot be used: .*api\.json:1:14 OpenAPI 3\.0/,
    ],
    [
      'lacks the operation',
      { 'api.json': aDocument({ paths: {} }) },
      /has no operation for change-order in its schema_ref/,
    ],
  ])(
    'serves nothing that would be sent elsewhere, if the document %s',
    async (_, files, why, parts = {}) => {
      const { url } = await anAgent()
      const bridge = await serveManifest(withDocument(url, parts), { resolveSecret, files })

      expect(await toolNames(bridge)).toEqual([])
      expect(messagesOf(bridge, 'route_missing')).toEqual([expect.stringMatching(why)])
      expect(messagesOf(bridge, 'route_missing').join()).not.toContain('..')
    },
  )

  test('reads no document outside of the folder of the manifest', async () => {
    const outside = await aProject({ 'api.json': aDocument() })
    const reference = path.join(outside, 'api.json')
    const bridge = await serveManifest(
      withDocument('http://127.0.0.1:9', { schema_ref: reference }),
      { resolveSecret },
    )

    expect(await toolNames(bridge)).toEqual([])
    expect(messagesOf(bridge, 'route_missing')).toEqual([expect.stringMatching(/outside/)])
  })

  test('that is another kind of file is only a description', async () => {
    const { url, requests } = await anAgent()
    const bridge = await serveManifest(withDocument(url, { auth: 'none' }), {
      files: { 'api.json': '{ "type": "object" }' },
    })

    await bridge.call('change-order', { idempotency_key: 'k' })

    expect(requests[0]?.line).toBe('POST /change-order HTTP/1.1')
  })

  test.each<[string, Fields, RegExp]>([
    [
      'an argument that its operation does not have',
      { input_schema: { type: 'object', properties: { dry_run: { type: 'boolean' } } } },
      /PUT \/orders\/\{number\} has no argument "dry_run"/,
    ],
    [
      'no side effects, although its operation has some',
      { side_effect_level: 'none', idempotency_key_required: false },
      /PUT \/orders\/\{number\} has side effects/,
    ],
  ])('is not used for a capability that declares %s', async (_, parts, why) => {
    const { url, requests } = await anAgent()
    const manifest = withDocument(url, { auth: 'none' })
    Object.assign(manifest.capabilities[0] as Fields, parts)
    const bridge = await serveManifest(manifest, { files: { 'api.json': aDocument() } })

    expect(await toolNames(bridge)).toEqual([])
    expect(messagesOf(bridge, 'route_missing')).toEqual([expect.stringMatching(why)])
    expect(requests).toEqual([])
  })

  test('is sent no argument that it does not have, and none without what it requires', async () => {
    const { url, requests } = await anAgent()
    const bridge = await serveManifest(withDocument(url, { auth: 'none' }), {
      files: { 'api.json': aDocument() },
    })

    const unknown = await bridge.call('change-order', { ...aChange, dry_run: true })
    const missing = await bridge.call('change-order', { idempotency_key: 'k-2' })

    expect(JSON.stringify(unknown.content)).toMatch(/no argument .*dry_run/)
    expect(JSON.stringify(missing.content)).toMatch(/requires the argument .*number/)
    expect(requests).toEqual([])
  })

  test('that answers without content has an empty result', async () => {
    const { url } = await aRawServer((socket) => reply(socket, 204))
    const manifest = withDocument(url, { auth: 'none' })
    Object.assign(manifest.capabilities[0] as Fields, { output_schema: { type: 'object' } })
    const bridge = await serveManifest(manifest, { files: { 'api.json': aDocument() } })

    const result = await bridge.call('change-order', aChange)

    expect(result).toMatchObject({
      structuredContent: {},
      content: [{ type: 'text', text: 'HTTP 204, without content.' }],
    })
  })

  test('that is a URL is only a description: calls are POST requests', async () => {
    const { url, requests } = await anAgent()
    const bridge = await serveManifest(
      withDocument(url, { auth: 'none', schema_ref: 'https://orders.example/schema' }),
    )

    await bridge.call('change-order', { idempotency_key: 'k' })

    expect(requests[0]?.line).toBe('POST /change-order HTTP/1.1')
  })
})

describe('a secret is not sent', () => {
  const twoKeys = aDocument({
    security: [{ key: [], other: [] }],
    components: {
      securitySchemes: {
        key: { type: 'apiKey', in: 'query', name: 'api_key' },
        other: { type: 'apiKey', in: 'header', name: 'X-Other' },
      },
    },
  })

  test.each<[string, Fields, object, string]>([
    ['as two credentials, if the interface has one', {}, {}, twoKeys],
    [
      'by the name of a scheme, if the operator bound it to another host',
      {},
      { secrets: { elsewhere: { id: 'key', host: 'orders.example' } } },
      aDocument(),
    ],
  ])('%s', async (_, parts, options, document) => {
    const { url, requests } = await anAgent()
    const name = document === twoKeys ? 'http' : 'key'
    const bridge = await serveManifest(withDocument(url, parts, [aSecret(name)]), {
      resolveSecret,
      files: { 'api.json': document },
      ...options,
    })

    const result = await bridge.call('change-order', aChange)

    expect(result.isError).toBe(true)
    expect(requests).toEqual([])
  })

  test('by the name of a scheme that documents of two hosts share', async () => {
    const { url, requests } = await anAgent()
    const manifest = withDocument(url, {}, [aSecret('key')])
    manifest.interfaces.push(
      anInterface({
        name: 'second',
        protocol: 'HTTP',
        endpoint: 'https://orders.example',
        auth: 'api_key',
        schema_ref: './api.json',
      }),
    )
    const bridge = await serveManifest(manifest, {
      resolveSecret,
      files: { 'api.json': aDocument() },
    })

    const result = await bridge.call('change-order', aChange)

    expect(result.isError).toBe(true)
    expect(requests).toEqual([])
  })
})

test.each(['http', 'key'])(
  'a secret named %s that is sent without TLS is a warning',
  async (id) => {
    const bridge = await serveManifest(withDocument('http://orders.example', {}, [aSecret(id)]), {
      resolveSecret,
      files: { 'api.json': aDocument() },
    })

    expect(messagesOf(bridge, 'secret_in_plain_text')).toEqual([
      'The interface http gets its secret without TLS, and anyone on the way can read it. Use an https endpoint.',
    ])
  },
)

test('the digest of a call covers where its arguments are sent', async () => {
  const inQuery = aDocument()
  const inHeader = inQuery.replace('"name":"dry","in":"query"', '"name":"dry","in":"header"')
  const digests = await Promise.all(
    [inQuery, inHeader].map(async (document) => {
      const bridge = await serveManifest(withDocument('http://127.0.0.1:9', { auth: 'none' }), {
        files: { 'api.json': document },
      })
      return bridge.mounts.get('/mcp')?.capabilities.get('change-order')?.capability.destination
        ?.request
    }),
  )

  expect(digests[0]).toEqual(expect.any(String))
  expect(digests[0]).not.toBe(digests[1])
})

test('a draft of "import openapi" can be called as it is', async () => {
  const { url, requests } = await anAgent()
  const cwd = await aProject({})
  await put(path.join(cwd, 'docs/api.json'), aDocument({ servers: [{ url: `${url}/v2` }] }))
  const env = { ORDERS_KEY: 'a-key-of-the-api' }

  const drafted = await drawbridge(['import', 'openapi', 'docs/api.json', '--out', 'agent.yaml'], {
    cwd,
  })
  expect(drafted).toMatchObject({ code: 0 })
  expect((await drawbridge(['check', 'agent.yaml', '--json'], { cwd, env })).stdout).not.toContain(
    'interface_missing',
  )
  const called = await drawbridge(
    ['call', 'agent.yaml', 'change-order', JSON.stringify(aChange), '--json'],
    { cwd, env },
  )

  expect(called).toMatchObject({ code: 0 })
  expect(requests.map(({ line }) => line)).toEqual([
    'PUT /v2/orders/a%2Fb?dry=true&api_key=a-key-of-the-api HTTP/1.1',
  ])
})
