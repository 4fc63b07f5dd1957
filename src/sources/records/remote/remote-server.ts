import { isPlainObject, type Json, type JsonObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { toRetryAfter } from '../../../upstream/retry-after.ts'
import { cannotRead, type ReadFailureCode, readFailures } from '../failures.ts'

export interface RemoteServerOptions {
  /** Where it is, without `/v1`. */
  readonly server: string
  /** Of a grant. */
  readonly token: string
  /** Milliseconds one answer may take. */
  readonly patience: number
}

export type QueryParameters = readonly (readonly [string, string | number | undefined])[]

const largestAnswer = 16 * 1024 * 1024
const longestMessage = 500

/** A resource server elsewhere that speaks the same read contract. */
export class RemoteServer {
  readonly #options: RemoteServerOptions

  constructor(options: RemoteServerOptions) {
    this.#options = options
  }

  get address(): string {
    return this.#options.server.replace(/\/+$/, '')
  }

  async get(
    path: readonly string[],
    query: QueryParameters,
    signal?: AbortSignal,
  ): Promise<JsonObject | Failed> {
    const { token, patience } = this.#options
    const url = new URL(`${this.address}/v1/${path.map(encodeURIComponent).join('/')}`)
    for (const [name, value] of query)
      if (value !== undefined) url.searchParams.append(name, String(value))
    const tooLong = AbortSignal.timeout(patience)
    try {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        // Wherever it would send us, the token is not meant for it.
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, tooLong]) : tooLong,
      })
      const body = await readJson(response)
      if (response.ok && isPlainObject(body)) return body as JsonObject
      return response.ok ? unavailable('it answered no JSON object') : toFailed(response, body)
    } catch (error) {
      return unavailable(toWords(error))
    }
  }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > largestAnswer) throw new Error(`it answered more than ${largestAnswer} bytes`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return undefined
  }
}

/** What the contract says, in our words. Not said here: what is called the same. */
const renamed: Readonly<Record<string, ReadFailureCode>> = {
  grant_stream_not_allowed: 'unknown_stream',
  'context.stream_not_allowed': 'unknown_stream',
  'context.instance_mismatch': 'connection_not_found',
  field_not_granted: 'unknown_field',
}

const carried = [
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
  const message = String(error.message ?? 'It does not say why.').slice(0, longestMessage)
  if (status === 429)
    return cannotRead('remote_busy', 'The server of these records is busy. Try again later.', {
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
    return cannotRead('owner_token_refused', 'An owner’s token is refused here.')
  if (status === 401 || status === 403)
    return cannotRead('remote_refused', 'The server of these records refuses its token.', {
      cause: `HTTP ${status} ${String(error.code ?? '')}: ${message}`,
    })
  return unavailable(`HTTP ${status}: ${message}`)
}

/** Only what whoever reads can put right is told to them. */
function toCode(said: string): ReadFailureCode | undefined {
  const code = renamed[said] ?? (Object.hasOwn(readFailures, said) ? said : undefined)
  return code !== undefined && readFailures[code as ReadFailureCode] === 'model'
    ? (code as ReadFailureCode)
    : undefined
}

/** `retry_with` is a name in some servers and an object in others. */
function toDetails(error: Readonly<Record<string, unknown>>): JsonObject {
  const { retry_with: again } = error
  const name = isPlainObject(again) ? again.field : again
  return {
    ...Object.fromEntries(
      carried.filter((key) => error[key] !== undefined).map((key) => [key, error[key] as Json]),
    ),
    ...(typeof name === 'string' && { retry_with: name }),
  }
}

export const unavailable = (cause: string): Failed =>
  cannotRead('remote_unavailable', 'The server of these records does not answer.', {
    cause,
    retryable: true,
  })

const toWords = (error: unknown): string => {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
