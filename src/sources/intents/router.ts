import { setTimeout as sleep } from 'node:timers/promises'
import { Cancellation } from '../../capability/cancellation.ts'
import { reads } from '../../capability/effects.ts'
import { attempt, type Ending } from './attempt.ts'
import {
  type Decided,
  type Decision,
  decide,
  describePolicy,
  type RoutingPolicy,
} from './decide.ts'
import { type IntentEnvelope, toAttempt } from './envelope.ts'
import { errorCodes } from './error-codes.ts'
import type { ExecutionLog } from './execution-log.ts'
import type { Health } from './health.ts'
import { type Hooks, runHooks } from './hooks.ts'
import { toBackoff } from './jitter.ts'
import { Journal, type Protect } from './journal.ts'
import { type Candidate, describe, type Registry } from './registry.ts'
import { type AgentResponse, type Said, toErrorInfo, toResponse } from './response.ts'
import { type Asked, type Outcome, type Run, runStrategy, type Tried } from './strategies.ts'

export interface RouterOptions {
  readonly registry: Registry
  readonly policy: RoutingPolicy
  readonly health: Health
  readonly log?: ExecutionLog
  readonly protect?: Protect
  readonly hooks?: Hooks
  /** Milliseconds since the epoch: what is written down. */
  readonly now: () => number
  /** The same, but it cannot be set: what is measured. */
  readonly steadyNow: () => number
  /** Hears of what went wrong beside the answer. */
  readonly onTrouble?: (error: unknown) => void
}

/** What surrounds one envelope. */
export interface Surroundings {
  readonly id: string
  readonly source: string
  readonly address: string
  readonly caller: string
  readonly cancellation: Cancellation
  /** Milliseconds for everything, where that is less than the policy allows. */
  readonly timeout?: number
  /** Goes on with what another process began. */
  readonly resumed?: { readonly by: string; readonly attempts: number }
}

/** The one answer, and how it came about. */
export interface Routed {
  readonly response: AgentResponse
  /** `unknown`: it may have taken effect. */
  readonly state: 'done' | 'failed' | 'unknown'
  readonly route: Route
  /** What must be told to the operator only. */
  readonly cause?: string
}

/** How an answer came about. The same for the same decision and the same answers. */
export interface Route {
  readonly decision: Decision
  readonly agent: string
  readonly tried: readonly Tried[]
}

/** Brings envelopes to agents. It has no idea where they come from. */
export class Router {
  readonly #options: RouterOptions
  #introduced = false

  constructor(options: RouterOptions) {
    this.#options = options
  }

  /** What it would do now. */
  decide(envelope: IntentEnvelope): Decided {
    const { registry, policy, health } = this.#options
    return decide({ envelope, registry, policy, health: health.look() })
  }

  /** One answer, always: never throws, never rejects. */
  async route(envelope: IntentEnvelope, around: Surroundings): Promise<Routed> {
    const { hooks, onTrouble = () => {} } = this.#options
    try {
      if (!hooks) return await this.#route(envelope, around)
      await runHooks(hooks, onTrouble, (hook) => hook.beforeRoute?.(envelope))
      const routed = await this.#route(envelope, around)
      const { response } = routed
      await runHooks(hooks, onTrouble, (hook) => hook.afterRoute?.(envelope, response))
      const { error } = response
      if (error) await runHooks(hooks, onTrouble, (hook) => hook.onError?.(envelope, error))
      return routed
    } catch (error) {
      onTrouble(error)
      return this.#broken(envelope, error)
    }
  }

  /** Writes down the end of what was answered before: nobody is asked. */
  async complete(
    envelope: IntentEnvelope,
    around: Surroundings & { readonly resumed: NonNullable<Surroundings['resumed']> },
    { said, agent, decision }: { said: Said; agent: string; decision: Decision },
  ): Promise<Routed> {
    const journal = this.#journal(around, true)
    journal.open({ ...around.resumed, decision })
    const state = 'payload' in said ? 'done' : 'failed'
    const response = this.#toResponse(envelope, said, agent)
    await journal.end(state, response, 0)
    return { response, state, route: { decision, agent, tried: [] } }
  }

