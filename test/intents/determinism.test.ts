import { hash } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AgentDefinition, AgentError } from '../../src/sources/intents/agents/agent.ts'
import { chooseAgents } from '../../src/sources/intents/router/choose-agents.ts'
import type { HealthSnapshot } from '../../src/sources/intents/router/health.ts'
import { readRouting, toPolicy } from '../../src/sources/intents/router/routing-options.ts'
import { aLog, anAgent, anEnvelope, aPayer, aRegistry, aRouter } from '../support/agents.ts'
import { amount, atMost } from '../support/amount.ts'
import { startScript } from '../support/child-script.ts'
import { repository } from '../support/spawn-server.ts'

const requests = amount(500, 10_000)
const orders = 20

const names = Array.from({ length: 12 }, (_, index) => `agent-${(index * 7) % 12}`)

/** Agents fail or answer by payload alone, so any difference comes from the router. */
const agents: readonly AgentDefinition[] = names.map((name, index) =>
  (index % 3 === 0 ? aPayer : anAgent)(name, {
    priority: 100 + (index % 4),
    handle: ({ payload }) => {
      const number = Number(payload.number)
      if ((number + index) % 5 === 0) throw new AgentError('AGENT_UNAVAILABLE', 'no')
      if ((number + index) % 7 === 0) throw new AgentError('AGENT_ERROR', 'no', { retryable: true })
      return { from: name, number }
    },
  }),
)

const strategies = ['direct', 'fallback', 'broadcast', 'parallel'] as const

const requestAt = (number: number) =>
  anEnvelope({
    intent: { name: number % 3 === 0 ? 'Pay' : 'Look', version: '1.0' },
    payload: { number },
    routing: { strategy: number % 3 === 0 ? 'fallback' : (strategies[number % 4] ?? 'direct') },
  })

test(`${requests} requests take the same routes in ${orders} registration orders [I20, I33, I34, I46]`, {
  timeout: 120_000,
}, async () => {
  const hashes: string[] = []
  for (let order = 0; order < orders; order++) {
    const { route } = aRouter({ agents: shuffle(agents, order + 1) })
    const records: string[] = []
    for (let at = 0; at < requests; at += 500)
      records.push(
        ...(await Promise.all(
          Array.from({ length: 500 }, async (_, index) => {
            const { route: record, response } = await route(requestAt(at + index))
            return JSON.stringify([record, response.payload, response.error])
          }),
        )),
      )
    hashes.push(digest(records.join('\n')))
  }

  expect(new Set(hashes).size).toBe(1)
})

test('another process makes byte-identical decisions', async () => {
  const envelopes = Array.from({ length: 40 }, (_, number) => requestAt(number))
  const registry = aRegistry(agents)
  const policy = toPolicy(readRouting({}))
  const localDecisions = envelopes.map((envelope) =>
    chooseAgents({ envelope, registry, health: {}, policy }),
  )
  const builtFolder = pathToFileURL(`${repository}/dist/sources/intents/`).href
  const script = startScript(
    `
    const { readAgent } = await import('${builtFolder}agents/read-agent.js')
    const { toRegistry } = await import('${builtFolder}agents/registry.js')
    const { chooseAgents } = await import('${builtFolder}router/choose-agents.js')
    const { readRouting, toPolicy } = await import('${builtFolder}router/routing-options.js')
    const { agents, envelopes } = JSON.parse(args[0])
    const read = (agent) => readAgent({ ...agent, handle() {} }, { source: 'test', pointer: '' }).agent
    const registry = toRegistry(agents.reverse().map(read))
    const policy = toPolicy(readRouting({}))
    for (const envelope of envelopes)
      console.log(JSON.stringify(chooseAgents({ envelope, registry, health: {}, policy }).decision))
    `,
    [JSON.stringify({ agents, envelopes })],
  )
  expect(await script.exited, script.stderr()).toBe(0)

  expect(script.stdout().trim().split('\n')).toEqual(
    localDecisions.map(({ decision }) => JSON.stringify(decision)),
  )
})

