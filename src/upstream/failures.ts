import { type FailureTable, failureSet } from '../capability/failure.ts'
import type { Failed } from '../capability/outcome.ts'

/** What can go wrong on the way to an agent and back, and who can put it right. */
export const upstreamFailures = {
  upstream_refused: 'model',
  upstream_tool_error: 'model',
  upstream_busy: 'model',
  upstream_asks: 'model',
  upstream_too_large: 'model',
  upstream_stopped: 'model',
  outcome_unknown: 'model',
  upstream_unavailable: 'operator',
  upstream_invalid: 'operator',
  upstream_credentials: 'operator',
  upstream_endpoint: 'operator',
} as const satisfies FailureTable

export const upstreamFailed = failureSet(upstreamFailures)

export const upstreamRefused = (message: string): Failed =>
  upstreamFailed('upstream_refused', message)

/** It did not answer, or said that it cannot: another time it may. */
export const upstreamUnavailable = (cause: string, retryAfter?: number): Failed =>
  upstreamFailed('upstream_unavailable', 'The agent behind this cannot be reached.', {
    retryable: true,
    cause,
    ...(retryAfter !== undefined && { details: { retry_after_ms: retryAfter } }),
  })

/** It answered with something that means nothing here. */
export const upstreamInvalid = (cause: string): Failed =>
  upstreamFailed('upstream_invalid', 'The agent behind this does not answer as it should.', {
    cause,
  })

export const upstreamUnauthorized = (cause: string): Failed =>
  upstreamFailed('upstream_credentials', 'The agent behind this does not accept who we are.', {
    cause,
  })

export const unusableEndpoint = (cause: string): Failed =>
  upstreamFailed('upstream_endpoint', 'The agent behind this has no address to call.', { cause })

export const upstreamBusy = (retryAfter: number | undefined): Failed => {
  const when = retryAfter === undefined ? 'later' : `in ${Math.ceil(retryAfter / 1000)} s`
  return upstreamFailed('upstream_busy', `The agent has too much to do. Try again ${when}.`, {
    retryable: true,
    ...(retryAfter !== undefined && { details: { retry_after_ms: retryAfter } }),
  })
}

export const upstreamTooLarge = (limit: number): Failed =>
  upstreamFailed(
    'upstream_too_large',
    `The agent's answer is larger than ${limit} bytes. Ask for less.`,
    { details: { limit } },
  )

export const upstreamStopped = (): Failed =>
  upstreamFailed('upstream_stopped', 'The call was stopped before the agent had answered.')
