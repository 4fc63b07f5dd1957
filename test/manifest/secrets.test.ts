import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Drawbridge } from '../../src/index.ts'
import { aCanary } from '../support/a-canary.ts'
import {
  aManifest,
  anInterface,
  type Fields,
  serveManifest,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const aSecret = (id: string, reference = `vault://${id}`) => ({ id, secret_ref: reference })

/** A manifest with one capability over HTTP for each interface that is given. */
const withInterfaces = (secrets: readonly Fields[], ...interfaces: readonly Fields[]) =>
  aManifest({
    requirements: { secrets },
    capabilities: [{ protocols: ['MCP', 'HTTP'] }],
    interfaces: interfaces.map((one) => anInterface({ protocol: 'HTTP', auth: 'api_key', ...one })),
  })

const resolveSecret = async (reference: string) => `the-value-of-${reference}`

const errorsOf = ({ diagnostics }: Pick<Drawbridge, 'diagnostics'>) =>
  diagnostics.filter(({ severity }) => severity === 'error')

describe('a secret is sent', () => {
  test('to the interface whose name is its id, and to no other', async () => {
    const canary = await aCanary()
    const endpoint = `http://127.0.0.1:${canary.port}`
    const manifest = withInterfaces([aSecret('other'), aSecret('orders')], {
      name: 'orders',
      endpoint,
    })
    const bridge = await serveManifest(manifest, { resolveSecret })

    await bridge.call('look-up-order')

    expect(canary.requests[0]?.headers['x-api-key']).toBe('the-value-of-vault://orders')
  })

  test('as the source binds it, at the host that is written beside it', async () => {
    const canary = await aCanary()
    const host = `127.0.0.1:${canary.port}`
    const manifest = withInterfaces([aSecret('shared')], {
      name: 'orders',
      endpoint: `http://${host}`,
      auth: 'oauth2',
    })
    const secrets = { orders: { id: 'shared', host } }
    const bridge = await serveManifest(manifest, { resolveSecret, secrets })

    await bridge.call('look-up-order')

    expect(canary.requests[0]?.headers.authorization).toBe('Bearer the-value-of-vault://shared')
    expect(await bridge.explain('look-up-order')).toContainEqual({
      step: 'secret',
      would: 'pass',
      why: `vault://shared as Authorization to ${host}`,
    })
  })
})

describe('calls over an interface without a clear secret fail, and nothing is sent', () => {
  const orders = { name: 'orders', endpoint: 'http://127.0.0.1:9' }
  const elsewhere = { name: 'orders', endpoint: 'http://127.0.0.1:10' }

  test.each<[string, Fields, object, RegExp]>([
    [
      'the only secret has another id',
      withInterfaces([aSecret('model')], orders),
      {},
      /no secret is bound/,
    ],
    ['there is no secret', withInterfaces([], orders), {}, /no secret is bound/],
    [
      'two secrets have its name',
      withInterfaces([aSecret('orders'), aSecret('orders', 'vault://b')], orders),
      {},
      /more than one entry/,
    ],
    [
      'two interfaces of its name are at different hosts',
      withInterfaces([aSecret('orders')], orders, elsewhere),
      {},
      /different hosts/,
    ],
    [
      'its endpoint moved away from the bound host',
      withInterfaces([aSecret('orders')], orders),
      { orders: { id: 'orders', host: 'orders.example' } },
      /bound to the host orders\.example.*127\.0\.0\.1:9/,
    ],
    [
      'the bound secret does not exist',
      withInterfaces([aSecret('orders')], orders),
      { orders: { id: 'missing', host: '127.0.0.1:9' } },
      /missing is not in/,
    ],
  ])('because %s', async (_, manifest, secrets, message) => {
    const requested: string[] = []
    const bridge = await serveManifest(manifest, {
      secrets: secrets as Record<string, { id: string; host: string }>,
      resolveSecret: async (reference) => `value ${requested.push(reference)}`,
    })

    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'secret_unbound',
        severity: 'warning',
        message: expect.stringMatching(message),
      }),
    )
    expect(await bridge.call('look-up-order')).toMatchObject({
      isError: true,
      _meta: { 'dev.drawbridge/failure': { code: 'upstream_credentials' } },
    })
    expect(await bridge.explain('look-up-order')).toContainEqual({
      step: 'secret',
      would: 'refuse',
      code: 'upstream_credentials',
      why: expect.stringMatching(message),
    })
    expect(requested).toEqual([])
  })

  test('unless another interface can be used, which is reported', async () => {
    const canary = await aCanary()
    const usable = {
      name: 'usable',
      endpoint: `http://127.0.0.1:${canary.port}`,
      auth: 'none',
    }
    const bridge = await serveManifest(withInterfaces([], orders, usable))

    await bridge.call('look-up-order')

    expect(canary.requests).toHaveLength(1)
    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'secret_unbound',
        pointer: '/interfaces/0/auth',
        message: expect.stringMatching(
          /orders has no usable secret and is not used.*go over usable/,
        ),
      }),
    )
  })

  test('because a binding names an interface that does not exist, which is reported', async () => {
    const bridge = await serveManifest(withInterfaces([aSecret('orders')], orders), {
      resolveSecret,
      secrets: { order: { id: 'orders', host: '127.0.0.1:9' } },
    })

    expect(errorsOf(bridge)).toMatchObject([
      { code: 'secret_binding', message: expect.stringContaining('"order"') },
    ])
  })
})

