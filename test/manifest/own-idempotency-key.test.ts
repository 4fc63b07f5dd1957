import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createDrawbridge, defineTool, definitionSource } from '../../src/index.ts'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  answering,
  aWritingCapability,
  type Fields,
  serveManifest,
  toYaml,
} from '../support/a-manifest.ts'
import { Site } from '../support/a-site.ts'
import { clientKinds, type OfficialClient } from '../support/client-kinds.ts'

const ownKey = {
  type: 'object',
  additionalProperties: false,
  properties: {
    order: { type: 'string' },
    idempotency_key: { type: 'string', minLength: 3, description: "The ledger's own key." },
  },
  required: ['order', 'idempotency_key'],
}

const aCharge = (parts: Fields = {}): Fields =>
  aWritingCapability({ id: 'charge', permissions: [], input_schema: ownKey, ...parts })

/** Records the arguments and the key of every call that reaches an agent. */
interface Received {
  readonly input: unknown
  readonly key: unknown
}

describe('a capability that declares idempotency_key itself', () => {
  const clients = new Map<string, OfficialClient>()
  const overMcp: unknown[] = []
  const overHttp: Received[] = []
  let site: Site

  beforeAll(async () => {
    const http = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const input = JSON.parse(Buffer.concat(chunks).toString())
      overHttp.push({ input, key: request.headers['idempotency-key'] })
      response.setHeader('content-type', 'application/json').end('{}')
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const agent = createDrawbridge({
      sources: [
        definitionSource([
          defineTool({
            name: 'charge-mcp',
            description: 'Charges an order.',
            category: 'write',
            schema: z.object({ order: z.string(), idempotency_key: z.string().min(3) }),
            execute: (input) => ({ count: overMcp.push(input) }),
          }),
        ]),
      ],
    })
    const { port } = await agent.listen({ port: 0 })
    const httpUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    site = await Site.open({
      'drawbridge.yaml':
        'sources:\n  - { manifest: agent.yaml, handlers: handlers.ts, compose: true, all: true }\n',
      'handlers.ts':
        'export const charge = (input, { idempotencyKey }) => ({ input, key: idempotencyKey })\n',
      'agent.yaml': toYaml(
        aManifest({
          capabilities: [
            aCharge({ output_schema: { type: 'object' } }),
            aCharge({ id: 'charge-mcp', protocols: ['MCP'] }),
            aCharge({ id: 'charge-http', protocols: ['HTTP'] }),
          ],
          interfaces: [
            anInternalInterface(),
            anInterface({ endpoint: `http://127.0.0.1:${port}/mcp`, auth: 'none' }),
            anInterface({ name: 'http', protocol: 'HTTP', endpoint: httpUrl, auth: 'none' }),
          ],
          composition: {
            type: 'pipeline',
            deterministic: true,
            steps: ['charge', 'charge-http'].map((id) => ({
              id,
              capability_ref: id,
              on_failure: 'abort',
            })),
          },
        }),
      ),
    })
    await site.serve()
    for (const kind of clientKinds) clients.set(kind, await site.connect(kind))
    return async () => {
      await site.close()
      await agent.close(100)
      http.closeAllConnections()
      http.close()
    }
  })

  const connect = (kind: string): OfficialClient => clients.get(kind) as OfficialClient

  test.each(clientKinds)('%s: is shown its own definition of the argument', async (kind) => {
    for (const { name, inputSchema } of await connect(kind).tools())
      if (name.startsWith('charge')) expect(inputSchema).toMatchObject(ownKey)
  })

  test.each(clientKinds)('%s: gets the argument, which is also the key', async (kind) => {
    const client = connect(kind)
    const input = { order: `1 ${kind}`, idempotency_key: `key of ${kind}` }

    const answers = [await client.call('charge', input), await client.call('charge', input)]
    const other = await client.call('charge', { ...input, order: 'other' })
    const verdicts = [
      (await client.call('charge-mcp', input)).verdict,
      (await client.call('charge-http', input)).verdict,
    ]

    expect(answers).toMatchObject([
      { verdict: 'done', data: { input, key: `key of ${kind}` } },
      { verdict: 'done', meta: { replayed: {} } },
    ])
    expect(other.verdict).toBe('idempotency_conflict')
    expect(verdicts).toEqual(['done', 'done'])
    expect(overMcp.at(-1)).toEqual(input)
    expect(overHttp.at(-1)).toEqual({ input, key: `key of ${kind}` })
  })

  test.each(clientKinds)('%s: gets a key that the client sends as metadata', async (kind) => {
    const meta = { 'idempotency-key': `meta of ${kind}` }
    const { data } = await connect(kind).call('charge', { order: `2 ${kind}` }, { meta })
    expect(data).toMatchObject({ input: { idempotency_key: `meta of ${kind}` } })
  })

  test.each(clientKinds)('%s: is not called with two different keys', async (kind) => {
    const meta = { 'idempotency-key': 'the one' }
    const input = { order: `3 ${kind}`, idempotency_key: 'the other' }
    expect(await connect(kind).call('charge', input, { meta })).toMatchObject({
      verdict: 'idempotency_conflict',
      text: expect.stringContaining(
        'different idempotency keys in the metadata of the request and the argument idempotency_key',
      ),
    })
  })

  test.each(clientKinds)('%s: without any key, is refused', async (kind) => {
    const { verdict } = await connect(kind).call('charge', { order: `4 ${kind}` })
    expect(verdict).toBe('invalid_input')
  })

  test.each(clientKinds)('%s: a pipeline gives each step a key of its own', async (kind) => {
    const input = { order: `5 ${kind}`, idempotency_key: `pipeline of ${kind}` }
    const { verdict } = await connect(kind).call('order-desk', input)

    expect(verdict).toBe('done')
    expect(overHttp.at(-1)).toEqual({
      input: { order: `5 ${kind}`, idempotency_key: `pipeline of ${kind}/charge-http` },
      key: `pipeline of ${kind}/charge-http`,
    })
  })
})

