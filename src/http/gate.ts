import type { Headers, HttpReply } from '../mcp/http-port.ts'
import { codes, toErrorBody } from '../mcp/rpc-error.ts'
import type { Arrival } from './arrival.ts'

/**
 * One stage that every request passes. It answers the request, now or when its promise settles,
 * or lets it pass to the next gate. Synchronous gates return no promise: they cost no event loop turn.
 */
export type Gate = (arrival: Arrival, reply: HttpReply) => 'pass' | 'answered' | Promise<void>

export interface RefuseOptions {
  /** The JSON-RPC error code. */
  readonly code?: number
  readonly headers?: Headers
}

/** Answers with a JSON-RPC error, which is the error format that MCP clients can read. */
export const refuse = (
  reply: HttpReply,
  status: number,
  message: string,
  { code = codes.server, headers }: RefuseOptions = {},
): void => reply.answer(status, toErrorBody({ code, message }), headers)
