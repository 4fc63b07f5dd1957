import type { Result } from '@modelcontextprotocol/server'
import type { Exchange } from './exchange.ts'
import type { Body } from './http-port.ts'
import type { Params, Request, RequestId } from './message.ts'
import { brief, codes, RpcError, toErrorBody, toRpcError } from './rpc-error.ts'
import type { Surface } from './surface.ts'

/** Turns a request and its context into a result. Expected errors are thrown as `RpcError`. */
export type Method<Context = Exchange> = (
  surface: Surface,
  params: Params,
  context: Context,
) => Result | Promise<Result>

/** A protocol era: the methods that it has, and how it writes a result. */
export interface Era<Context> {
  readonly methods: ReadonlyMap<string, Method<Context>>
  readonly toBody: (surface: Surface, request: Request, result: Result) => Body
}

/** Carries the messages about one request to its client. */
export interface Outlet {
  /** Sends a message that comes before the answer: a notification, or a question. */
  send(message: object): void
  succeed(body: Body): void
  fail(error: RpcError, body: string): void
  /** The client cancelled the request: it gets no answer. */
  abandon?(): void
}

/**
 * Answers one request: the engine of every transport and era. An answer that is available at once is sent at once,
 * without waiting for a promise.
 */
export function serveRequest<Context>(
  surface: Surface,
  era: Era<Context>,
  request: Request,
  context: Context,
  outlet: Outlet,
): void {
  const fail = (error: unknown) => failRequest(request.id, error, outlet)
  const succeed = (result: Result) => {
    let body: Body
    try {
      body = era.toBody(surface, request, result)
    } catch (error) {
      return fail(error)
    }
    outlet.succeed(body)
  }
  try {
    const method = era.methods.get(request.method)
    if (!method) throw methodNotFound(request.method)
    const result = method(surface, request.params, context)
    if (result instanceof Promise) result.then(succeed, fail)
    else succeed(result)
  } catch (error) {
    fail(error)
  }
}

export function failRequest(id: RequestId, error: unknown, outlet: Pick<Outlet, 'fail'>): void {
  const rpcError = toRpcError(error)
  outlet.fail(rpcError, toErrorBody(rpcError, id))
}

const methodNotFound = (method: string): RpcError =>
  new RpcError(codes.methodNotFound, `Method not found: ${brief(method)}`, { status: 404 })

/** The text of a response. */
export const toResponse = (id: RequestId, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`

/** A response with a result whose bytes are kept: they are not copied. */
export const toCachedResponse = (id: RequestId, result: Uint8Array): Body => [
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`,
  result,
  '}',
]