  async #route(envelope: IntentEnvelope, around: Surroundings): Promise<Routed> {
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
    const execution = new Execution(this.#options, around, envelope, decided, journal)
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

  #journal({ id }: Surroundings, synced: boolean): Journal {
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

  #toResponse(envelope: IntentEnvelope, said: Said, agent: string): AgentResponse {
    const timestamp = new Date(this.#options.now()).toISOString()
    return toResponse(said, { agent, traceId: envelope.metadata.traceId, timestamp })
  }

  #broken(envelope: IntentEnvelope, thrown: unknown): Routed {
    const error = toErrorInfo('INTERNAL_AGENT_ERROR', 'Something went wrong while this was routed.')
    const { registry, policy } = this.#options
    const { intent, routing } = envelope
    const decision: Decision = {
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

/** One envelope on its way. */
class Execution {
  readonly #options: RouterOptions
  readonly #around: Surroundings
  readonly #envelope: IntentEnvelope
  readonly #decided: Decided
  readonly #journal: Journal
  #deadline = 0
  /** Of the last failure, for the operator. */
  cause: string | undefined

  constructor(
    options: RouterOptions,
    around: Surroundings,
    envelope: IntentEnvelope,
    decided: Decided,
    journal: Journal,
  ) {
    this.#options = options
    this.#around = around
    this.#envelope = envelope
    this.#decided = decided
    this.#journal = journal
  }

  async run(began: number): Promise<Outcome> {
    const { decision, plan, intent } = this.#decided
    const { refusal } = decision
    if (refusal) {
      const { code, message, retryable } = refusal
      return {
        said: { error: toErrorInfo(code, message, { retryable }) },
        agent: 'router',
        tried: [],
      }
    }
    const { policy } = this.#options
    this.#deadline = began + Math.min(policy.timeout, this.#around.timeout ?? policy.timeout)
    const run: Run = {
      plan,
      mayRepeat: intent?.mayRepeat ?? false,
      retries: policy.retries,
      race: decision.race ?? false,
      ask: (candidate, asked, retry) => this.#ask(candidate, asked, retry),
      pause: (candidate, retry) => this.#pause(candidate, retry),
    }
    return runStrategy(decision.strategy, run)
  }

  #ask(candidate: Candidate, asked: readonly string[], retry: number): Asked {
    const stop = new Cancellation()
    const { cancellation } = this.#around
    const forget = cancellation.onCancel((reason) => stop.cancel(reason))
    const ending = this.#attempt(candidate, asked, retry, stop).finally(forget)
    return { stop, ending }
  }

  async #attempt(
    candidate: Candidate,
    asked: readonly string[],
    retry: number,
    stop: Cancellation,
  ): Promise<Ending> {
    const { health, steadyNow } = this.#options
    const { agent } = candidate
    const obstacle = this.#obstacle(stop)
    if (obstacle) return obstacle
    const ticket = health.enter(agent.name, agent.concurrency)
    if (!ticket) return notNow(agent.name)
    let verdict: 'well' | 'ill' | 'unclear' = 'unclear'
    try {
      const number = await this.#write(agent.name)
      if (typeof number !== 'number') return number
      const began = steadyNow()
      const left = this.#deadline - began
      if (left <= 0) return tooLate(agent.name)
      const ending = await attempt({
        candidate,
        envelope: toAttempt(this.#envelope, asked, retry),
        number,
        limit: Math.min(left, agent.timeout ?? this.#options.policy.attemptTimeout),
        deadline: this.#options.now() + left,
        stop,
        onLate: (outcome) => this.#journal.late(number, agent.name, outcome),
      })
      verdict = toVerdict(ending, stop)
      if ('error' in ending) this.cause = ending.cause
      this.#journal.answer(number, agent.name, round(steadyNow() - began), ending)
      return ending
    } finally {
      health.leave(ticket, verdict)
    }
  }

  /** What may take effect is on the disk first, or does not happen. */
  async #write(agent: string): Promise<number | Ending> {
    try {
      return await this.#journal.ask(agent)
    } catch (error) {
      this.cause = String(error)
      return { error: unlogged, certainty: 'nothing', elsewhere: false, cause: String(error) }
    }
  }

  #obstacle(stop: Cancellation): Ending | undefined {
    if (stop.cancelled) {
      const message = 'It was cancelled before anybody was asked.'
      return { error: toErrorInfo('WORKFLOW_ABORTED', message), certainty: 'nothing' }
    }
    return this.#deadline <= this.#options.steadyNow() ? tooLate('the next agent') : undefined
  }

  async #pause({ agent }: Candidate, retry: number): Promise<boolean> {
    const { policy, steadyNow } = this.#options
    const { traceId } = this.#envelope.metadata
    const wait = toBackoff(policy.backoff, traceId, agent.name, retry)
    if (this.#around.cancellation.cancelled || steadyNow() + wait >= this.#deadline) return false
    const stop = new AbortController()
    const forget = this.#around.cancellation.onCancel(() => stop.abort())
    await sleep(wait, undefined, { signal: stop.signal }).catch(() => {})
    forget()
    return !this.#around.cancellation.cancelled
  }
}

/** The log is not an agent: this code is told apart by its detail. */
const unlogged = toErrorInfo(
  'INTERNAL_AGENT_ERROR',
  'It cannot be written down, so it is not done.',
  {
    details: { reason: 'log_unavailable' },
  },
)

const notNow = (name: string): Ending => ({
  error: toErrorInfo('AGENT_UNAVAILABLE', `${name} cannot be asked now.`, { retryable: true }),
  certainty: 'nothing',
  elsewhere: true,
})

const tooLate = (name: string): Ending => ({
  error: toErrorInfo('AGENT_TIMEOUT', `The time was over before ${name} could be asked.`),
  certainty: 'nothing',
  elsewhere: false,
})

/** Stopped by us says nothing about the agent. */
function toVerdict(ending: Ending, stop: Cancellation): 'well' | 'ill' | 'unclear' {
  if ('payload' in ending) return 'well'
  const { code } = ending.error
  if (code === 'WORKFLOW_ABORTED' && stop.cancelled) return 'unclear'
  if (ending.elsewhere) return 'unclear'
  return errorCodes[code].ill ? 'ill' : 'well'
}

const round = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000
