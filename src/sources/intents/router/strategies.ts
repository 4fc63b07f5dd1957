import type { Cancellation } from '../../../capability/cancellation.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Candidate } from '../agents/registry.ts'
import type { Strategy } from '../envelope/envelope.ts'
import { errorCodes } from '../envelope/error-codes.ts'
import { type AgentResult, type ErrorInfo, toErrorInfo } from '../envelope/response.ts'
import type { AttemptResult } from './attempt.ts'

/** What a strategy needs to carry out a plan. */
export interface StrategyRun {
  readonly plan: readonly Candidate[]
  /** Whether it may be asked again after it may have acted. */
  readonly mayRepeat: boolean
  readonly retries: number
  readonly race: boolean
  /** Asks one agent once, unless the time is over or somebody has left. */
  ask(candidate: Candidate, asked: readonly string[], retry: number): StrategyRequest
  /** Waits before the same agent is asked again; `false` when there is no time for that. */
  pause(candidate: Candidate, retry: number): Promise<boolean>
}

export interface StrategyRequest {
  readonly stop: Cancellation
  readonly ending: Promise<AttemptResult>
}

/** What came of it all. */
export interface RoutingResult {
  readonly said: AgentResult
  /** Whose word it is. */
  readonly agent: string
  /** In the order of the plan, whoever was faster. */
  readonly tried: readonly Tried[]
}

export interface Tried {
  readonly agent: string
  readonly retry?: number
  /** `not_needed`: a better one had answered. */
  readonly outcome: 'ok' | ErrorInfo['code'] | 'not_needed'
  readonly certainty?: 'nothing' | 'told' | 'unknown'
}

export const runStrategy = (strategy: Strategy, run: StrategyRun): Promise<RoutingResult> =>
  table[strategy](run)

const table: Readonly<Record<Strategy, (run: StrategyRun) => Promise<RoutingResult>>> = {
  direct: inTurn,
  fallback: inTurn,
  broadcast: askAll,
  parallel: (run) => (run.race ? askAllForTheFirst(run) : askAllForTheBest(run)),
}

/** One after the other, until one succeeds or nobody else may be asked. */
async function inTurn(run: StrategyRun): Promise<RoutingResult> {
  const tried: Tried[] = []
  const asked: string[] = []
  let last: { readonly agent: string; readonly error: ErrorInfo } | undefined
  for (const candidate of run.plan) {
    const { name } = candidate.agent
    for (let retry = 0; retry <= run.retries; retry++) {
      if (retry > 0 && !(await run.pause(candidate, retry))) break
      const ending = await run.ask(candidate, asked, retry).ending
      tried.push(toTried(name, ending, retry))
      if ('payload' in ending) return { said: ending, agent: name, tried }
      last = { agent: name, error: ending.error }
      if (!mayGoOn(ending, run.mayRepeat)) return { said: last, agent: name, tried }
      if (!helpsToWait(ending)) break
    }
    asked.push(name)
  }
  const { agent, error } = last ?? nobody
  return { said: { error }, agent, tried }
}

/**
 * Whether somebody may be asked after this. First the effects: what may have happened is not asked
 * for again unless that does no harm. Then the sense of it.
 */
const mayGoOn = (
  ending: Extract<AttemptResult, { error: unknown }>,
  mayRepeat: boolean,
): boolean => {
  const { error, certainty, elsewhere = errorCodes[error.code].elsewhere } = ending
  return (mayRepeat || certainty === 'nothing') && (elsewhere || error.retryable)
}

/** Whether the same agent may do better in a moment. */
const helpsToWait = ({ error, elsewhere }: Extract<AttemptResult, { error: unknown }>): boolean =>
  !elsewhere && error.code !== 'CAPABILITY_NOT_FOUND'

/** Everybody, at the same time; all that they say, in the order of the plan. */
async function askAll(run: StrategyRun): Promise<RoutingResult> {
  const endings = await Promise.all(run.plan.map((candidate) => run.ask(candidate, [], 0).ending))
  const tried = endings.map((ending, index) => toTried(nameAt(run, index), ending))
  const outcomes: readonly JsonObject[] = endings.map((ending, index) => ({
    agent: nameAt(run, index),
    ...('payload' in ending
      ? { status: 'success', payload: ending.payload }
      : { status: 'error', error: { ...ending.error } }),
  }))
  if (endings.some((ending) => 'payload' in ending))
    return { said: { payload: { outcomes } }, agent: 'broadcast', tried }
  const [first] = endings
  const error = first && 'error' in first ? first.error : nobody.error
  return {
    said: { error: { ...error, details: { ...error.details, outcomes } } },
    agent: 'broadcast',
    tried,
  }
}

/** Everybody, at the same time; the success of the one who stands first in the plan wins. */
async function askAllForTheBest(run: StrategyRun): Promise<RoutingResult> {
  const asked = run.plan.map((candidate) => run.ask(candidate, [], 0))
  const tried: Tried[] = []
  let last = nobody
  for (const [index, { ending: pending }] of asked.entries()) {
    const ending = await pending
    const agent = nameAt(run, index)
    tried.push(toTried(agent, ending))
    if ('payload' in ending) {
      for (const { stop } of asked.slice(index + 1)) stop.cancel(notNeeded)
      return { said: ending, agent, tried: [...tried, ...toSpares(run, index + 1)] }
    }
    last = { agent, error: ending.error }
  }
  return { said: { error: last.error }, agent: last.agent, tried }
}

/** The same, but whoever is first to succeed wins. Who that is cannot be foreseen. */
async function askAllForTheFirst(run: StrategyRun): Promise<RoutingResult> {
  const asked = run.plan.map((candidate) => run.ask(candidate, [], 0))
  const endings: (AttemptResult | undefined)[] = asked.map(() => undefined)
  const winner = await new Promise<number | undefined>((resolve) => {
    let left = asked.length
    for (const [index, { ending: pending }] of asked.entries())
      void pending.then((ending) => {
        endings[index] = ending
        if ('payload' in ending) resolve(index)
        else if (--left === 0) resolve(undefined)
      })
    if (asked.length === 0) resolve(undefined)
  })
  for (const { stop } of asked) stop.cancel(notNeeded)
  const tried = endings.map(
    (ending, index): Tried =>
      ending
        ? toTried(nameAt(run, index), ending)
        : { agent: nameAt(run, index), outcome: 'not_needed' },
  )
  const ending = endings[winner ?? endings.length - 1]
  const agent = nameAt(run, winner ?? endings.length - 1)
  return { said: ending ?? { error: nobody.error }, agent, tried }
}

const notNeeded = 'another agent has answered'

const nameAt = (run: StrategyRun, index: number): string => run.plan[index]?.agent.name ?? 'router'

const toSpares = (run: StrategyRun, from: number): Tried[] =>
  run.plan.slice(from).map(({ agent }) => ({ agent: agent.name, outcome: 'not_needed' }))

const toTried = (agent: string, ending: AttemptResult, retry = 0): Tried => ({
  agent,
  ...(retry > 0 && { retry }),
  ...('payload' in ending
    ? { outcome: 'ok' as const }
    : { outcome: ending.error.code, certainty: ending.certainty }),
})

const nobody: { readonly agent: string; readonly error: ErrorInfo } = {
  agent: 'router',
  error: toErrorInfo('ROUTING_ERROR', 'There was nobody to ask.'),
}
