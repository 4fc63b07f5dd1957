import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  classifyInboundRequest,
  type InboundLegacyRoute,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { HttpRequest } from '../http-port.ts'
import { type Params, targetParams } from '../methods.ts'
import { brief, codes, RpcError } from '../rpc-error.ts'
import { modernRevision } from '../wire-names.ts'
import { decodeHeader, headerMismatch } from './param-headers.ts'

/** The classification of an HTTP request. */
export type Inbound =
  | ModernRequest
  | { readonly kind: 'notification' }
  | { readonly kind: 'legacy'; readonly route: InboundLegacyRoute }

export interface ModernRequest {
  readonly kind: 'request'
  readonly id: string | number
  readonly method: string
  readonly params: Params
  readonly meta: Params
  readonly client: ClientCapabilities
}

/**
 * Tells the eras apart and validates modern requests. A fast path recognises well-formed modern
 * requests; all others go through the SDK's classification, so that edge cases are decided as the
 * SDK decides them.
 */
export function readInbound(request: HttpRequest): Inbound {
  return readWellFormed(request) ?? classify(request)
}

function readWellFormed({ body, headers }: HttpRequest): ModernRequest | undefined {
  if (!isPlainObject(body)) return undefined
  const { jsonrpc, id, method, params } = body
  if (jsonrpc !== '2.0' || typeof method !== 'string') return undefined
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined
  if (!isPlainObject(params) || !isPlainObject(params._meta)) return undefined
  for (const key in body) if (!envelopeKeys.has(key)) return undefined
  const meta = params._meta
  if (meta[PROTOCOL_VERSION_META_KEY] !== modernRevision) return undefined
  if (headers['mcp-protocol-version'] !== modernRevision) return undefined
  if (headers['mcp-method'] !== method) return undefined
  const targetParam = targetParams.get(method)
  if (targetParam !== undefined && headers['mcp-name'] !== params[targetParam]) return undefined
  if (meta[CLIENT_INFO_META_KEY] !== undefined && !isSimpleInfo(meta[CLIENT_INFO_META_KEY]))
    return undefined
  if (meta[LOG_LEVEL_META_KEY] !== undefined) return undefined
  const client = meta[CLIENT_CAPABILITIES_META_KEY]
  if (!isPlainObject(client)) return undefined
  for (const key in client) if (!isPlainObject(client[key])) return undefined
  return { kind: 'request', id: id as string | number, method, params, meta, client }
}

const envelopeKeys = new Set(['jsonrpc', 'id', 'method', 'params'])

/** Accepts client info of plain strings; anything more is left to the SDK. */
function isSimpleInfo(info: unknown): boolean {
  if (!isPlainObject(info)) return false
  for (const key in info) if (typeof info[key] !== 'string') return false
  return typeof info.name === 'string' && typeof info.version === 'string'
}

function classify({ method: httpMethod, headers, body }: HttpRequest): Inbound {
  const version = headers['mcp-protocol-version']
  const outcome = classifyInboundRequest(
    dropUndefined({
      httpMethod,
      protocolVersionHeader: version,
      mcpMethodHeader: headers['mcp-method'],
      mcpNameHeader: headers['mcp-name'],
      body,
    }),
  )
  if (outcome.kind === 'legacy') return { kind: 'legacy', route: outcome }
  if (outcome.kind === 'reject')
    throw new RpcError(outcome.code, brief(outcome.message), {
      status: outcome.httpStatus,
      data: outcome.data,
    })
  const requestedVersion = outcome.classification.revision
  if (requestedVersion !== modernRevision)
    throw new RpcError(
      codes.unsupportedVersion,
      `Unsupported protocol version: ${requestedVersion}`,
      {
        status: 400,
        data: { supported: [modernRevision], requested: requestedVersion ?? 'unknown' },
      },
    )
  if (outcome.messageKind === 'notification') return { kind: 'notification' }
  const { id, method, params = {} } = outcome.message
  if (version === undefined)
    throw headerMismatch('(missing)', 'the MCP-Protocol-Version header is absent')
  if (headers['mcp-method'] === undefined)
    throw headerMismatch('(missing)', `the method is ${method} and the Mcp-Method header is absent`)
  checkNameHeader(method, params, headers['mcp-name'])
  const meta = isPlainObject(params._meta) ? params._meta : {}
  const client = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities
  return { kind: 'request', id, method, params, meta, client }
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
