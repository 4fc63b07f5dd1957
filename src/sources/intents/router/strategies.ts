import type { JsonObject } from '../../../capability/json.ts'
import type { Candidate } from '../agents/registry.ts'
import {
  type AgentFailure,
  type AgentResult,
  isAgentFailure,
  toAgentFailure,
} from '../envelope/agent-result.ts'
import type { Strategy } from '../envelope/envelope.ts'
import { errorCodes } from '../envelope/error-codes.ts'
import { toErrorInfo } from '../envelope/response.ts'
import { type StartedAttempt, startAttempt } from './attempt.ts'
import { waitBeforeRetry } from './backoff.ts'
import type { DecidedRoute } from './choose-agents.ts'
import type { AttemptSummary, RoutingResult, RoutingRun } from './routing.ts'

type RunStrategy = (run: RoutingRun, route: DecidedRoute) => Promise<RoutingResult>

/** Carries out a decision with the strategy it names. */
export const runStrategy: RunStrategy = (run, route) =>
  strategies[route.decision.strategy](run, route)

const strategies: Readonly<Record<Strategy, RunStrategy>> = {
  direct: askInTurn,
  fallback: askInTurn,
  broadcast: askAll,
  parallel: (run, route) =>
    route.decision.race ? askAllForFirst(run, route) : askAllForBest(run, route),
}

/** Asks one agent after the other until one succeeds or failover is not allowed. */
async function askInTurn(run: RoutingRun, { plan, intent }: DecidedRoute): Promise<RoutingResult> {
  const mayRepeat = intent?.mayRepeat ?? false
  const { retries } = run.options.policy
  const tried: AttemptSummary[] = []
  const previousAgents: string[] = []
  let last = noAgent
  for (const candidate of plan) {
    const { name } = candidate.agent
    for (let retry = 0; retry <= retries; retry++) {
      if (retry > 0 && !(await waitBeforeRetry(run, name, retry))) break
      const result = await startAttempt(run, { candidate, previousAgents, retry }).result
      tried.push(toSummary(name, result, retry))
      if (!isAgentFailure(result) || !mayFailOver(result, mayRepeat))
        return { result, agent: name, tried }
      last = { result, agent: name }
      if (!mayRetry(result)) break
    }
    previousAgents.push(name)
  }
  return { ...last, tried }
}

/**
 * Safety first: after an attempt that may have taken effect, only a repeatable intent is asked
 * again. Then usefulness: the error must be one that another attempt can avoid.
 */
const mayFailOver = (
  { error, certainty, failover = errorCodes[error.code].failover }: AgentFailure,
  mayRepeat: boolean,
): boolean => (mayRepeat || certainty === 'nothing') && (failover || error.retryable)

/** A pause may help this agent. */
const mayRetry = ({ error, failover }: AgentFailure): boolean =>
  !failover && error.code !== 'CAPABILITY_NOT_FOUND'

/** Asks all agents at once and returns every answer, in the order of the plan. */
async function askAll(run: RoutingRun, { plan }: DecidedRoute): Promise<RoutingResult> {
  const results = await Promise.all(startAll(run, plan).map(({ result }) => result))
  const tried = results.map((result, index) => toSummary(nameAt(plan, index), result))
  const outcomes: readonly JsonObject[] = results.map((result, index) => ({
    agent: nameAt(plan, index),
    ...(isAgentFailure(result)
      ? { status: 'error', error: { ...result.error } }
      : { status: 'success', payload: result.payload }),
  }))
  if (results.some((result) => !isAgentFailure(result)))
    return { result: { payload: { outcomes } }, agent: 'broadcast', tried }
  const [first = noAgent.result] = results.filter(isAgentFailure)
  const error = { ...first.error, details: { ...first.error.details, outcomes } }
  return { result: { ...first, error }, agent: 'broadcast', tried }
}

/** Asks all agents at once; the successful agent that comes first in the plan wins. */
async function askAllForBest(run: RoutingRun, { plan }: DecidedRoute): Promise<RoutingResult> {
  const attempts = startAll(run, plan)
  const tried: AttemptSummary[] = []
  let last = noAgent
  for (const [index, attempt] of attempts.entries()) {
    const result = await attempt.result
    const agent = nameAt(plan, index)
    tried.push(toSummary(agent, result))
    if (!isAgentFailure(result)) {
      for (const { stop } of attempts.slice(index + 1)) stop.cancel(notNeeded)
      return { result, agent, tried: [...tried, ...plan.slice(index + 1).map(toUnneeded)] }
    }
    last = { result, agent }
  }
  return { ...last, tried }
}

/** Asks all agents at once; the fastest success wins. The one strategy that depends on timing. */
async function askAllForFirst(run: RoutingRun, { plan }: DecidedRoute): Promise<RoutingResult> {
  const attempts = startAll(run, plan)
  const results: (AgentResult | undefined)[] = attempts.map(() => undefined)
  const winner = await new Promise<number | undefined>((resolve) => {
    let pending = attempts.length
    for (const [index, attempt] of attempts.entries())
      void attempt.result.then((result) => {
        results[index] = result
        if (!isAgentFailure(result)) resolve(index)
        else if (--pending === 0) resolve(undefined)
      })
    if (attempts.length === 0) resolve(undefined)
  })
  for (const { stop } of attempts) stop.cancel(notNeeded)
  const tried = plan.map((candidate, index) => {
    const result = results[index]
    return result ? toSummary(candidate.agent.name, result) : toUnneeded(candidate)
  })
  const index = winner ?? results.length - 1
  return { result: results[index] ?? noAgent.result, agent: nameAt(plan, index), tried }
}

const notNeeded = 'another agent has answered'

const startAll = (run: RoutingRun, plan: readonly Candidate[]): readonly StartedAttempt[] =>
  plan.map((candidate) => startAttempt(run, { candidate, previousAgents: [], retry: 0 }))

const nameAt = (plan: readonly Candidate[], index: number): string =>
  plan[index]?.agent.name ?? 'router'

const toUnneeded = ({ agent }: Candidate): AttemptSummary => ({
  agent: agent.name,
  outcome: 'not_needed',
})

const toSummary = (agent: string, result: AgentResult, retry = 0): AttemptSummary => ({
  agent,
  ...(retry > 0 && { retry }),
  ...(isAgentFailure(result)
    ? { outcome: result.error.code, certainty: result.certainty }
    : { outcome: 'ok' as const }),
})

const noAgent: { readonly agent: string; readonly result: AgentFailure } = {
  agent: 'router',
  result: toAgentFailure(toErrorInfo('ROUTING_ERROR', 'No agent was available to ask.')),
}
