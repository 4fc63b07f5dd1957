import type { ClientCapabilities, Result } from '@modelcontextprotocol/server'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Params } from '../message.ts'
import { isPlainInfo } from '../modern/envelope.ts'
import { invalidParams } from '../rpc-error.ts'
import { type Surface, toServerCapabilities } from '../surface.ts'
import { legacyRevisions } from '../wire-names.ts'

/** A valid `initialize`. */
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
    typeof protocolVersion === 'string' &&
    isPlainInfo(clientInfo) &&
    isPlainObject(capabilities) &&
    Object.entries(capabilities).every(([key, value]) => plainCapabilities[key]?.(value) === true)
  )
}

const isEmptyObject = (value: unknown): boolean =>
  isPlainObject(value) && Object.keys(value).length === 0

const plainCapabilities: Readonly<Record<string, (value: unknown) => boolean>> = {
  roots: (value) =>
    isPlainObject(value) &&
    Object.entries(value).every(
      ([key, flag]) => key === 'listChanged' && typeof flag === 'boolean',
    ),
  sampling: isEmptyObject,
  elicitation: (value) =>
    isPlainObject(value) &&
    Object.entries(value).every(([key, mode]) => /^(form|url)$/.test(key) && isEmptyObject(mode)),
}

function toHandshake({ protocolVersion, capabilities, clientInfo }: Params): Handshake {
  const isSupported = legacyRevisions.includes(protocolVersion as string)
  return {
    revision: (isSupported ? protocolVersion : legacyRevisions[0]) as string,
    client: capabilities as ClientCapabilities,
    clientName: (clientInfo as { name: string }).name,
  }
}

/** The result of `initialize`. */
export const toInitializeResult = (surface: Surface, { revision }: Handshake): Result =>
  dropUndefined({
    protocolVersion: revision,
    capabilities: toServerCapabilities(surface),
    serverInfo: surface.identity,
    instructions: surface.instructions,
  })
