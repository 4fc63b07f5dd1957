import { setTimeout as sleep } from 'node:timers/promises'
import { Cancellation } from '../../../capability/cancellation.ts'
import type { Candidate } from '../agents/registry.ts'
import { type IntentEnvelope, toAttempt } from '../envelope/envelope.ts'
import { errorCodes } from '../envelope/error-codes.ts'
import { toErrorInfo } from '../envelope/response.ts'
import type { Journal } from '../log/journal.ts'
import { type AttemptResult, attempt } from './attempt.ts'
import { toBackoff } from './backoff.ts'
import type { DecidedRoute } from './choose-agents.ts'
import type { RouterOptions, RoutingContext } from './routing.ts'
import {
  type RoutingResult,
  runStrategy,
  type StrategyRequest,
  type StrategyRun,
} from './strategies.ts'

export interface ExecutionParts {
  readonly options: RouterOptions
  readonly around: RoutingContext
  readonly envelope: IntentEnvelope
  readonly decided: DecidedRoute
  readonly journal: Journal
}

/** One envelope on its way. */
export class Execution {
  readonly #options: RouterOptions
  readonly #around: RoutingContext
  readonly #envelope: IntentEnvelope
  readonly #decided: DecidedRoute
  readonly #journal: Journal
  #deadline = 0
  /** Of the last failure, for the operator. */
  cause: string | undefined

  constructor({ options, around, envelope, decided, journal }: ExecutionParts) {
    this.#options = options
    this.#around = around
    this.#envelope = envelope
    this.#decided = decided
    this.#journal = journal
  }

  async run(began: number): Promise<RoutingResult> {
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
    const run: StrategyRun = {
      plan,
      mayRepeat: intent?.mayRepeat ?? false,
      retries: policy.retries,
      race: decision.race ?? false,
      ask: (candidate, asked, retry) => this.#ask(candidate, asked, retry),
      pause: (candidate, retry) => this.#pause(candidate, retry),
    }
    return runStrategy(decision.strategy, run)
  }

  #ask(candidate: Candidate, asked: readonly string[], retry: number): StrategyRequest {
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
  ): Promise<AttemptResult> {
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
  async #write(agent: string): Promise<number | AttemptResult> {
    try {
      return await this.#journal.ask(agent)
    } catch (error) {
      this.cause = String(error)
      return { error: unlogged, certainty: 'nothing', elsewhere: false, cause: String(error) }
    }
  }

  #obstacle(stop: Cancellation): AttemptResult | undefined {
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

const notNow = (name: string): AttemptResult => ({
  error: toErrorInfo('AGENT_UNAVAILABLE', `${name} cannot be asked now.`, { retryable: true }),
  certainty: 'nothing',
  elsewhere: true,
})

const tooLate = (name: string): AttemptResult => ({
  error: toErrorInfo('AGENT_TIMEOUT', `The time was over before ${name} could be asked.`),
  certainty: 'nothing',
  elsewhere: false,
})

/** Stopped by us says nothing about the agent. */
function toVerdict(ending: AttemptResult, stop: Cancellation): 'well' | 'ill' | 'unclear' {
  if ('payload' in ending) return 'well'
  const { code } = ending.error
  if (code === 'WORKFLOW_ABORTED' && stop.cancelled) return 'unclear'
  if (ending.elsewhere) return 'unclear'
  return errorCodes[code].ill ? 'ill' : 'well'
}

/** To microseconds: more digits would only be longer. */
export const round = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000
