import { createHash } from 'node:crypto'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createDrawbridge,
  type DrawbridgeOptions,
  intentSource,
  manifestSource,
  recordSource,
} from '../../src/index.ts'
import { aCanary, type Canary, stubDns } from '../support/a-canary.ts'
import { aManifest, anInterface, aWritingCapability, toYaml } from '../support/a-manifest.ts'
import { describeWithNats } from '../support/a-nats-server.ts'
import { aPayingBridge, aStoreFolder } from '../support/a-paying-bridge.ts'
import { aProject } from '../support/a-project.ts'

type Policy = NonNullable<DrawbridgeOptions['policy']>

const withoutAuth = (endpoint: string, protocol = 'HTTP') =>
  aManifest({
    capabilities: [{ protocols: ['MCP', 'HTTP'] }],
    interfaces: [anInterface({ protocol, endpoint, auth: 'none' })],
  })

/** A bridge with one manifest for each endpoint; `call` gives the failure codes in the same order. */
async function serveEndpoints(
  endpoints: readonly string[],
  policy: Policy = {},
  protocol = 'HTTP',
) {
  const files = Object.fromEntries(
    endpoints.map((endpoint, index) => [`${index}.yaml`, toYaml(withoutAuth(endpoint, protocol))]),
  )
  const folder = await aProject(files)
  const codes: string[] = []
  const causes: string[] = []
  const bridge = createDrawbridge({
    sources: endpoints.map((_, index) => ({
      source: manifestSource(path.join(folder, `${index}.yaml`)),
      mount: '/mcp',
      prefix: `s${index}`,
    })),
    policy,
    onOperatorFailure: ({ capability, failure }) => {
      const index = Number(/^s(\d+)_/.exec(capability)?.[1])
      codes[index] = failure.code
      causes[index] = failure.cause ?? ''
    },
  })
  onTestFinished(() => bridge.close(0))
  await bridge.ready
  const call = async () => {
    codes.length = 0
    const results = await Promise.all(
      endpoints.map((_, index) => bridge.call(`s${index}_look-up-order`)),
    )
    return results.map(({ isError }, index) => codes[index] ?? (isError ? 'failed' : 'done'))
  }
  return { bridge, call, causes }
}

/** Addresses that nothing may reach, in every spelling that a URL has for them. */
const neverReached = [
  '169.254.169.254',
  '169.254.0.1',
  '2852039166',
  '0xa9fea9fe',
  '0xa9.0xfe.0xa9.0xfe',
  '0251.0376.0251.0376',
  '169.254.43518',
  '169.16689662',
  '169.254.169.254.',
  '１６９.254.169.254',
  '%31%36%39.254.169.254',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
  '[::169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:a9fe:a9fe::1]',
  '[2001:db8::5efe:a9fe:a9fe]',
  '[::ffff:0:a9fe:a9fe]',
  '[fe80::1]',
  '[febf::1]',
  '[fd00:ec2::254]',
  '[fd20:ce::254]',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  '0.0.0.0',
  '0',
  '[::]',
  '[::ffff:0.0.0.0]',
  '[2002::]',
  '255.255.255.255',
  '224.0.0.1',
  '[ff02::1]',
  '240.0.0.1',
  'metadata.google.internal',
  'METADATA.google.internal.',
  'metadata',
  'instance-data',
  'link-local.example',
  'mixed.example',
]

/** Spellings of this machine and of private networks, and names that resolve to them. */
const local = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.255.255.254',
  '127.0.0.1.',
  '１２７.0.0.1',
  '①②⑦.0.0.1',
  '%31%32%37.0.0.1',
  'localhost',
  'LOCALHOST',
  'localhost.',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[2002:7f00:1::]',
  '[64:ff9b::7f00:1]',
  '10.0.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '100.64.0.1',
  '198.18.0.1',
  '[fd12:3456::1]',
  '[fec0::1]',
  'loopback.example',
  'loopback6.example',
  'mapped.example',
  'api.example.com.evil.example',
  'evilapi.example.com',
]

