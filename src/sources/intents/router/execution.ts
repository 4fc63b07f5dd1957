import { type Effects, readOnly } from '../../../capability/effects.ts'
import {
  type AgentResult,
  isAgentFailure,
  toAgentFailure,
  toResponse,
} from '../envelope/agent-result.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { type AgentResponse, toErrorInfo } from '../envelope/response.ts'
import { Journal } from '../log/journal.ts'
import type { DecidedRoute, RoutingDecision, RoutingRefusal } from './choose-agents.ts'
import type {
  RoutedResponse,
  RouterOptions,
  RoutingContext,
  RoutingResult,
  RoutingRun,
} from './routing.ts'
import { runStrategy } from './strategies.ts'

export interface ExecutionParts {
  readonly options: RouterOptions
  readonly context: RoutingContext
  readonly envelope: IntentEnvelope
}

/** Carries out one decision: logs it, runs its strategy, logs and returns the response. */
export async function execute(
  { options, context, envelope }: ExecutionParts,
  route: DecidedRoute,
  startedAt: number,
): Promise<RoutedResponse> {
  const { decision, intent } = route
  const effects = intent?.effects ?? readOnly
  const journal = createJournal(options, context, effects.writes)
  const { source, address, caller, resumed } = context
  journal.open(
    resumed ? { ...resumed, decision } : { source, address, caller, effects, envelope, decision },
  )
  const { timeout } = options.policy
  const run: RoutingRun = {
    options,
    context,
    envelope,
    journal,
    deadline: startedAt + Math.min(timeout, context.timeout ?? timeout),
    lastCause: undefined,
  }
  const routing = decision.refusal ? refuse(decision.refusal) : await runStrategy(run, route)
  const { result, agent, tried } = routing
  const state = toState(routing, effects)
  const response = buildResponse(options, envelope, result, agent)
  await journal.end(state, response, options.steadyNow() - startedAt)
  const cause = run.lastCause
  return {
    response,
    state,
    route: { decision, agent, tried },
    ...(cause !== undefined && { cause }),
  }
}

const refuse = ({ code, message, retryable }: RoutingRefusal): RoutingResult => ({
  result: toAgentFailure(toErrorInfo(code, message, { retryable })),
  agent: 'router',
  tried: [],
})

const toState = ({ result, tried }: RoutingResult, effects: Effects): RoutedResponse['state'] => {
  if (!isAgentFailure(result)) return 'done'
  const inDoubt = effects.writes && tried.some(({ certainty }) => certainty === 'unknown')
  return inDoubt ? 'unknown' : 'failed'
}

export interface LoggedAnswer {
  readonly result: AgentResult
  readonly agent: string
  readonly decision: RoutingDecision
}

/** Ends an interrupted execution whose answer is already in the log. Asks no agent. */
export async function completeExecution(
  { options, context, envelope }: ExecutionParts,
  resumed: NonNullable<RoutingContext['resumed']>,
  { result, agent, decision }: LoggedAnswer,
): Promise<RoutedResponse> {
  const journal = createJournal(options, context, true)
  journal.open({ ...resumed, decision })
  const state = isAgentFailure(result) ? 'failed' : 'done'
  const response = buildResponse(options, envelope, result, agent)
  await journal.end(state, response, 0)
  return { response, state, route: { decision, agent, tried: [] } }
}

function createJournal(options: RouterOptions, { id }: RoutingContext, synced: boolean): Journal {
  const { log, now, encryptPayload: encrypt, onOperationalError = () => {} } = options
  return new Journal({ id, log, synced, now, encrypt, onOperationalError })
}

export function buildResponse(
  { now }: RouterOptions,
  { metadata: { traceId } }: IntentEnvelope,
  result: AgentResult,
  agent: string,
): AgentResponse {
  const timestamp = new Date(now()).toISOString()
  return Object.freeze(toResponse(result, Object.freeze({ agent, traceId, timestamp })))
}
