import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  classifyInboundRequest,
  type InboundLegacyRoute,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server'
import { isPlainObject } from '../../capability/json.ts'
import type { HttpRequest } from '../http-port.ts'
import { type Params, subjects } from '../methods.ts'
import { brief, codes, RpcError } from '../rpc-error.ts'
import { modernRevision } from '../wire-names.ts'
import { decodeHeader, headersDisagree } from './param-headers.ts'

/** What a POST turned out to be. */
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
 * Tells the eras apart and holds a modern request to its rules. What is plainly in order is
 * recognised at a glance; whatever is not goes through the SDK's own classification, so that every
 * odd case is judged exactly as it judges it.
 */
export function readInbound(request: HttpRequest): Inbound {
  return atAGlance(request) ?? inDetail(request)
}

function atAGlance({ body, headers }: HttpRequest): ModernRequest | undefined {
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
  const subject = subjects.get(method)
  if (subject !== undefined && headers['mcp-name'] !== params[subject]) return undefined
  if (meta[CLIENT_INFO_META_KEY] !== undefined && !isNamed(meta[CLIENT_INFO_META_KEY]))
    return undefined
  if (meta[LOG_LEVEL_META_KEY] !== undefined) return undefined
  const client = meta[CLIENT_CAPABILITIES_META_KEY]
  if (!isPlainObject(client)) return undefined
  for (const key in client) if (!isPlainObject(client[key])) return undefined
  return { kind: 'request', id: id as string | number, method, params, meta, client }
}

const envelopeKeys = new Set(['jsonrpc', 'id', 'method', 'params'])

/** Only names and versions: an implementation that says more is looked at in detail. */
function isNamed(info: unknown): boolean {
  if (!isPlainObject(info)) return false
  for (const key in info) if (typeof info[key] !== 'string') return false
  return typeof info.name === 'string' && typeof info.version === 'string'
}

function inDetail({ method: httpMethod, headers, body }: HttpRequest): Inbound {
  const version = headers['mcp-protocol-version']
  const outcome = classifyInboundRequest({
    httpMethod,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(headers['mcp-method'] !== undefined && { mcpMethodHeader: headers['mcp-method'] }),
    ...(headers['mcp-name'] !== undefined && { mcpNameHeader: headers['mcp-name'] }),
    ...(body !== undefined && { body }),
  })
  if (outcome.kind === 'legacy') return { kind: 'legacy', route: outcome }
  if (outcome.kind === 'reject')
    throw new RpcError(outcome.code, brief(outcome.message), {
      status: outcome.httpStatus,
      data: outcome.data,
    })
  const requested = outcome.classification.revision
  if (requested !== modernRevision)
    throw new RpcError(codes.unsupportedVersion, `Unsupported protocol version: ${requested}`, {
      status: 400,
      data: { supported: [modernRevision], requested: requested ?? 'unknown' },
    })
  if (outcome.messageKind === 'notification') return { kind: 'notification' }
  const { id, method, params = {} } = outcome.message
  if (version === undefined)
    throw headersDisagree('(missing)', 'the MCP-Protocol-Version header is absent')
  if (headers['mcp-method'] === undefined)
    throw headersDisagree(
      '(missing)',
      `the method is ${method} and the Mcp-Method header is absent`,
    )
  checkNameHeader(method, params, headers['mcp-name'])
  const meta = isPlainObject(params._meta) ? params._meta : {}
  const client = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities
  return { kind: 'request', id, method, params, meta, client }
}

function checkNameHeader(method: string, params: Params, header: string | undefined): void {
  const subject = subjects.get(method)
  if (subject === undefined) return
  const value = params[subject]
  if (header === undefined) {
    if (typeof value === 'string')
      throw headersDisagree(
        '(missing)',
        `${subject} is ${brief(value)} and the Mcp-Name header is absent`,
      )
    return
  }
  const said = decodeHeader(header)
  if (said === undefined) throw headersDisagree(header, 'the Mcp-Name header is not valid base64')
  if (typeof value === 'string' && said !== value)
    throw headersDisagree(brief(header), `${subject} is ${brief(value)}`)
}
