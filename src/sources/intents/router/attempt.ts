import { Cancellation } from '../../../capability/cancellation.ts'
import type { Candidate } from '../agents/registry.ts'
import {
  type AgentFailure,
  type AgentResult,
  isAgentFailure,
  toAgentFailure,
} from '../envelope/agent-result.ts'
import { toAttempt } from '../envelope/envelope.ts'
import { errorCodes } from '../envelope/error-codes.ts'
import { toErrorInfo } from '../envelope/response.ts'
import { askAgent } from './ask-agent.ts'
import type { HealthVerdict } from './health.ts'
import type { RoutingRun } from './routing.ts'

/** Timers are accurate to a millisecond: with less time left, an agent cannot answer any more. */
const minAttemptMs = 1

export interface Attempt {
  readonly candidate: Candidate
  /** Names of the agents that were asked before, in order. */
  readonly previousAgents: readonly string[]
  /** 0 for the first attempt at this agent. */
  readonly retry: number
}

export interface StartedAttempt {
  /** Cancels this attempt alone. */
  readonly stop: Cancellation
  readonly result: Promise<AgentResult>
}

/** Starts one attempt at one agent. Cancelling the call cancels the attempt too. */
export function startAttempt(run: RoutingRun, attempt: Attempt): StartedAttempt {
  const stop = new Cancellation()
  const unsubscribe = run.context.cancellation.onCancel((reason) => stop.cancel(reason))
  const result = makeAttempt(run, attempt, stop).finally(unsubscribe)
  return { stop, result }
}

/** Reserves a slot at the agent, logs the attempt, asks the agent, and logs its answer. */
async function makeAttempt(
  run: RoutingRun,
  { candidate, previousAgents, retry }: Attempt,
  stop: Cancellation,
): Promise<AgentResult> {
  const { health, policy, now, steadyNow } = run.options
  const { agent } = candidate
  if (stop.cancelled) return toAgentFailure(cancelledEarly, { certainty: 'nothing' })
  if (run.deadline - steadyNow() < minAttemptMs) return toOutOfTime('the next agent')
  const ticket = health.enter(agent.name, agent.concurrency)
  if (!ticket) return toNotAvailable(agent.name)
  let verdict: HealthVerdict = 'unknown'
  try {
    const entry = await logAttempt(run, agent.name)
    if (isAgentFailure(entry)) return entry
    const { number } = entry
    const startedAt = steadyNow()
    const remainingMs = run.deadline - startedAt
    if (remainingMs < minAttemptMs) return toOutOfTime(agent.name)
    const result = await askAgent({
      candidate,
      envelope: toAttempt(run.envelope, previousAgents, retry),
      number,
      timeoutMs: Math.min(remainingMs, agent.timeout ?? policy.attemptTimeout),
      deadline: now() + remainingMs,
      stop,
      onLate: (outcome) => run.journal.late(number, agent.name, outcome),
    })
    verdict = toVerdict(result, stop)
    if (isAgentFailure(result)) run.lastCause = result.cause
    run.journal.answer(number, agent.name, steadyNow() - startedAt, result)
    return result
  } finally {
    health.leave(ticket, verdict)
  }
}

/** Write-ahead logging: an attempt with effects is on disk before the agent is asked. */
async function logAttempt(
  run: RoutingRun,
  agent: string,
): Promise<{ readonly number: number } | AgentFailure> {
  try {
    return { number: await run.journal.ask(agent) }
  } catch (error) {
    const cause = String(error)
    run.lastCause = cause
    return toAgentFailure(logUnavailable, { certainty: 'nothing', failover: false, cause })
  }
}

/** The protocol has no code for the log: `details.reason` identifies it. */
const logUnavailable = toErrorInfo(
  'INTERNAL_AGENT_ERROR',
  'The execution log cannot be written, so the agent was not asked.',
  { details: { reason: 'log_unavailable' } },
)

const cancelledEarly = toErrorInfo(
  'WORKFLOW_ABORTED',
  'The call was cancelled before an agent was asked.',
)

const toNotAvailable = (name: string): AgentFailure => {
  const message = `${name} cannot take another request now.`
  return toAgentFailure(toErrorInfo('AGENT_UNAVAILABLE', message, { retryable: true }), {
    failover: true,
  })
}

const toOutOfTime = (name: string): AgentFailure => {
  const message = `The deadline passed before ${name} could be asked.`
  return toAgentFailure(toErrorInfo('AGENT_TIMEOUT', message), {
    certainty: 'nothing',
    failover: false,
  })
}

/** Our own cancellation, and a payload that failed validation, say nothing about the agent. */
function toVerdict(result: AgentResult, stop: Cancellation): HealthVerdict {
  if (!isAgentFailure(result)) return 'healthy'
  const { code } = result.error
  if (code === 'WORKFLOW_ABORTED' && stop.cancelled) return 'unknown'
  if (result.failover) return 'unknown'
  return errorCodes[code].unhealthy ? 'unhealthy' : 'healthy'
}
