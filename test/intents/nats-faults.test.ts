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
/** Milliseconds: for one attempt, and for everything. */
const limits = { attemptTimeout: 1000, timeout: 2000 }

/** What may come of a call while something breaks; anything else is a bug. */
const allowed = {
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

/** What was answered as done was done, and what was said not to have been done was not; all once. */
async function expectHonest(ended: Ended, folder: string): Promise<void> {
  const paid = await paidIn(folder)
  expect(new Set(paid).size).toBe(paid.length)
  for (const { name, order, verdict } of ended) {
    if (name === 'Look' || verdict === 'outcome_unknown') continue
    expect([order, paid.includes(order)]).toEqual([order, verdict === 'ok'])
  }
}

/** A router in this process, and how each of its calls ended. */
async function aShop({ url }: NatsServer) {
  const { bridge } = await serveHere({
    sources: [
      intentSource({ discover: { url }, ...limits, ejection: { failures: 1000, seconds: 1 } }),
    ],
  })
  let count = 0
  const call = async (name: 'Look' | 'Pay') => {
    const began = performance.now()
    const order = `order-${++count}`
    const result = await bridge.call(name, { order })
    const failure = result._meta?.['dev.drawbridge/failure'] as { code: string } | undefined
    const { pid } = (result.structuredContent ?? {}) as { pid?: number }
    return { name, order, verdict: failure?.code ?? 'ok', pid, took: performance.now() - began }
  }
  const callFor = async (milliseconds: number) => {
    const until = performance.now() + milliseconds
    const worker = async () => {
      const ended = []
      while (performance.now() < until) {
        ended.push(await call('Look'), await call('Pay'))
        await sleep(5)
      }
      return ended
    }
    return (await Promise.all([worker(), worker(), worker(), worker()])).flat()
  }
  return { call, callFor }
}

type Ended = Awaited<ReturnType<Awaited<ReturnType<typeof aShop>>['callFor']>>

function expectTyped(ended: Ended): void {
  expect(ended.length).toBeGreaterThan(3)
  for (const { name, verdict, took } of ended) {
    expect(allowed[name]).toContain(verdict)
    expect(took).toBeLessThan(limits.timeout + atMost(1500))
  }
}

describeWithNats('when something breaks', () => {
  test('a replica that is killed while it works: typed failures by the deadline, then the other one', {
    timeout: 20_000 * rounds,
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
      const ended = await calls

      expectTyped(ended)
      await expectHonest(ended, folder)
      await eventually(async () => expect(await shop.call('Pay')).toMatchObject({ verdict: 'ok' }))
    }
  })

  test('the server stopped and started again: typed failures, and everybody finds back by themselves', {
    timeout: 20_000 * rounds,
  }, async () => {
    const server = await aNatsServer()
    const folder = await aBankProject(server.url)
    await aReplica(folder)
    const shop = await aShop(server)

    for (let round = 0; round < rounds; round++) {
      const calls = shop.callFor(1000)
      await sleep(200)
      await server.stop()
      const during = await eventually(async () => {
        const ended = await shop.call('Pay')
        expect(ended).toMatchObject({ verdict: 'AGENT_UNAVAILABLE' })
        return ended
      })
      expect(during.took).toBeLessThan(atMost(100))
      await server.start()
      const ended = await calls
      expectTyped(ended)
      await expectHonest([...ended, during], folder)

      await eventually(async () => expect(await shop.call('Pay')).toMatchObject({ verdict: 'ok' }))
    }
  })
})
