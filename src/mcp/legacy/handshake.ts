import { isInitializeRequest, type JSONRPCErrorResponse } from '@modelcontextprotocol/server'
import { isPlainObject } from '../../capability/json.ts'
import { codes } from '../rpc-error.ts'

/** The SDK calls a malformed handshake its own internal error; it is the client's. */
export function findBadHandshake(message: unknown): JSONRPCErrorResponse | undefined {
  if (!isPlainObject(message) || message.method !== 'initialize') return undefined
  const { id } = message
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  if (isInitializeRequest(message)) return undefined
  const error = { code: codes.invalidParams, message: 'The parameters of initialize are not valid' }
  return { jsonrpc: '2.0', id, error }
}
