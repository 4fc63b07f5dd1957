import type { Json, JsonObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { type Egress, EgressError } from '../../../upstream/egress/egress.ts'
import { type GuardedFetch, toGuardedFetch } from '../../../upstream/egress/guarded-fetch.ts'
import { egressRefused } from '../../../upstream/failures.ts'
import { toRetryAfter } from '../../../upstream/retry-after.ts'
import { cannotRead, type ReadFailureCode, readFailures } from '../failures.ts'

export interface RemoteServerOptions {
  /** Base URL, without `/v1`. */
  readonly server: string
  /** A grant token. */
  readonly token: string
  readonly egress: Egress
  /** Timeout of one request in milliseconds. */
  readonly timeoutMs?: number
}

export type RemoteQuery = readonly (readonly [string, string | number | undefined])[]

const defaultTimeoutMs = 10_000
const maxResponseBytes = 16 * 1024 * 1024
const maxMessageLength = 500

/** HTTP client for a resource server that implements the same read contract. */
export class RemoteServer {
  readonly #options: RemoteServerOptions
  #egress: Egress
  #fetch: GuardedFetch

  constructor(options: RemoteServerOptions) {
    this.#options = options
    this.#egress = options.egress
    this.#fetch = toGuardedFetch(options.egress)
  }

  get egress(): Egress {
    return this.#egress
  }

  /** Decides later connections; those in the pool of the former `egress` are not used again. */
  set egress(egress: Egress) {
    this.#egress = egress
    this.#fetch = toGuardedFetch(egress)
  }

  get token(): string {
    return this.#options.token
  }

  get address(): string {
    return this.#options.server.replace(/(?<!\/)\/+$/, '')
  }

  async get(
    path: readonly string[],
    query: RemoteQuery,
    signal?: AbortSignal,
  ): Promise<JsonObject | Failed> {
    const { token, timeoutMs = defaultTimeoutMs } = this.#options
    const url = new URL(`${this.address}/v1/${path.map(encodeURIComponent).join('/')}`)
    for (const [name, value] of query)
      if (value !== undefined) url.searchParams.append(name, String(value))
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const response = await this.#fetch(url, {
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      })
      const body = await readJson(response)
      if (response.ok && isPlainObject(body)) return body as JsonObject
      return response.ok
        ? remoteUnavailable('the response is not a JSON object')
        : toFailed(response, body)
    } catch (error) {
      return error instanceof EgressError
        ? egressRefused(error.message)
        : remoteUnavailable(toMessage(error))
    }
  }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxResponseBytes)
      throw new Error(`the response is larger than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return parseJson(Buffer.concat(chunks).toString())
}

/** The contract's error codes that differ from our failure codes. */
const failureCodes: Readonly<Record<string, ReadFailureCode>> = {
  grant_stream_not_allowed: 'unknown_stream',
  'context.stream_not_allowed': 'unknown_stream',
  'context.instance_mismatch': 'connection_not_found',
  field_not_granted: 'unknown_field',
}

const forwardedDetails = [
  'param',
  'available_connections',
  'available_connection_count',
  'available_connections_truncated',
  'available_connections_omitted',
] as const

function toFailed(response: Response, body: unknown): Failed {
  const { status } = response
  const error = isPlainObject(body) && isPlainObject(body.error) ? body.error : {}
  const code = toCode(String(error.code ?? ''))
  const message = String(error.message ?? 'No reason given.').slice(0, maxMessageLength)
  if (status === 429)
    return cannotRead('remote_busy', 'The records server is busy. Try again later.', {
      retryable: true,
      details: {
        retry_after_ms: toRetryAfter(
          response.headers.get('retry-after'),
          response.headers.get('date'),
        ),
      },
    })
  if (code !== undefined)
    return cannotRead(code, message, {
      details: toDetails(error),
      retryable: code.startsWith('ambiguous'),
    })
  if (error.code === 'owner_token_refused')
    return cannotRead('owner_token_refused', 'Owner tokens are refused here.')
  if (status === 401 || status === 403)
    return cannotRead('remote_refused', 'The records server refused its token.', {
      cause: `HTTP ${status} ${String(error.code ?? '')}: ${message}`,
    })
  // Following a redirect could leak the token to another server.
  if (status >= 300 && status < 400)
    return remoteUnavailable(`HTTP ${status}, a redirect, which is not followed`)
  return remoteUnavailable(`HTTP ${status}: ${message}`)
}

/** Passes on only failures that the model can fix. */
function toCode(remoteCode: string): ReadFailureCode | undefined {
  const code =
    failureCodes[remoteCode] ?? (Object.hasOwn(readFailures, remoteCode) ? remoteCode : undefined)
  return code !== undefined && readFailures[code as ReadFailureCode] === 'model'
    ? (code as ReadFailureCode)
    : undefined
}

/** `retry_with` is a string in some servers and an object in others. */
function toDetails(error: Readonly<Record<string, unknown>>): JsonObject {
  const { retry_with: retryWith } = error
  const name = isPlainObject(retryWith) ? retryWith.field : retryWith
  return {
    ...Object.fromEntries(
      forwardedDetails
        .filter((key) => error[key] !== undefined)
        .map((key) => [key, error[key] as Json]),
    ),
    retry_with: typeof name === 'string' ? name : undefined,
  }
}

export const remoteUnavailable = (cause: string): Failed =>
  cannotRead('remote_unavailable', 'The records server is unavailable.', {
    cause,
    retryable: true,
  })

const toMessage = (error: unknown): string => {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
