import { setTimeout as sleep } from 'node:timers/promises'
import { Cancellation } from '../../src/capability/cancellation.ts'
import type {
  AgentDefinition,
  CapabilityDefinition,
} from '../../src/sources/intents/agents/agent.ts'
import { readAgent } from '../../src/sources/intents/agents/read-agent.ts'
import { toRegistry } from '../../src/sources/intents/agents/registry.ts'
import type { IntentEnvelope } from '../../src/sources/intents/envelope/envelope.ts'
import type { RoutingOptions } from '../../src/sources/intents/intent-options.ts'
import type { ExecutionEvent, ExecutionLog } from '../../src/sources/intents/log/execution-log.ts'
import { Health } from '../../src/sources/intents/router/health.ts'
import { Router } from '../../src/sources/intents/router/router.ts'
import type { RouterOptions, RoutingContext } from '../../src/sources/intents/router/routing.ts'
import { readRouting, toPolicy } from '../../src/sources/intents/router/routing-options.ts'

export interface AgentParts extends Partial<Omit<AgentDefinition, 'capabilities'>> {
  readonly capability?: Partial<CapabilityDefinition>
}

/** An agent for the intent `Look`, which is read-only by default. */
export const anAgent = (
  name: string,
  { capability, ...rest }: AgentParts = {},
): AgentDefinition => ({
  name,
  capabilities: [{ intent: 'Look', description: 'Looks.', effects: 'read_only', ...capability }],
  handle: () => ({ from: name }),
  ...rest,
})

/** An agent for the intent `Pay`, which is irreversible by default. */
export const aPayer = (name: string, { capability, ...rest }: AgentParts = {}): AgentDefinition =>
  anAgent(name, {
    capability: { intent: 'Pay', description: 'Pays.', effects: 'irreversible', ...capability },
    ...rest,
  })

export const anEnvelope = (
  parts: Omit<Partial<IntentEnvelope>, 'routing' | 'metadata'> & {
    readonly routing?: Partial<IntentEnvelope['routing']>
    readonly metadata?: Partial<IntentEnvelope['metadata']>
  } = {},
): IntentEnvelope => ({
  version: '1.0',
  intent: { name: 'Look', version: '1.0' },
  payload: {},
  context: {
    sourceAgent: 'client',
    timestamp: '2026-01-01T00:00:00Z',
    priority: 'normal',
    tags: [],
  },
  routingMetadata: { decisionPath: [], retries: 0 },
  ...parts,
  metadata: {
    requestId: 'r1',
    source: 'test',
    createdAt: '2026-01-01T00:00:00Z',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    identityChain: [],
    ...parts.metadata,
  },
  routing: { strategy: 'fallback', targetAgent: null, fallbackAgents: [], ...parts.routing },
})

/** Reads the definitions like a module's; throws for an invalid one. */
export function aRegistry(agents: readonly AgentDefinition[]) {
  return toRegistry(
    agents.map((definition) => {
      const { agent, diagnostics } = readAgent(definition, { source: 'test', pointer: '' })
      if (!agent) throw new Error(JSON.stringify(diagnostics))
      return agent
    }),
  )
}

export interface RouterParts extends Partial<RouterOptions> {
  readonly agents: readonly AgentDefinition[]
  readonly routing?: RoutingOptions
}

export function aRouter({ agents, routing = {}, ...rest }: RouterParts) {
  const settings = readRouting(routing)
  const steadyNow = rest.steadyNow ?? (() => performance.now())
  const health = new Health({
    failures: settings.ejection.failures,
    ejectionMs: settings.ejection.seconds * 1000,
    maxEjectionMs: 300_000,
    now: steadyNow,
  })
  const router = new Router({
    registry: aRegistry(agents),
    policy: toPolicy(settings),
    health,
    now: Date.now,
    ...rest,
    steadyNow,
  })
  let count = 0
  const route = (envelope = anEnvelope(), context: Partial<RoutingContext> = {}) =>
    router.route(envelope, {
      id: `execution ${++count}`,
      source: 'test',
      address: envelope.intent.name,
      caller: 'ann',
      cancellation: new Cancellation(),
      ...context,
    })
  return { router, route, health }
}

/** An execution log in memory. */
export function aLog(): ExecutionLog & { readonly events: ExecutionEvent[] } {
  const events: ExecutionEvent[] = []
  return {
    events,
    append: async (newEvents) => void events.push(...newEvents),
    read: { list: () => [], find: () => undefined, verify: () => ({ count: 0 }) },
    claim: async () => true,
  }
}

/** Never settles, and ignores cancellation. */
export const neverSettle = (): Promise<never> => new Promise(() => {})

export const resolveAfter = async <T>(milliseconds: number, value: T): Promise<T> => {
  await sleep(milliseconds)
  return value
}