test('a decision depends only on the envelope, registry, health and policy', () => {
  const name = fc.stringMatching(/^[a-e]$/)
  const agent = fc.record({ name, priority: fc.integer({ min: 0, max: 3 }) })
  fc.assert(
    fc.property(
      fc.uniqueArray(agent, { selector: ({ name }) => name, maxLength: 5 }),
      fc.dictionary(name, fc.constantFrom('ejected', 'busy', 'probe', 'probing')),
      fc.constantFrom(...strategies),
      fc.option(name),
      fc.array(name, { maxLength: 3 }),
      fc.integer(),
      (parts, health, strategy, targetAgent, fallbackAgents, seed) => {
        const definitions = parts.map(({ name, priority }) => anAgent(name, { priority }))
        const envelope = anEnvelope({ routing: { strategy, targetAgent, fallbackAgents } })
        const policy = toPolicy(readRouting({}))
        const decideWith = (list: readonly AgentDefinition[]) =>
          chooseAgents({
            envelope,
            registry: aRegistry(list),
            health: health as HealthSnapshot,
            policy,
          }).decision
        const decision = decideWith(definitions)

        expect(JSON.stringify(decideWith(shuffle(definitions, seed)))).toBe(
          JSON.stringify(decision),
        )
        // Every agent appears exactly once among the candidates.
        expect(decision.candidates.map(({ agent }) => agent).sort()).toEqual(
          parts.map(({ name }) => name).sort(),
        )
        expect(new Set(decision.plan).size).toBe(decision.plan.length)
        for (const agentName of decision.plan)
          expect([undefined, 'probe']).toContain(health[agentName])
        // Removing an agent keeps the order of the remaining agents.
        const unfiltered = chooseAgents({
          envelope,
          registry: aRegistry(definitions),
          health: {},
          policy,
        }).decision
        if (strategy !== 'direct' && !decision.refusal)
          expect(decision.plan).toEqual(
            unfiltered.plan.filter((agentName) => decision.plan.includes(agentName)),
          )
      },
    ),
    { numRuns: amount(150, 500) },
  )
})

test('replaying the logged envelope, registry, health and policy gives the same decision', async () => {
  const log = aLog()
  const { route } = aRouter({ agents, log })
  for (let number = 0; number < 50; number++) await route(requestAt(number))

  const [setup] = log.events.flatMap((event) => (event.event === 'setup' ? [event] : []))
  for (const begunEvent of log.events.flatMap((event) =>
    event.event === 'begun' ? [event] : [],
  )) {
    const registry = aRegistry(agents)
    expect(registry.hash).toBe(setup?.registry)
    const replay = chooseAgents({
      envelope: begunEvent.envelope as ReturnType<typeof anEnvelope>,
      registry,
      health: begunEvent.decision.health,
      policy: toPolicy(readRouting({})),
    })
    expect(replay.decision).toEqual(begunEvent.decision)
  }
})

/** A lower percentile outside soak runs: on a busy machine, p99 measures the machine. */
const share = amount(0.9, 0.99)
const measurements = amount(4_000, 20_000)

test(`p${share * 100} of decisions among 100 candidates is below 50 µs`, () => {
  const agentsOf100 = Array.from({ length: 100 }, (_, index) => anAgent(`agent-${index}`))
  const registry = aRegistry(agentsOf100)
  const policy = toPolicy(readRouting({}))
  const measure = (health: HealthSnapshot, envelope = anEnvelope()) => {
    const times = Array.from({ length: measurements }, () => {
      const startedAt = process.hrtime.bigint()
      chooseAgents({ envelope, registry, health, policy })
      return Number(process.hrtime.bigint() - startedAt) / 1000
    })
    const sortedTimes = times.slice(measurements / 4).sort((a, b) => a - b)
    return [0.5, share].map((part) => sortedTimes[Math.floor(sortedTimes.length * part)] ?? 0)
  }
  const unhealthy: HealthSnapshot = { 'agent-7': 'ejected' }
  const withNamedAgents = anEnvelope({ routing: { fallbackAgents: ['agent-9', 'agent-3'] } })

  const figures = {
    'all healthy': measure({}),
    'one unhealthy': measure(unhealthy),
    // Explicitly named agents bypass the decision cache.
    'agents named': measure({}, withNamedAgents),
    'by name, one unhealthy': measure(unhealthy, withNamedAgents),
  }

  for (const [scenario, times] of Object.entries(figures)) {
    const [p50 = 0, percentile = 0] = times
    console.info(
      `${scenario}: a decision among 100, p50 ${p50.toFixed(1)}, p${share * 100} ${percentile.toFixed(1)} µs`,
    )
    expect(percentile).toBeLessThan(atMost(50))
  }
})

const digest = (text: string): string => hash('sha256', text, 'hex')

function shuffle<T>(items: readonly T[], seed: number): T[] {
  let state = seed >>> 0
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)
}
