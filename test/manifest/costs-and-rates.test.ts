import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  aManifest,
  anInterface,
  answering,
  type Fields,
  project,
  serveManifest,
} from '../support/a-manifest.ts'

/** Calls a capability with this cost, under a budget of 10 USD a month, and returns what was charged. */
async function chargeOnce(cost: Fields, budget: Fields = { monthly_limit: 10 }) {
  const manifest = aManifest({ requirements: { budget }, capabilities: [{ cost }] })
  const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
  const { isError } = await bridge.call('look-up-order')
  const explained = await bridge.explain('look-up-order')
  const used = /(\S+) of 10 \S+ per source and month/.exec(
    explained?.find(({ step }) => step === 'budget')?.why ?? '',
  )
  return {
    isError: isError === true,
    /** Twice the cost of one call: the one that was made and the one that is explained. */
    used: used === null ? 0 : Number(used[1]),
    warnings: bridge.diagnostics.filter(({ code }) => code === 'cost_unbudgeted'),
  }
}

describe('the cost of a capability', () => {
  test.each<[string, Fields, number]>([
    ['in the currency', { estimated_cost: 2, unit: 'USD' }, 4],
    ['in the currency, in lower case', { estimated_cost: 2, unit: 'usd' }, 4],
    ['without a unit', { mode: 'fixed', estimated_cost: 2 }, 4],
    ['by usage, without a unit', { mode: 'usage', estimated_cost: 2 }, 4],
    ['for each call', { mode: 'token', estimated_cost: 2, unit: 'call' }, 4],
    ['for each run', { mode: 'fixed', estimated_cost: 2, unit: 'run' }, 4],
  ])('is charged: %s', async (_, cost, used) => {
    expect(await chargeOnce(cost)).toEqual({ isError: false, used, warnings: [] })
  })

  test.each<[string, Fields, string]>([
    ['1000 tokens', { mode: 'token', estimated_cost: 1000, unit: 'tokens' }, 'tokens'],
    ['a thousand token', { mode: 'token', estimated_cost: 1000, unit: 'token' }, 'tokens'],
    ['tokens without a unit', { mode: 'token', estimated_cost: 1000 }, 'tokens'],
    ['euros', { mode: 'fixed', estimated_cost: 1000, unit: 'EUR' }, 'EUR'],
    ['seconds', { mode: 'usage', estimated_cost: 1000, unit: 'seconds' }, 'seconds'],
  ])('in another unit than the budget is not charged: %s', async (_, cost, unit) => {
    const { warnings, ...charged } = await chargeOnce(cost)
    expect(charged).toEqual({ isError: false, used: 0 })
    expect(warnings).toEqual([
      expect.objectContaining({
        severity: 'warning',
        pointer: '/capabilities/0/cost/unit',
        at: expect.stringMatching(/agent\.yaml:\d+:\d+$/),
        message: expect.stringContaining(
          `The cost of look-up-order is in ${unit}, and requirements.budget is in USD`,
        ),
      }),
    ])
  })

  test('is charged to a budget of the policy in its unit', async () => {
    const manifest = aManifest({
      capabilities: [{ cost: { mode: 'token', estimated_cost: 600, unit: 'tokens' } }],
    })
    const budgets = [{ limit: 1000, unit: 'tokens', per: 'caller' as const }]
    const bridge = await serveManifest(manifest, {
      handlers: answering(manifest),
      bridge: { policy: { rules: [{ match: '*', budgets }] } },
    })
    const results = [await bridge.call('look-up-order'), await bridge.call('look-up-order')]
    expect(results.map(({ isError }) => isError === true)).toEqual([false, true])
  })

  test('that no budget of the policy counts is reported at that budget', async () => {
    const manifest = aManifest({
      capabilities: [{ cost: { mode: 'token', estimated_cost: 600, unit: 'tokens' } }],
    })
    const diagnose = async (...units: string[]) => {
      const budgets = units.map((unit) => ({ limit: 10, unit }))
      const bridge = await serveManifest(manifest, {
        handlers: answering(manifest),
        bridge: { policy: { rules: [{ match: '*', budgets }] } },
      })
      return bridge.diagnostics
        .filter(({ code }) => code === 'cost_unbudgeted')
        .map(({ pointer }) => pointer)
    }
    expect(await diagnose('calls', 'USD')).toEqual(['/policy/rules/0/budgets/1'])
    expect(await diagnose('tokens', 'USD')).toEqual([])
  })

  test('without a budget causes no warning', async () => {
    const cost = { mode: 'token', estimated_cost: 1000, unit: 'tokens' }
    const { diagnostics } = await project(aManifest({ capabilities: [{ cost }] }))
    expect(diagnostics).toEqual([])
  })
})

/** An HTTP agent that is unavailable for the first calls. */
async function anUnreliableAgent(failures: number) {
  let requests = 0
  const server = createServer((_, response) => {
    const status = requests++ < failures ? 503 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, count: () => requests }
}

describe('retries', () => {
  const aRetryingManifest = (endpoint: string, rate_limit?: Fields) =>
    aManifest({
      runtime: { max_retries: 5 },
      capabilities: [{ protocols: ['HTTP'], idempotent: true }],
      interfaces: [
        anInterface({
          protocol: 'HTTP',
          endpoint,
          auth: 'none',
          ...(rate_limit && { rate_limit }),
        }),
      ],
    })

  test('count against the rate limit, and stop when it is used up', async () => {
    const agent = await anUnreliableAgent(100)
    const manifest = aRetryingManifest(agent.url, { requests_per_minute: 3 })
    const bridge = await serveManifest(manifest, { all: true })

    const result = await bridge.call('look-up-order')
    const next = await bridge.call('look-up-order')

    expect(agent.count()).toBe(3)
    expect(result).toMatchObject({
      isError: true,
      _meta: { 'dev.drawbridge/retry': { attempts: 3, retry_after_ms: expect.any(Number) } },
    })
    expect(JSON.stringify(result.content)).toMatch(
      /tried 3 times and not again, because its rate limit is used up\. Try again in \d+ ms\./,
    )
    expect(JSON.stringify(next.content)).toContain('Rate limit')
  })

  test('within the rate limit succeed, and leave fewer calls', async () => {
    const agent = await anUnreliableAgent(1)
    const manifest = aRetryingManifest(agent.url, { requests_per_minute: 3 })
    const bridge = await serveManifest(manifest, { all: true })

    const results = [1, 2, 3].map(() => bridge.call('look-up-order'))

    expect((await Promise.all(results)).filter(({ isError }) => isError)).toHaveLength(1)
    expect(agent.count()).toBe(3)
  })

  test('are only recorded, not limited, while the policy is observed', async () => {
    const agent = await anUnreliableAgent(3)
    const manifest = aRetryingManifest(agent.url, { requests_per_minute: 1 })
    const bridge = await serveManifest(manifest, {
      all: true,
      bridge: { policy: { mode: 'observe' } },
    })

    expect((await bridge.call('look-up-order')).isError).not.toBe(true)
    expect(agent.count()).toBe(4)
  })
})
