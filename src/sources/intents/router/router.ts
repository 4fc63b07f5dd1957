import { describeAgents } from '../agents/registry.ts'
import { toAgentFailure } from '../envelope/agent-result.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { toErrorInfo } from '../envelope/response.ts'
import {
  chooseAgents,
  type DecidedRoute,
  describePolicy,
  type RoutingDecision,
} from './choose-agents.ts'
import { buildResponse, completeExecution, execute, type LoggedAnswer } from './execution.ts'
import { runHooks } from './hooks.ts'
import type { RoutedResponse, RouterOptions, RoutingContext } from './routing.ts'

/** Routes envelopes to agents. Independent of the protocol the requests came by. */
export class Router {
  readonly #options: RouterOptions
  #setupLogged = false

  constructor(options: RouterOptions) {
    this.#options = options
  }

  /** The decision for this moment; asks no agent. */
  decide(envelope: IntentEnvelope): DecidedRoute {
    const { registry, policy, health } = this.#options
    return chooseAgents({ envelope, registry, policy, health: health.snapshot() })
  }

  /** Always resolves with exactly one response; never throws or rejects. */
  async route(envelope: IntentEnvelope, context: RoutingContext): Promise<RoutedResponse> {
    const { hooks, onOperationalError = () => {} } = this.#options
    try {
      if (!hooks) return await this.#route(envelope, context)
      runHooks(hooks, onOperationalError, (hook) => hook.beforeRoute?.(envelope))
      const routedResponse = await this.#route(envelope, context)
      const { response } = routedResponse
      runHooks(hooks, onOperationalError, (hook) => hook.afterRoute?.(envelope, response))
      const { error } = response
      if (error) runHooks(hooks, onOperationalError, (hook) => hook.onError?.(envelope, error))
      return routedResponse
    } catch (error) {
      onOperationalError(error)
      return this.#toInternalError(envelope, error)
    }
  }

  /** Ends an interrupted execution with the answer from its log. Asks no agent. */
  complete(
    envelope: IntentEnvelope,
    context: RoutingContext & { readonly resumed: NonNullable<RoutingContext['resumed']> },
    answer: LoggedAnswer,
  ): Promise<RoutedResponse> {
    return completeExecution({ options: this.#options, context, envelope }, context.resumed, answer)
  }

  #route(envelope: IntentEnvelope, context: RoutingContext): Promise<RoutedResponse> {
    const startedAt = this.#options.steadyNow()
    const route = this.decide(envelope)
    this.#logSetup()
    return execute({ options: this.#options, context, envelope }, route, startedAt)
  }

  /** Logs the registry and the policy once, before the first decision made with them. */
  #logSetup(): void {
    if (this.#setupLogged) return
    this.#setupLogged = true
    const { log, registry, policy, now, onOperationalError = () => {} } = this.#options
    log
      ?.append(
        [
          {
            event: 'setup',
            at: Math.round(now()),
            registry: registry.hash,
            agents: describeAgents(registry.agents),
            policy: policy.hash,
            rules: describePolicy(policy),
          },
        ],
        'soon',
      )
      .catch(onOperationalError)
  }

  #toInternalError(envelope: IntentEnvelope, error: unknown): RoutedResponse {
    const message = 'An internal error occurred while the request was routed.'
    const failure = toAgentFailure(toErrorInfo('INTERNAL_AGENT_ERROR', message))
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
      response: buildResponse(this.#options, envelope, failure, 'router'),
      state: 'unknown',
      route: { decision, agent: 'router', tried: [] },
      cause: String(error),
    }
  }
}
