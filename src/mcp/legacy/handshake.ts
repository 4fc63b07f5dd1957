import type { ClientCapabilities, Result } from '@modelcontextprotocol/server'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainClient, toAskingCapabilities } from '../client-capabilities.ts'
import type { Params } from '../message.ts'
import { isPlainInfo } from '../modern/envelope.ts'
import { invalidParams } from '../rpc-error.ts'
import { type Surface, toServerCapabilities } from '../surface.ts'
import { legacyRevisions } from '../wire-names.ts'

const maxNameLength = 100

/** What a session keeps of a valid `initialize`: little, because there are many sessions. */
export interface Handshake {
  readonly revision: string
  readonly client: ClientCapabilities
  readonly clientName: string
}

/** Reads `initialize`; throws `RpcError` when its parameters are not valid. */
export const readHandshake = (params: Params): Handshake | Promise<Handshake> =>
  isPlainHandshake(params) ? toHandshake(params) : judgeHandshake(params)

async function judgeHandshake(params: Params): Promise<Handshake> {
  const { isInitialize } = await import('../judge.ts')
  if (!isInitialize({ method: 'initialize', params }))
    throw invalidParams('The parameters of initialize are not valid')
  return toHandshake(params)
}

/** Parameters that are plainly valid; the SDK judges all others. */
function isPlainHandshake({ protocolVersion, capabilities, clientInfo }: Params): boolean {
  return (
    typeof protocolVersion === 'string' && isPlainInfo(clientInfo) && isPlainClient(capabilities)
  )
}

function toHandshake({ protocolVersion, capabilities, clientInfo }: Params): Handshake {
  const isSupported = legacyRevisions.includes(protocolVersion as string)
  return {
    revision: (isSupported ? protocolVersion : legacyRevisions[0]) as string,
    client: toAskingCapabilities(capabilities as ClientCapabilities),
    clientName: toOwnCopy((clientInfo as { name: string }).name.slice(0, maxNameLength)),
  }
}

/** V8 keeps the whole text of which a string is a slice. */
const toOwnCopy = (text: string): string => Buffer.from(text).toString()

/** The result of `initialize`. */
export const toInitializeResult = (surface: Surface, { revision }: Handshake): Result =>
  dropUndefined({
    protocolVersion: revision,
    capabilities: toServerCapabilities(surface),
    serverInfo: surface.identity,
    instructions: surface.instructions,
  })
