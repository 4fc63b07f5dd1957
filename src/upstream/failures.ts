import { type FailureOptions, type FailureTable, failureSet } from '../capability/failure.ts'
import type { Failed } from '../capability/outcome.ts'
import { quoteUpstreamText } from './upstream-text.ts'

/** Failures of calls to upstream agents, by who can fix them. */
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
  upstream_redirected: 'operator',
  egress_refused: 'operator',
} as const satisfies FailureTable

export const upstreamFailed = failureSet(upstreamFailures)

export const upstreamRefused = (message: string): Failed =>
  upstreamFailed('upstream_refused', message)

/** No answer, or a temporary error such as 503: a retry may succeed. */
export const upstreamUnavailable = (cause: string, retryAfterMs?: number): Failed =>
  upstreamFailed('upstream_unavailable', 'The agent behind this tool cannot be reached.', {
    retryable: true,
    cause,
    ...toRetryDetails(retryAfterMs),
  })

/** The answer violates the protocol or cannot be parsed. */
export const upstreamInvalid = (cause: string): Failed =>
  upstreamFailed('upstream_invalid', 'The agent behind this tool sent an invalid answer.', {
    cause,
  })

/** Redirects are not followed: the target would get the arguments and the credential. */
export const upstreamRedirected = (status: number, location: string | null | undefined): Failed =>
  upstreamFailed(
    'upstream_redirected',
    'The agent behind this tool redirected the call, and redirects are not followed.',
    { cause: `HTTP ${status} to ${quoteUpstreamText(location ?? 'no location')}` },
  )

/** Servers answer a completed POST with 301, 302 or 303 too; 307 and 308 ask to send it again. */
export const mayHaveActed = (redirectStatus: number): boolean => redirectStatus < 307

/** The cause names the address; the message, which a caller may see, does not. */
export const egressRefused = (cause: string): Failed =>
  upstreamFailed('egress_refused', 'The policy of this server does not allow the connection.', {
    cause,
  })

export const upstreamUnauthorized = (cause: string): Failed =>
  upstreamFailed('upstream_credentials', 'The agent behind this tool rejected our credentials.', {
    cause,
  })

export const unusableEndpoint = (cause: string): Failed =>
  upstreamFailed('upstream_endpoint', 'The agent behind this tool has no usable endpoint.', {
    cause,
  })

export const upstreamBusy = (retryAfterMs: number | undefined): Failed => {
  const when = retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s`
  return upstreamFailed('upstream_busy', `The agent is busy. Try again ${when}.`, {
    retryable: true,
    ...toRetryDetails(retryAfterMs),
  })
}

const toRetryDetails = (retryAfterMs: number | undefined): Pick<FailureOptions, 'details'> =>
  retryAfterMs === undefined ? {} : { details: { retry_after_ms: retryAfterMs } }

export const upstreamTooLarge = (maxBytes: number): Failed =>
  upstreamFailed(
    'upstream_too_large',
    `The agent's answer is larger than ${maxBytes} bytes. Ask for less.`,
    { details: { limit: maxBytes } },
  )

export const upstreamStopped = (): Failed =>
  upstreamFailed('upstream_stopped', 'The call was cancelled before the agent answered.')
