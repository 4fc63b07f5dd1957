import type { JsonObject } from '../../capability/json.ts'
import type { Failed, Notice, Outcome } from '../../capability/outcome.ts'
import type { ErrorInfo } from './envelope/response.ts'
import { routingFailed } from './failures.ts'
import type { RoutedResponse } from './router/routing.ts'

/** The outcome of a call from the router's response. */
export function toOutcome(routedResponse: RoutedResponse): Outcome {
  const { response } = routedResponse
  const notices = [toNotice(routedResponse)]
  return response.error
    ? { ...toFailed(routedResponse, response.error), notices }
    : { kind: 'done', data: response.payload ?? {}, notices }
}

const unknownOutcomeAdvice = 'It is not known if it took effect: find out before you call it again.'

function toFailed({ response, state, cause }: RoutedResponse, error: ErrorInfo): Failed {
  const { agent, traceId } = response.metadata
  const details: JsonObject = { ...error.details, agent, traceId }
  const options = { retryable: error.retryable, ...(cause !== undefined && { cause }) }
  // Checked first: a possible effect matters more than the error of a later attempt.
  if (state === 'unknown')
    return routingFailed(
      'outcome_unknown',
      // A remote agent that is itself a router has already added the sentence.
      error.message.endsWith(unknownOutcomeAdvice)
        ? error.message
        : `${error.message} ${unknownOutcomeAdvice}`,
      { ...options, retryable: false, details: { ...details, code: error.code } },
    )
  if (error.details.reason === 'egress_refused')
    return routingFailed('egress_refused', error.message, { ...options, details })
  if (error.details.reason === 'log_unavailable')
    return routingFailed('log_unavailable', error.message, { ...options, details })
  return routingFailed(error.code, error.message, { ...options, details })
}

/** The route for `_meta`: the agents that were tried and those that were skipped. */
function toNotice({ route, response }: RoutedResponse): Notice {
  const { decision, tried, agent } = route
  const skipped = decision.candidates.flatMap(({ agent, skipped }) =>
    skipped ? [{ agent, why: skipped }] : [],
  )
  return {
    about: 'route',
    text: `Answered by ${agent}.`,
    data: {
      intent: decision.intent,
      version: decision.version,
      strategy: decision.strategy,
      ...(decision.race && { race: true }),
      agent,
      traceId: response.metadata.traceId,
      tried: tried.map((attempt) => ({ ...attempt })),
      ...(skipped.length > 0 && { skipped }),
    },
  }
}
