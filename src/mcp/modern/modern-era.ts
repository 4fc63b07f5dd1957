import type { Result } from '@modelcontextprotocol/server'
import { type Listener, type LogLevel, silentListener } from '../../capability/listener.ts'
import { type Era, type Outlet, toCachedResponse, toResponse } from '../engine.ts'
import type { Exchange } from '../exchange.ts'
import type { Params } from '../message.ts'
import { methods } from '../methods.ts'
import { RequestListener } from '../request-listener.ts'
import type { Surface } from '../surface.ts'
import { toMembers } from '../to-result.ts'
import { protocolMeta } from '../wire-names.ts'

/** 2026-07-28: stateless, so it has the common methods only. */
export const modernEra: Era<Exchange> = {
  methods,
  toBody: (surface, { id }, result) =>
    Object.isFrozen(result)
      ? toCachedResponse(id, toCachedBytes(result, surface))
      : toResponse(id, toResultText(result, surface)),
}

/** Every result has a type and the server's identity, which is the same in all of them. */
function toResultText(result: Result, surface: Surface): string {
  const { _meta: meta, resultType = 'complete' } = result
  const ownMeta = meta === undefined ? '{}' : JSON.stringify(meta)
  const comma = ownMeta === '{}' ? '' : ','
  return `{"resultType":"${resultType}"${toMembers(result, '_meta')},"_meta":{"${protocolMeta.serverInfo}":${surface.identityText}${comma}${ownMeta.slice(1)}}`
}

/** Lists are frozen and stay the same object until something changes, so their JSON is cached by object. */
const cachedBytes = new WeakMap<object, Uint8Array>()

function toCachedBytes(result: Result, surface: Surface): Uint8Array {
  let bytes = cachedBytes.get(result)
  if (!bytes) {
    bytes = Buffer.from(toResultText(result, surface))
    cachedBytes.set(result, bytes)
  }
  return bytes
}

export function toModernListener(meta: Params, outlet: Pick<Outlet, 'send'>): Listener {
  const { progressToken } = meta
  const level = meta[protocolMeta.logLevel] as LogLevel | undefined
  return progressToken === undefined && level === undefined
    ? silentListener
    : new RequestListener(outlet, progressToken, { level })
}
