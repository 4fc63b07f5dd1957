import {
  classifyInboundRequest,
  isInitializeRequest,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
} from '@modelcontextprotocol/server'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { HttpRequest } from './http-port.ts'
import { type Message, noParams, type Params } from './message.ts'
import { brief, RpcError } from './rpc-error.ts'

/**
 * The SDK's judgement of messages that are not plainly valid. This is the only module that loads the SDK's server, and
 * it is loaded when the first such message arrives: loading it takes longer than the rest of a start.
 */

/** The era of a request by its headers and body; throws the SDK's refusal. */
export function judgeEra({ method, headers, body }: EraEvidence): Verdict {
  const outcome = classifyInboundRequest(
    dropUndefined({
      httpMethod: method,
      protocolVersionHeader: headers['mcp-protocol-version'],
      mcpMethodHeader: headers['mcp-method'],
      mcpNameHeader: headers['mcp-name'],
      body,
    }),
  )
  if (outcome.kind === 'legacy') return { era: 'legacy' }
  if (outcome.kind === 'reject')
    throw new RpcError(outcome.code, brief(outcome.message), {
      status: outcome.httpStatus,
      data: outcome.data,
    })
  return { era: 'modern', revision: outcome.classification.revision }
}

type EraEvidence = Pick<HttpRequest, 'method' | 'headers' | 'body'>

export type Verdict =
  | { readonly era: 'legacy' }
  | { readonly era: 'modern'; readonly revision: string | undefined }

/** A message that the SDK accepts, or `undefined`. */
export function judgeMessage(body: unknown): Message | undefined {
  if (isJSONRPCRequest(body)) {
    const { id, method, params } = body
    return { kind: 'request', id, method, params: toParams(params) }
  }
  if (isJSONRPCNotification(body))
    return { kind: 'notification', method: body.method, params: toParams(body.params) }
  if (!isJSONRPCResponse(body)) return undefined
  // An error without an id answers no question: ours have ids from 0.
  const { id = -1 } = body
  return { kind: 'response', id, result: 'result' in body ? body.result : undefined }
}

const toParams = (params: unknown): Params => (isPlainObject(params) ? params : noParams)

export const isInitialize = (request: object): boolean => isInitializeRequest(request)
