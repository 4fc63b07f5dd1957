import type { JSONRPCErrorResponse } from '@modelcontextprotocol/server'

/**
 * A JSON-RPC error, with the HTTP status and headers that go with it. `Drawbridge.call` throws it for an
 * unknown tool (code -32602) and for a missing scope (code -31403).
 */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  /** JSON-RPC error code. */
  readonly code: number
  /** Further information for the client, such as the failure code and the missing scopes. */
  readonly data: unknown
  /** HTTP status of the response. */
  readonly status: number
  /** HTTP headers of the response. */
  readonly headers: Readonly<Record<string, string>>

  constructor(code: number, message: string, options: RpcErrorOptions = {}) {
    super(message)
    this.code = code
    this.data = options.data
    this.status = options.status ?? 200
    this.headers = options.headers ?? {}
  }
}

export interface RpcErrorOptions {
  readonly data?: unknown
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

export const codes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** JSON-RPC's generic server error: the HTTP request was refused before any method ran. */
  server: -32000,
  sessionNotFound: -32001,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
  /** Our own code, outside the range that JSON-RPC reserves. */
  refused: -31403,
} as const

export interface RpcErrorContent {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The JSON-RPC error response: the only place that builds one, for every transport. */
export const toErrorMessage = (
  { code, message, data }: RpcErrorContent,
  id: string | number,
): JSONRPCErrorResponse => ({
  jsonrpc: '2.0',
  id,
  error: data === undefined ? { code, message } : { code, message, data },
})

/** The error response as text. `id` is `null` when the request's own id could not be read. */
export const toErrorBody = (error: RpcErrorContent, id: string | number | null = null): string =>
  JSON.stringify(toErrorMessage(error, id as string | number))

/** Unexpected errors become a plain "Internal error": their messages may hold private data. */
export const toRpcError = (error: unknown): RpcError =>
  error instanceof RpcError ? error : new RpcError(codes.internal, 'Internal error')

export const invalidParams = (message: string, data?: unknown): RpcError =>
  new RpcError(codes.invalidParams, message, { data })

/** Shortens text from a client before an error message quotes it. */
export const brief = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** The id of a request body, or `null` when it has none. */
export function toId(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('id' in body)) return null
  if (!('method' in body) || typeof body.method !== 'string') return null
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null
}
