import type { Result } from '@modelcontextprotocol/server'
import { logLevels } from '../../capability/listener.ts'
import type { Method } from '../engine.ts'
import type { Params } from '../message.ts'
import { methods } from '../methods.ts'
import { invalidParams } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { askingClient } from './ask-client.ts'
import { type Handshake, readHandshake, toInitializeResult } from './handshake.ts'
import type { LegacyExchange, LegacySession } from './legacy-session.ts'

/** The methods of 2025: the common ones, whose questions become requests, and those of a session. */
export const legacyMethods: ReadonlyMap<string, Method<LegacyExchange>> = new Map([
  ...[...methods]
    .filter(([name]) => name !== 'server/discover')
    .map(([name, method]): [string, Method<LegacyExchange>] => [name, askingClient(method)]),
  ['initialize', initialize],
  ['ping', () => ({})],
  [
    'resources/subscribe',
    (_, params, { session, caller }) => {
      session.subscribe(toUri(params), caller)
      return {}
    },
  ],
  [
    'resources/unsubscribe',
    (_, params, { session }) => {
      session.unsubscribe(toUri(params))
      return {}
    },
  ],
  [
    'logging/setLevel',
    (_, { level }, { session }) => {
      const logLevel = logLevels.find((name) => name === level)
      if (!logLevel) throw invalidParams(`level must be one of ${logLevels.join(', ')}`)
      session.level = logLevel
      return {}
    },
  ],
] satisfies [string, Method<LegacyExchange>][])

function initialize(
  surface: Surface,
  params: Params,
  { session }: LegacyExchange,
): Result | Promise<Result> {
  const handshake = readHandshake(params)
  return handshake instanceof Promise
    ? handshake.then((judged) => begin(surface, session, judged))
    : begin(surface, session, handshake)
}

function begin(surface: Surface, session: LegacySession, handshake: Handshake): Result {
  session.begin(handshake)
  return toInitializeResult(surface, handshake)
}

function toUri({ uri }: Params): string {
  if (typeof uri !== 'string') throw invalidParams('uri must be a string')
  return uri
}
