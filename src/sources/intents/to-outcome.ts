import type { Notice } from '../../capability/call.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import type { ErrorInfo } from './envelope/response.ts'
import { routingFailed } from './failures.ts'
import type { Routed } from './router/routing.ts'

/** From the one answer of the router to the outcome of a call. */
export function toOutcome(routed: Routed): Outcome {
  const { response } = routed
  const notices = [toNotice(routed)]
  return response.error
    ? { ...toFailed(routed, response.error), notices }
    : { kind: 'done', data: response.payload ?? {}, notices }
}

const doubt = 'Whether it took effect is not known: find out before you call it again.'

function toFailed({ response, state, cause }: Routed, error: ErrorInfo): Failed {
  const { agent, traceId } = response.metadata
  const details: JsonObject = { ...error.details, agent, traceId }
  const options = { retryable: error.retryable, ...(cause !== undefined && { cause }) }
  // First: whatever came after what may have acted, that is what counts.
  if (state === 'unknown')
    return routingFailed(
      'outcome_unknown',
      // An agent that routes itself has said so already.
      error.message.endsWith(doubt) ? error.message : `${error.message} ${doubt}`,
      { ...options, retryable: false, details: { ...details, code: error.code } },
    )
  if (error.details.reason === 'log_unavailable')
    return routingFailed('log_unavailable', error.message, { ...options, details })
  return routingFailed(error.code, error.message, { ...options, details })
}

/** For those who want to know who answered, and who did not. */
function toNotice({ route, response }: Routed): Notice {
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
      tried: tried.map((one) => ({ ...one })),
      ...(skipped.length > 0 && { skipped }),
    },
  }
}