const addressesOf = (host: string): readonly string[] =>
  ({
    'link-local.example': ['169.254.169.254'],
    'mixed.example': ['93.184.216.34', '169.254.169.254'],
    'loopback6.example': ['::1'],
    'mapped.example': ['::ffff:127.0.0.1'],
    'public.example': ['93.184.216.34'],
  })[host] ?? ['127.0.0.1']

describe('no connection is made', () => {
  /** Every fourth item; all of them in the long run. */
  const sample = (items: readonly string[]) =>
    process.env.SOAK === undefined ? items.filter((_, index) => index % 4 === 0) : items
  const toEndpoints = (hosts: readonly string[], { port }: Canary) =>
    hosts.map((host) => `http://${host}:${port}/`)

  test(`to ${neverReached.length} spellings of addresses that are never allowed, whatever the policy allows`, async () => {
    const canary = await aCanary()
    stubDns(addressesOf)
    const open = { egress: { allow: ['*', '0.0.0.0/0', '::/0'] } }

    for (const [policy, hosts] of [
      [{}, sample(neverReached)],
      [open, neverReached],
    ] as const) {
      const { call } = await serveEndpoints(toEndpoints(hosts, canary), policy)
      expect(await call()).toEqual(hosts.map(() => 'egress_refused'))
    }
    expect(canary.connections).toEqual([])
  })

  test(`to ${local.length} spellings of local addresses that the policy does not list, over HTTP and MCP`, async () => {
    const canary = await aCanary()
    stubDns(addressesOf)
    const policy = { egress: { allow: ['api.example.com', '*.allowed.example'] } }

    for (const [protocol, hosts] of [
      ['HTTP', local],
      ['MCP', sample(local)],
    ] as const) {
      const { call } = await serveEndpoints(toEndpoints(hosts, canary), policy, protocol)
      expect(await call()).toEqual(hosts.map(() => 'egress_refused'))
    }
    expect(canary.connections).toEqual([])
  })

  test('to a public name with a local address, though a host entry allows the name', async () => {
    const canary = await aCanary()
    stubDns(addressesOf)
    const hosts = ['loopback.example', 'loopback6.example', 'mapped.example']

    for (const policy of [{}, { egress: { allow: ['*.example'] } }, { egress: { allow: ['*'] } }]) {
      const { call, causes } = await serveEndpoints(toEndpoints(hosts, canary), policy)
      expect(await call()).toEqual(hosts.map(() => 'egress_refused'))
      expect(causes[0]).toMatch(/loopback\.example \(127\.0\.0\.1\).*behind a public name/)
    }
    expect(canary.connections).toEqual([])
  })

  test('to a listed name after its DNS answer changes to an address that is not listed (rebinding)', async () => {
    const canary = await aCanary()
    let address = '127.0.0.1'
    stubDns(() => [address])
    const { call } = await serveEndpoints([`http://shop.example:${canary.port}/`], {
      egress: { allow: ['127.0.0.1'] },
    })

    expect(await call()).toEqual(['done'])
    address = '127.0.0.2'
    // The pooled connection stays with the address that was checked.
    expect(await call()).toEqual(['done'])
    expect(canary.connections).toHaveLength(1)
    const { call: callAnew } = await serveEndpoints([`http://shop.example:${canary.port}/`], {
      egress: { allow: ['127.0.0.1'] },
    })

    expect(await callAnew()).toEqual(['egress_refused'])
    expect(canary.connections).toEqual([expect.stringMatching(/127\.0\.0\.1$/)])
  })
})

