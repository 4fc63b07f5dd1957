import {
  type InputRequests,
  type InputRequiredResult,
  isInputRequiredResult,
  type Result,
  type Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { Exchange } from '../exchange.ts'
import { codes, RpcError } from '../rpc-error.ts'

const maxRounds = 8
/** Below the 60 seconds after which clients time out the call itself. */
const answerTimeoutMs = 55_000

/**
 * 2025 has no questions in results. The server sends them as requests while the call waits, and
 * repeats the call with the answers until it asks nothing more.
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
    if (round === maxRounds)
      throw new RpcError(
        codes.invalidParams,
        `The call still needs input after ${maxRounds} rounds of questions`,
      )
    const { inputRequests = {}, requestState } = result as InputRequiredResult
    const inputResponses = await sendQuestions(server, context, inputRequests, newId)
    result = await answer({ ...exchange, inputResponses, requestState })
  }
  return result
}

async function sendQuestions(
  server: Server,
  { mcpReq }: ServerContext,
  requests: InputRequests,
  newId: () => string,
): Promise<Record<string, unknown>> {
  const options = { relatedRequestId: mcpReq.id, timeout: answerTimeoutMs, signal: mcpReq.signal }
  const responses = Object.entries(requests).map(async ([key, { method, params }]) => {
    try {
      const request = dropUndefined({ method, params: params && withId(params, newId) })
      return [key, await server.request(request, anyResult, options)]
    } catch {
      // A timeout or an error counts as a cancelled question; the capability decides how to go on.
      return [key, { action: 'cancel' }]
    }
  })
  return Object.fromEntries(await Promise.all(responses))
}

/** Accepts every result: the capability that asked validates the answer. */
const anyResult: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'drawbridge', validate: (value) => ({ value }) },
}

/** 2025 requires an elicitation id for URLs. */
const withId = (params: object, newId: () => string): Record<string, unknown> =>
  'mode' in params && params.mode === 'url' ? { ...params, elicitationId: newId() } : { ...params }
