import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { intentSource } from '../../src/index.ts'
import { aNatsServer, describeWithNats, type NatsServer } from '../support/a-nats-server.ts'
import { aProject } from '../support/a-project.ts'
import { amount, atMost } from '../support/amount.ts'
import { eventually } from '../support/eventually.ts'
import { startServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'

const rounds = amount(1, 50)
/** Routing options in milliseconds: per attempt, and for the whole call. */
const routingLimits = { attemptTimeout: 1000, timeout: 2000 }

/** Permitted call results during a fault. */
const allowedVerdicts = {
  Look: ['ok', 'AGENT_UNAVAILABLE', 'AGENT_TIMEOUT', 'TRANSPORT_ERROR'],
  Pay: ['ok', 'AGENT_UNAVAILABLE', 'outcome_unknown'],
}

const agents = `import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgent } from 'drawbridge-mcp'

export default defineAgent({
  name: 'teller',
  capabilities: [
    { intent: 'Look', description: 'Looks.', effects: 'read_only' },
    { intent: 'Pay', description: 'Pays.', effects: 'irreversible' },
  ],
  handle: async ({ intent, payload }) => {
    await sleep(20)
    if (intent.name === 'Pay') appendFileSync(process.env.PAID, payload.order + '\\n')
    return { pid: process.pid }
  },
})
`

const aBankProject = (url: string) =>
  aProject({
    'agents.ts': agents,
    'paid.txt': '',
    'drawbridge.yaml': `sources:
  - intents:
      agents: ./agents.ts
      node: bank
      serve: { nats: { url: "${url}", heartbeat: 200 } }
`,
  })

const aReplica = (folder: string) =>
  startServing([folder], { env: { PAID: `${folder}/paid.txt` }, cwd: folder })

const paidIn = async (folder: string): Promise<string[]> =>
  (await readFile(`${folder}/paid.txt`, 'utf8')).trim().split('\n')

/** Calls answered with success took effect once; calls reported as not executed did not. */
async function expectTruthfulResults(calls: CallResults, folder: string): Promise<void> {
  const payments = await paidIn(folder)
  expect(new Set(payments).size).toBe(payments.length)
  for (const { name, order, verdict } of calls) {
    if (name === 'Look' || verdict === 'outcome_unknown') continue
    expect([order, payments.includes(order)]).toEqual([order, verdict === 'ok'])
  }
}

/** A router in this process that records how each call ended. */
async function aShop({ url }: NatsServer) {
  const { bridge } = await serveHere({
    sources: [
      intentSource({
        discover: { url },
        ...routingLimits,
        ejection: { failures: 1000, seconds: 1 },
      }),
    ],
  })
  let count = 0
  const call = async (name: 'Look' | 'Pay') => {
    const startedAt = performance.now()
    const order = `order-${++count}`
    const result = await bridge.call(name, { order })
    const failure = result._meta?.['dev.drawbridge/failure'] as { code: string } | undefined
    const { pid } = (result.structuredContent ?? {}) as { pid?: number }
    return {
      name,
      order,
      verdict: failure?.code ?? 'ok',
      pid,
      durationMs: performance.now() - startedAt,
    }
  }
  const callFor = async (durationMs: number) => {
    const deadline = performance.now() + durationMs
    const worker = async () => {
      const results = []
      while (performance.now() < deadline) {
        results.push(await call('Look'), await call('Pay'))
        await sleep(5)
      }
      return results
    }
    return (await Promise.all([worker(), worker(), worker(), worker()])).flat()
  }
  return { call, callFor }
}

type CallResults = Awaited<ReturnType<Awaited<ReturnType<typeof aShop>>['callFor']>>

function expectTypedFailures(results: CallResults): void {
  expect(results.length).toBeGreaterThan(3)
  for (const { name, verdict, durationMs } of results) {
    expect(allowedVerdicts[name]).toContain(verdict)
    expect(durationMs).toBeLessThan(routingLimits.timeout + atMost(1500))
  }
}

describeWithNats('NATS faults', () => {
  test('calls during the SIGKILL of a replica fail with typed errors by the deadline, then another replica answers', {
    timeout: 120_000 + rounds * 20_000,
  }, async () => {
    const server = await aNatsServer()
    const folder = await aBankProject(server.url)
    await aReplica(folder)
    const shop = await aShop(server)

    for (let round = 0; round < rounds; round++) {
      const victim = await aReplica(folder)
      const pid = victim.process.pid
      await eventually(async () => expect((await shop.call('Look')).pid).toBe(pid))
      const calls = shop.callFor(700)
      await sleep(150)
      victim.process.kill('SIGKILL')
      const results = await calls

      expectTypedFailures(results)
      await expectTruthfulResults(results, folder)
      await eventually(async () => expect(await shop.call('Pay')).toMatchObject({ verdict: 'ok' }))
    }
  })

  test('calls during a NATS server restart fail with typed errors, and the connections recover', {
    timeout: 120_000 + rounds * 20_000,
  }, async () => {
    const server = await aNatsServer()
    const folder = await aBankProject(server.url)
    await aReplica(folder)
    const shop = await aShop(server)

    for (let round = 0; round < rounds; round++) {
      const calls = shop.callFor(1000)
      await sleep(200)
      await server.stop()
      const callDuringOutage = await eventually(async () => {
        const results = await shop.call('Pay')
        expect(results).toMatchObject({ verdict: 'AGENT_UNAVAILABLE' })
        return results
      })
      expect(callDuringOutage.durationMs).toBeLessThan(atMost(100))
      await server.start()
      const results = await calls
      expectTypedFailures(results)
      await expectTruthfulResults([...results, callDuringOutage], folder)

      await eventually(async () => expect(await shop.call('Pay')).toMatchObject({ verdict: 'ok' }))
    }
  })
})
