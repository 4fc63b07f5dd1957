import { reads } from '../../../capability/effects.ts'
import { describe } from '../agents/registry.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import {
  type AgentResponse,
  type AgentResult,
  toErrorInfo,
  toResponse,
} from '../envelope/response.ts'
import { Journal } from '../log/journal.ts'
import {
  chooseAgents,
  type DecidedRoute,
  describePolicy,
  type RoutingDecision,
} from './choose-agents.ts'
import { Execution, round } from './execution.ts'
import { runHooks } from './hooks.ts'
import type { Routed, RouterOptions, RoutingContext } from './routing.ts'

/** Brings envelopes to agents. It has no idea where they come from. */
export class Router {
  readonly #options: RouterOptions
  #introduced = false

  constructor(options: RouterOptions) {
    this.#options = options
  }

  /** What it would do now. */
  decide(envelope: IntentEnvelope): DecidedRoute {
    const { registry, policy, health } = this.#options
    return chooseAgents({ envelope, registry, policy, health: health.look() })
  }

  /** One answer, always: never throws, never rejects. */
  async route(envelope: IntentEnvelope, around: RoutingContext): Promise<Routed> {
    const { hooks, onTrouble = () => {} } = this.#options
    try {
      if (!hooks) return await this.#route(envelope, around)
      runHooks(hooks, onTrouble, (hook) => hook.beforeRoute?.(envelope))
      const routed = await this.#route(envelope, around)
      const { response } = routed
      runHooks(hooks, onTrouble, (hook) => hook.afterRoute?.(envelope, response))
      const { error } = response
      if (error) runHooks(hooks, onTrouble, (hook) => hook.onError?.(envelope, error))
      return routed
    } catch (error) {
      onTrouble(error)
      return this.#broken(envelope, error)
    }
  }

  /** Writes down the end of what was answered before: nobody is asked. */
  async complete(
    envelope: IntentEnvelope,
    around: RoutingContext & { readonly resumed: NonNullable<RoutingContext['resumed']> },
    { said, agent, decision }: { said: AgentResult; agent: string; decision: RoutingDecision },
  ): Promise<Routed> {
    const journal = this.#journal(around, true)
    journal.open({ ...around.resumed, decision })
    const state = 'payload' in said ? 'done' : 'failed'
    const response = this.#toResponse(envelope, said, agent)
    await journal.end(state, response, 0)
    return { response, state, route: { decision, agent, tried: [] } }
  }

  async #route(envelope: IntentEnvelope, around: RoutingContext): Promise<Routed> {
    const { steadyNow } = this.#options
    const began = steadyNow()
    const decided = this.decide(envelope)
    const { decision, intent } = decided
    const effects = intent?.effects ?? reads
    const journal = this.#journal(around, effects.writes)
    this.#introduce()
    const { source, address, caller, resumed } = around
    journal.open(
      resumed ? { ...resumed, decision } : { source, address, caller, effects, envelope, decision },
    )
    const execution = new Execution({ options: this.#options, around, envelope, decided, journal })
    const outcome = await execution.run(began)
    const state =
      'payload' in outcome.said
        ? 'done'
        : effects.writes && outcome.tried.some(({ certainty }) => certainty === 'unknown')
          ? 'unknown'
          : 'failed'
    const response = this.#toResponse(envelope, outcome.said, outcome.agent)
    await journal.end(state, response, round(steadyNow() - began))
    const { cause } = execution
    return {
      response,
      state,
      route: { decision, agent: outcome.agent, tried: outcome.tried },
      ...(cause !== undefined && { cause }),
    }
  }

  #journal({ id }: RoutingContext, synced: boolean): Journal {
    const { log, now, protect, onTrouble = () => {} } = this.#options
    return new Journal({ id, log, synced, now, protect, onTrouble })
  }

  /** Once, before the first decision: what all of them are made with. */
  #introduce(): void {
    if (this.#introduced) return
    this.#introduced = true
    const { log, registry, policy, now, onTrouble = () => {} } = this.#options
    log
      ?.append(
        [
          {
            event: 'setup',
            at: Math.round(now()),
            registry: registry.hash,
            agents: describe(registry.agents),
            policy: policy.hash,
            rules: describePolicy(policy),
          },
        ],
        'soon',
      )
      .catch(onTrouble)
  }

  #toResponse(envelope: IntentEnvelope, said: AgentResult, agent: string): AgentResponse {
    const timestamp = new Date(this.#options.now()).toISOString()
    const metadata = Object.freeze({ agent, traceId: envelope.metadata.traceId, timestamp })
    return Object.freeze(toResponse(said, metadata))
  }

  #broken(envelope: IntentEnvelope, thrown: unknown): Routed {
    const error = toErrorInfo('INTERNAL_AGENT_ERROR', 'Something went wrong while this was routed.')
    const { registry, policy } = this.#options
    const { intent, routing } = envelope
    const decision: RoutingDecision = {
      intent: intent.name,
      version: intent.version,
      strategy: routing.strategy,
      order: 'registry',
      candidates: [],
      plan: [],
      registry: registry.hash,
      policy: policy.hash,
      health: {},
    }
    return {
      response: this.#toResponse(envelope, { error }, 'router'),
      state: 'unknown',
      route: { decision, agent: 'router', tried: [] },
      cause: String(thrown),
    }
  }
}
