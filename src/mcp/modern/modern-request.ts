import type { HttpRequest } from '../http-port.ts'
import type { Message, Params, Request } from '../message.ts'
import { targetParams } from '../methods.ts'
import { brief } from '../rpc-error.ts'
import { modernRevision } from '../wire-names.ts'
import { type Envelope, readPlainEnvelope, toEnvelope } from './envelope.ts'
import { decodeHeader, headerMismatch } from './param-headers.ts'

/** A request of 2026-07-28 whose envelope and headers are valid. */
export interface ModernRequest {
  readonly request: Request
  readonly envelope: Envelope
}

/** Recognises a request of 2026-07-28 that is plainly valid. */
export function readPlainModern(
  message: Message,
  headers: HttpRequest['headers'],
): ModernRequest | undefined {
  if (message.kind !== 'request') return undefined
  const { method, params } = message
  if (headers['mcp-protocol-version'] !== modernRevision) return undefined
  if (headers['mcp-method'] !== method) return undefined
  const targetParam = targetParams.get(method)
  if (targetParam !== undefined && headers['mcp-name'] !== params[targetParam]) return undefined
  const envelope = readPlainEnvelope(params)
  return envelope && { request: message, envelope }
}

/** Checks what the SDK leaves to servers: the headers that a request must have. */
export function checkModern(request: Request, headers: HttpRequest['headers']): ModernRequest {
  const { method, params } = request
  if (headers['mcp-protocol-version'] === undefined)
    throw headerMismatch('(missing)', 'the MCP-Protocol-Version header is absent')
  if (headers['mcp-method'] === undefined)
    throw headerMismatch('(missing)', `the method is ${method} and the Mcp-Method header is absent`)
  checkNameHeader(method, params, headers['mcp-name'])
  return { request, envelope: toEnvelope(params) }
}

function checkNameHeader(method: string, params: Params, header: string | undefined): void {
  const param = targetParams.get(method)
  if (param === undefined) return
  const value = params[param]
  if (header === undefined) {
    if (typeof value === 'string')
      throw headerMismatch(
        '(missing)',
        `${param} is ${brief(value)} and the Mcp-Name header is absent`,
      )
    return
  }
  const name = decodeHeader(header)
  if (name === undefined) throw headerMismatch(header, 'the Mcp-Name header is not valid base64')
  if (typeof value === 'string' && name !== value)
    throw headerMismatch(brief(header), `${param} is ${brief(value)}`)
}
