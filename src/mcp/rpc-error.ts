/** A JSON-RPC error on its way out, with the HTTP status that goes with it. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown
  readonly status: number
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
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
  /** Ours: outside what the protocol keeps for itself. */
  refused: -31403,
} as const

/** What a client sent, as far as it is worth repeating to it. */
export const brief = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

export const invalidParams = (message: string, data?: unknown): RpcError =>
  new RpcError(codes.invalidParams, message, { data })

/** An error carries the id of its request wherever that can be read. */
export function toId(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('id' in body) || !('method' in body))
    return null
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null
}
