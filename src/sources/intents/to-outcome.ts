import type { Notice } from '../../capability/call.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { routingFailed } from './failures.ts'
import type { ErrorInfo } from './response.ts'
import type { Routed } from './router.ts'

/** From the one answer of the router to the outcome of a call. */
export function toOutcome(routed: Routed): Outcome {
  const { response } = routed
  const notices = [toNotice(routed)]
  return response.error
    ? { ...toFailed(routed, response.error), notices }
    : { kind: 'done', data: response.payload ?? {}, notices }
}

function toFailed({ response, state, cause }: Routed, error: ErrorInfo): Failed {
  const { agent, traceId } = response.metadata
  const details: JsonObject = { ...error.details, agent, traceId }
  const options = { retryable: error.retryable, ...(cause !== undefined && { cause }) }
  if (error.details.reason === 'log_unavailable')
    return routingFailed('log_unavailable', error.message, { ...options, details })
  if (state === 'unknown')
    return routingFailed(
      'outcome_unknown',
      `${error.message} Whether it took effect is not known: find out before you call it again.`,
      { ...options, retryable: false, details: { ...details, code: error.code } },
    )
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