const referenced = {
  type: 'object',
  allOf: [{ $ref: '#/$defs/keyed' }],
  $defs: { keyed: { properties: { idempotency_key: { type: 'string' } } } },
}

test.each([
  ['optional', { ...ownKey, required: ['order'] }],
  ['behind a reference', referenced],
  ['in one branch of a union', { type: 'object', anyOf: [ownKey, { required: ['none'] }] }],
])('an own key reaches a handler: %s', async (_, input_schema) => {
  const manifest = aManifest({ capabilities: [aCharge({ input_schema })] })
  const inputs: unknown[] = []
  const bridge = await serveManifest(manifest, {
    handlers: { charge: (input) => ({ count: inputs.push(input) }) },
    bridge: { mounts: { '/mcp': { schemas: 'full' } } },
  })
  const input = { order: 'a', idempotency_key: 'mine' }

  const { tools } = await bridge.list()
  const call = await bridge.call('charge', input)

  expect(tools[0]?.inputSchema).toEqual(input_schema)
  expect(call.isError).not.toBe(true)
  expect(inputs).toEqual([input])
})

test('an identical call under another own key is a possible duplicate', async () => {
  const manifest = aManifest({ capabilities: [aCharge()] })
  const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
  const charge = (idempotency_key: string) => bridge.call('charge', { order: 'a', idempotency_key })

  await charge('first')

  const duplicate = await charge('second')
  const [, key = ''] = /idempotency_key (again-\S+)\./.exec(JSON.stringify(duplicate)) ?? []
  expect(duplicate.isError).toBe(true)
  expect((await charge(key)).isError).not.toBe(true)
})