test('a name is resolved once for each connection, so that no second answer can be used', async () => {
  const canary = await aCanary()
  const names = stubDns((host) => [
    names.filter((name) => name === host).length === 1 ? '127.0.0.1' : '127.0.0.2',
  ])
  const { call } = await serveEndpoints([`http://agent.internal:${canary.port}/`])

  expect(await call()).toEqual(['done'])
  expect(names).toEqual(['agent.internal'])
  expect(canary.connections).toEqual([expect.stringMatching(/127\.0\.0\.1$/)])
})

test.each([
  ['an address of this machine', {}, 'http://127.0.0.1'],
  ['localhost', {}, 'http://localhost'],
  ['a single label, as in a container network', {}, 'http://orders'],
  ['a name of a private suffix', {}, 'http://orders.internal'],
  ['a listed address', { allow: ['127.0.0.0/8'] }, 'http://127.0.0.1'],
  ['a public name with a listed address', { allow: ['*', '127.0.0.1'] }, 'http://orders.example'],
  ['a listed IPv6 block', { allow: ['[::1]/128'] }, 'http://[::1]'],
  ['a name that deny does not list', { deny: ['*.example'] }, 'http://orders.internal'],
])('%s is reached with the policy %j', async (_, egress, url) => {
  const canary = await aCanary()
  stubDns(() => ['127.0.0.1'])
  const { call, bridge } = await serveEndpoints([`${url}:${canary.port}/`], { egress })

  expect(await call()).toEqual(['done'])
  expect(bridge.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
})

test.each([
  [{ deny: ['127.0.0.0/8'] }, 'http://127.0.0.1', /deny/],
  [{ allow: ['*', '127.0.0.1'], deny: ['orders.example'] }, 'http://orders.example', /deny/],
  [{ allow: [] }, 'http://127.0.0.1', /allow/],
])('the policy %j refuses %s, and the model sees no address', async (egress, url, cause) => {
  const canary = await aCanary()
  stubDns(() => ['127.0.0.1'])
  const { bridge, call, causes } = await serveEndpoints([`${url}:${canary.port}/`], { egress })

  expect(await call()).toEqual(['egress_refused'])
  expect(causes[0]).toMatch(cause)
  const result = JSON.stringify(await bridge.call('s0_look-up-order'))
  expect(result).toContain('isError')
  expect(result).not.toMatch(/127\.0\.0\.1|orders\.example/)
  expect(bridge.audit.at(-1)).toMatchObject({ outcome: 'failed', code: 'egress_refused' })
  expect(canary.connections).toEqual([])
})

test('a write that the policy refuses is known not to have happened', async () => {
  const folder = await aProject({
    'agent.yaml': toYaml(
      aManifest({
        capabilities: [aWritingCapability({ protocols: ['MCP', 'HTTP'] })],
        interfaces: ['MCP', 'HTTP'].map((protocol) =>
          anInterface({ protocol, endpoint: 'http://rebound.example:9/', auth: 'none' }),
        ),
      }),
    ),
  })
  stubDns(() => ['127.0.0.1'])
  const codes: string[] = []
  const bridge = createDrawbridge({
    sources: [manifestSource(path.join(folder, 'agent.yaml'))],
    onOperatorFailure: ({ failure }) => codes.push(failure.code),
  })
  onTestFinished(() => bridge.close(0))

  await bridge.call('refund-order', {}, { idempotencyKey: 'k' })

  expect(codes).toEqual(['egress_refused'])
})

describe('every kind of outgoing call is guarded', () => {
  test('a remote agent over HTTP', async () => {
    const canary = await aCanary()
    stubDns(() => ['127.0.0.1'])
    const capabilities = [{ intent: 'Look', description: 'Looks.', effects: 'read_only' as const }]
    const codes: string[] = []
    const bridge = createDrawbridge({
      sources: [
        intentSource({
          remote: [{ name: 'far', url: `https://far.example:${canary.port}/`, capabilities }],
        }),
      ],
      onOperatorFailure: ({ failure }) => codes.push(failure.code),
    })
    onTestFinished(() => bridge.close(0))

    expect(await bridge.call('Look')).toMatchObject({ isError: true })
    expect(codes).toEqual(['egress_refused'])
    expect(canary.connections).toEqual([])
    expect(await bridge.explain('Look')).toContainEqual(
      expect.objectContaining({ step: 'egress', would: 'refuse', code: 'egress_refused' }),
    )
  })

  describeWithNats('NATS', () => {
    test('a server behind a public name that resolves to this machine', async () => {
      const canary = await aCanary()
      stubDns(() => ['127.0.0.1'])
      const capabilities = [
        { intent: 'Look', description: 'Looks.', effects: 'read_only' as const },
      ]
      const codes: string[] = []
      const bridge = createDrawbridge({
        sources: [
          intentSource({
            remote: [{ name: 'far', url: `nats://far.example:${canary.port}`, capabilities }],
          }),
        ],
        onOperatorFailure: ({ failure }) => codes.push(failure.code),
        onOperationalError: () => {},
      })
      onTestFinished(() => bridge.close(0))

      expect(await bridge.call('Look')).toMatchObject({ isError: true })
      expect(codes).toEqual(['egress_refused'])
      expect(canary.connections).toEqual([])
    })
  })

  test('a records server', async () => {
    const canary = await aCanary()
    stubDns(() => ['127.0.0.1'])
    const codes: string[] = []
    const bridge = createDrawbridge({
      sources: [
        await recordSource({
          server: `https://far.example:${canary.port}`,
          token: 'a-token-of-far',
        }),
      ],
      onOperatorFailure: ({ failure }) => codes.push(failure.code),
    })
    onTestFinished(() => bridge.close(0))

    await bridge.call('schema')
    expect(codes).toEqual(['egress_refused'])
    expect(canary.connections).toEqual([])
  })

  test('a pinned schema', async () => {
    const canary = await aCanary()
    stubDns(() => ['127.0.0.1'])
    const url = `https://schemas.example:${canary.port}/order.json`
    const folder = await aProject({
      'agent.yaml': toYaml(aManifest({ capabilities: [{ input_schema: { $ref_uri: url } }] })),
    })
    const schemas = { [url]: `sha256:${createHash('sha256').update('{}').digest('hex')}` }
    const handlers = { 'look-up-order': () => ({}) }
    const bridge = createDrawbridge({
      sources: [manifestSource(path.join(folder, 'agent.yaml'), { schemas, handlers })],
    })
    onTestFinished(() => bridge.close(0))
    await bridge.ready

    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'reference_unresolved',
        message: expect.stringContaining('behind a public name'),
      }),
    )
    expect(canary.connections).toEqual([])
  })

  test.each([
    { host: 'far.example', why: 'behind a public name' },
    { host: '169.254.169.254', why: 'never allowed', isKnownAtLoad: true },
    {
      host: '127.0.0.1',
      policy: { egress: { allow: ['api.example.com'] } },
      why: 'policy.egress.allow does not list',
      isKnownAtLoad: true,
    },
  ])('checkpoints of the audit to $host', async ({ host, policy = {}, why, isKnownAtLoad }) => {
    const canary = await aCanary()
    stubDns(() => ['127.0.0.1'])
    const errors: string[] = []
    const { bridge, pay, close, executed } = aPayingBridge((await aStoreFolder()).file, {
      audit: { checkpoints: { to: { url: `https://${host}:${canary.port}/` } } },
      policy,
      onOperationalError: (error) => errors.push(String((error as Error).cause)),
    })

    await pay('k1')
    await close()

    expect(executed).toEqual(['k1'])
    expect(errors).toEqual([
      expect.stringMatching(`audit.checkpoints.to.url is refused: .*${why}.*policy.egress`),
    ])
    expect(canary.connections).toEqual([])
    const expected = { code: 'egress_refused', pointer: '/audit/checkpoints/to/url' }
    expect(bridge.diagnostics).toMatchObject(isKnownAtLoad ? [expected] : [])
  })
})
