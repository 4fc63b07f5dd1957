import { isInitializeRequest, type JSONRPCErrorResponse } from '@modelcontextprotocol/server'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { codes, toErrorMessage } from '../rpc-error.ts'

/** The SDK answers a malformed `initialize` with an internal error; this is invalid params. */
export function findBadHandshake(request: unknown): JSONRPCErrorResponse | undefined {
  if (!isPlainObject(request) || request.method !== 'initialize') return undefined
  const { id } = request
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  if (isInitializeRequest(request)) return undefined
  const message = 'The parameters of initialize are not valid'
  return toErrorMessage({ code: codes.invalidParams, message }, id)
}
