import type { ClientCapabilities } from '@modelcontextprotocol/server'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { isPlainClient } from '../client-capabilities.ts'
import type { Params } from '../message.ts'
import { codes, RpcError } from '../rpc-error.ts'
import { modernRevision, protocolMeta } from '../wire-names.ts'

/** What every request of 2026-07-28 says of its client, in `_meta`. */
export interface Envelope {
  readonly meta: Params
  readonly client: ClientCapabilities
}

/** True if a message claims to be of the stateless era, rightly or not. */
export const claimsModern = ({ _meta: meta }: Params): boolean =>
  isPlainObject(meta) && protocolMeta.protocolVersion in meta

/** Reads an envelope that is plainly valid; all others are left to the SDK. */
export function readPlainEnvelope({ _meta: meta }: Params): Envelope | undefined {
  if (!isPlainObject(meta) || meta[protocolMeta.protocolVersion] !== modernRevision)
    return undefined
  if (meta[protocolMeta.logLevel] !== undefined) return undefined
  const info = meta[protocolMeta.clientInfo]
  if (info !== undefined && !isPlainInfo(info)) return undefined
  const client = meta[protocolMeta.clientCapabilities]
  return isPlainClient(client) ? { meta, client } : undefined
}

/** The envelope of a request that the SDK has accepted. */
export function toEnvelope({ _meta: meta }: Params): Envelope {
  const fields: Params = isPlainObject(meta) ? meta : {}
  return { meta: fields, client: fields[protocolMeta.clientCapabilities] as ClientCapabilities }
}

/** Client info of plain strings. */
export function isPlainInfo(info: unknown): boolean {
  if (!isPlainObject(info)) return false
  for (const key in info) if (typeof info[key] !== 'string') return false
  return typeof info.name === 'string' && typeof info.version === 'string'
}

/** The SDK leaves the revision to servers: it refuses no message for it. */
export function checkRevision(revision: string | undefined): void {
  if (revision !== modernRevision) throw unsupportedVersion(revision)
}

export const unsupportedVersion = (requested = 'unknown'): RpcError =>
  new RpcError(codes.unsupportedVersion, `Unsupported protocol version: ${requested}`, {
    status: 400,
    data: { supported: [modernRevision], requested },
  })