const uuids = ['0e1f3c58-66b4-4e2c-9d1f-7d3f3c1c2b10', '1e1f3c58-66b4-4e2c-9d1f-7d3f3c1c2b10']
describe.each<[string, Fields, readonly unknown[]]>([
  ['a UUID', { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }, uuids],
  [
    '32 hexadecimal digits',
    { type: 'string', pattern: '^[0-9a-f]{32}$' },
    ['a', 'b'].map((c) => c.repeat(32)),
  ],
  [
    'letters and digits',
    { type: 'string', pattern: '^[A-Za-z0-9]{16,20}$' },
    ['a', 'b'].map((c) => c.repeat(16)),
  ],
  [
    'a UUID or null',
    { anyOf: [{ type: 'string', pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-4' }, { type: 'null' }] },
    uuids,
  ],
  ['a number of 32 bits', { type: 'integer', maximum: 2147483647 }, [1, 2]],
  ['a number or null', { type: ['integer', 'null'] }, [1, 2]],
  ['a long text', { type: 'string', minLength: 60 }, ['a', 'b'].map((c) => c.repeat(60))],
  ['a short text', { type: 'string', maxLength: 12 }, ['a', 'b']],
  ['a number', { type: 'integer' }, [1, 2]],
])('a key that must be %s', (_, idempotency_key, [first, second]) => {
  const input_schema = { ...ownKey, properties: { ...ownKey.properties, idempotency_key } }

  test('can confirm a deliberate repeat', async () => {
    const manifest = aManifest({ capabilities: [aCharge({ input_schema })] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const charge = (key: unknown) =>
      bridge.call('charge', { order: 'a', idempotency_key: key as string })
    await charge(first)

    const duplicate = await charge(second)
    const [, key = ''] = /with idempotency_key (\S+)\./.exec(JSON.stringify(duplicate)) ?? []
    const confirmed = await charge(typeof first === 'number' ? Number(key) : key)

    expect(duplicate.isError).toBe(true)
    expect(confirmed.isError).not.toBe(true)
  })

  test('is derived in that form for the steps of a pipeline', async () => {
    const capability = aCharge({ input_schema, output_schema: { type: 'object' } })
    const keysOfSteps: unknown[] = []
    const handler = (input: unknown) => {
      keysOfSteps.push((input as { idempotency_key: unknown }).idempotency_key)
      return {}
    }
    const steps = ['charge', 'charge-again'].map((id) => ({
      id,
      capability_ref: id,
      on_failure: 'abort',
    }))
    const manifest = aManifest({
      capabilities: [capability, { ...capability, id: 'charge-again' }],
      composition: { type: 'pipeline', deterministic: true, steps },
    })
    const bridge = await serveManifest(manifest, {
      handlers: { charge: handler, 'charge-again': handler },
      compose: true,
    })

    const result = await bridge.call('order-desk', { order: 'a', idempotency_key: 'of the call' })

    expect(result.isError).not.toBe(true)
    expect(new Set(keysOfSteps).size).toBe(2)
  })
})

test('a key of a form that cannot be derived is not asked for', async () => {
  const properties = { ...ownKey.properties, idempotency_key: { type: 'string', pattern: '^key_' } }
  const manifest = aManifest({
    capabilities: [aCharge({ input_schema: { ...ownKey, properties } })],
  })
  const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
  const charge = (idempotency_key: string) => bridge.call('charge', { order: 'a', idempotency_key })

  await charge('key_1')
  const duplicate = JSON.stringify(await charge('key_2'))

  expect(duplicate).toContain('No key that idempotency_key accepts can confirm a deliberate repeat')
  expect(duplicate).not.toContain('again-')
})

test('a key in metadata reaches an argument that is a number', async () => {
  const properties = { ...ownKey.properties, idempotency_key: { type: 'integer' } }
  const manifest = aManifest({
    capabilities: [aCharge({ input_schema: { ...ownKey, properties } })],
  })
  const inputs: unknown[] = []
  const bridge = await serveManifest(manifest, {
    handlers: { charge: (input) => ({ count: inputs.push(input) }) },
  })

  await bridge.call('charge', { order: 'a' }, { idempotencyKey: '77' })

  expect(inputs).toEqual([{ order: 'a', idempotency_key: 77 }])
})

test('an approval covers an own key, and shows it', async () => {
  const manifest = aManifest({ capabilities: [aCharge({ side_effect_level: 'high' })] })
  const inputs: unknown[] = []
  const bridge = await serveManifest(manifest, {
    handlers: { charge: (input) => ({ count: inputs.push(input) }) },
  })
  const charge = (idempotency_key: string) => bridge.call('charge', { order: 'a', idempotency_key })
  await charge('approved-key')
  const [approval] = bridge.approvals.list(false)
  await bridge.approvals.decide(approval?.id ?? '', 'approved', 'eve')

  const other = await charge('another-key')
  const approved = await charge('approved-key')

  expect(approval?.shown.arguments).toContain('approved-key')
  expect(other.isError).toBe(true)
  expect(approved.isError).not.toBe(true)
  expect(inputs).toEqual([{ order: 'a', idempotency_key: 'approved-key' }])
})

test('a definition with its own key gets it, and runs once for each', async () => {
  const inputs: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    category: 'write',
    schema: z.object({ idempotency_key: z.string() }),
    execute: (input) => ({ count: inputs.push(input) }),
  })
  const bridge = createDrawbridge({ sources: [definitionSource([pay])] })

  const first = await bridge.call('pay', { idempotency_key: 'k' })
  const second = await bridge.call('pay', { idempotency_key: 'k' })
  const conflict = await bridge.call('pay', { idempotency_key: 'k' }, { idempotencyKey: 'other' })

  expect(inputs).toEqual([{ idempotency_key: 'k' }])
  expect([first, second].map(({ structuredContent }) => structuredContent)).toEqual([
    { count: 1 },
    { count: 1 },
  ])
  expect(conflict.isError).toBe(true)
  await bridge.close()
})
