import {
  type InputRequests,
  type InputRequiredResult,
  isInputRequiredResult,
  type Result,
  type Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import type { Exchange } from '../exchange.ts'
import { codes, RpcError } from '../rpc-error.ts'

const mostRounds = 8
/** Less than the minute after which clients give up on the call itself. */
const patience = 55_000

/**
 * 2025 has no questions in results: they are requests to the client while the call waits. Puts
 * them, and makes the call again with the answers, until it needs none.
 */
export async function askLegacyClient(
  server: Server,
  context: ServerContext,
  answer: (exchange: Exchange) => Result | Promise<Result>,
  exchange: Exchange,
  newId: () => string,
): Promise<Result> {
  let result = await answer(exchange)
  for (let round = 0; isInputRequiredResult(result); round++) {
    if (round === mostRounds)
      throw new RpcError(codes.invalidParams, `Still not answered after ${mostRounds} rounds`)
    const { inputRequests = {}, requestState } = result as InputRequiredResult
    const inputResponses = await put(server, context, inputRequests, newId)
    result = await answer({ ...exchange, inputResponses, requestState })
  }
  return result
}

async function put(
  server: Server,
  { mcpReq }: ServerContext,
  requests: InputRequests,
  newId: () => string,
): Promise<Record<string, unknown>> {
  const options = { relatedRequestId: mcpReq.id, timeout: patience, signal: mcpReq.signal }
  const responses = Object.entries(requests).map(async ([key, { method, params }]) => {
    try {
      const request = { method, ...(params && { params: withId(params, newId) }) }
      return [key, await server.request(request, anyResult, options)]
    } catch {
      // No answer is an answer: whoever asked decides what to do without one.
      return [key, { action: 'cancel' }]
    }
  })
  return Object.fromEntries(await Promise.all(responses))
}

/** Whoever asked checks what came back. */
const anyResult: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'drawbridge', validate: (value) => ({ value }) },
}

/** 2025 wants an id for a page to visit. */
const withId = (params: object, newId: () => string): Record<string, unknown> =>
  'mode' in params && params.mode === 'url' ? { ...params, elicitationId: newId() } : { ...params }