test('a secret that an agent echoes is redacted in every encoding', async () => {
  const secret = 'ab/cd+ef "gh" & <ij>?!'
  const bytes = Buffer.from(secret)
  const echoes = {
    raw: secret,
    url: encodeURIComponent(secret),
    full: bytes.toString('hex').replaceAll(/../g, '%$&'),
    form: new URLSearchParams({ a: secret }).toString(),
    hex: bytes.toString('hex'),
    upperHex: bytes.toString('hex').toUpperCase(),
    base64: bytes.toString('base64'),
    base64url: bytes.toString('base64url'),
    basic: Buffer.from(`me:${secret}`).toString('base64'),
    basic1: Buffer.from(`you:${secret}`).toString('base64'),
    basic2: Buffer.from(`them:${secret}, and more`).toString('base64'),
    json: JSON.stringify({ secret }),
    html: '<b>ab/cd+ef &quot;gh&quot; &amp; &lt;ij&gt;?!</b>',
  }
  const canary = await aCanary(() => JSON.stringify(echoes))
  const endpoint = `http://127.0.0.1:${canary.port}`
  const bridge = await serveManifest(
    withInterfaces([aSecret('orders')], { name: 'orders', endpoint }),
    {
      // Not in the environment: known only since the call.
      resolveSecret: async () => secret,
    },
  )

  const { structuredContent } = await bridge.call('look-up-order')

  expect(Object.keys(structuredContent ?? {})).toEqual(Object.keys(echoes))
  for (const [name, text] of Object.entries(structuredContent ?? {}))
    expect([name, text]).toEqual([name, expect.stringContaining('[withheld]')])
  expect(structuredContent).toMatchObject({ raw: '[withheld]', hex: '[withheld]' })
})

describe('on the command line', () => {
  const manifest = (port: number) =>
    toYaml(
      withInterfaces([aSecret('desk', 'env://DESK_ACCESS')], {
        name: 'orders',
        endpoint: `http://127.0.0.1:${port}`,
      }),
    )
  const config = (host: string, rest = '') =>
    `sources:\n  - manifest: agent.yaml\n    secrets: { orders: { id: desk, host: "${host}" } }\n${rest}`

  test('check reports a secret without a value and a refused endpoint, each at its line', async () => {
    const folder = await aProject({
      'agent.yaml': manifest(9),
      'drawbridge.yaml': config(
        '127.0.0.1:9',
        'policy: { egress: { allow: [api.example.com] } }\n',
      ),
    })
    const lineOf = (word: string) =>
      readFileSync(`${folder}/agent.yaml`, 'utf8')
        .split('\n')
        .findIndex((line) => line.includes(word)) + 1

    const { code, stdout } = await drawbridge(['check', folder])

    expect(code).toBe(1)
    expect(stdout).toMatch(
      new RegExp(`agent.yaml:${lineOf('endpoint:')}:.*orders cannot be reached`),
    )
    expect(stdout).toMatch(
      new RegExp(`agent.yaml:${lineOf('auth: "api_key"')}:.*DESK_ACCESS has no value`),
    )
  })

  test('explain names the destination, the decision and the secret, but not its value', async () => {
    const folder = await aProject({
      'agent.yaml': manifest(9),
      'drawbridge.yaml': config('127.0.0.1:9'),
    })
    const env = { DESK_ACCESS: 'what-opens-the-desk' }

    const { code, stdout } = await drawbridge(['explain', folder, 'look-up-order'], { env })

    expect(code).toBe(0)
    expect(stdout).toMatch(
      /egress +pass +interface orders: http:\/\/127\.0\.0\.1:9; 127\.0\.0\.1 is a loopback address/,
    )
    expect(stdout).toMatch(/secret +pass +env:\/\/DESK_ACCESS as X-Api-Key to 127\.0\.0\.1:9/)
    expect(stdout).not.toContain('what-opens-the-desk')
  })

  test('mistakes in policy.egress are reported with their lines', async () => {
    const folder = await aProject({
      'drawbridge.yaml': `policy:
  egress:
    allow:
      - api.example.com
      - https://api.example.com/
      - 10.0.0.0/33
      - 10.0.0
      - 169.254.169.254
    alow: []
`,
    })

    const { code, stderr } = await drawbridge(['check', folder])

    expect(code).toBe(2)
    expect(stderr).toMatch(/:5:9 .*"https:\/\/api.example.com\/" must be a host/)
    expect(stderr).toMatch(/:6:9 .*10.0.0.0\/33" must be a host/)
    expect(stderr).toMatch(/:7:9 .*10.0.0" must be a host/)
    expect(stderr).toMatch(/:8:9 .*cannot be allowed/)
    expect(stderr).toMatch(/:9:5 .*unknown key "alow".*Did you mean "allow"/)
  })
})
