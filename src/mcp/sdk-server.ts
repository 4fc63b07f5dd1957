import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  type Result,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import {
  type Listener,
  type LogEntry,
  type LogLevel,
  logLevels,
  type Progress,
} from '../capability/call.ts'
import type { Caller } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import { type Announcement, toNotification } from './announcements.ts'
import type { Exchange } from './exchange.ts'
import { askLegacyClient } from './legacy/legacy-questions.ts'
import { type Method, methods, type Params } from './methods.ts'
import { concerns, mayRead } from './modern/listen.ts'
import { brief, codes, invalidParams, RpcError, toRpcError } from './rpc-error.ts'
import { type Surface, toServerCapabilities } from './surface.ts'

export type Era = 'legacy' | 'modern'

/**
 * The same methods behind one of the SDK's server objects, for the transports that keep a
 * connection: stdio in both eras, and the sessions of 2025 over HTTP. The SDK does the handshake,
 * the framing and the era's shape of a result; parameters are checked by the methods themselves,
 * so that every transport says the same about them.
 */
export function createSdkServer(
  surface: Surface,
  era: Era,
  owner: Caller,
  callerOf: (context: ServerContext) => Caller = () => owner,
): Server {
  const server = new Server(surface.identity, {
    capabilities: toServerCapabilities(surface),
    ...(surface.instructions !== undefined && { instructions: surface.instructions }),
  })
  // The SDK calls a level that does not exist its own internal error.
  server.removeRequestHandler('logging/setLevel')
  const subscriptions = new Map<string, Caller>()
  const session: Session = { level: 'debug' }
  const own =
    era === 'legacy' ? new Map([...subscribing(subscriptions), ...logging(session)]) : noMethods
  server.fallbackRequestHandler = async (request, context) => {
    const { method: name, params = {} } = request
    try {
      const method = methods.get(name) ?? own.get(name)
      if (!method) throw new RpcError(codes.methodNotFound, `Method not found: ${brief(name)}`)
      const listener = new ContextListener(context, era, session)
      const exchange = toExchange(server, era, callerOf(context), context, listener)
      if (era === 'modern') return await method(surface, params, exchange)
      const answer = (again: Exchange) => method(surface, params, again)
      const result = await askLegacyClient(server, context, answer, exchange, surface.newId)
      return toLegacy(server, name, result, surface, params)
    } catch (error) {
      const { code, message, data } = toRpcError(error)
      throw new ProtocolError(code, message, data)
    }
  }
  forward(server, surface, (announcement) => {
    // 2026 over stdio: the SDK holds the subscriptions and picks from what it is told.
    if (era === 'modern' || announcement.kind !== 'updated')
      return concerns(surface, owner, announcement)
    const caller = subscriptions.get(announcement.uri)
    return caller !== undefined && concerns(surface, caller, announcement)
  })
  return server
}

const noMethods: ReadonlyMap<string, Method> = new Map()

/** What only 2025 has: list changes go to everybody, updates to those who subscribed. */
function subscribing(subscriptions: Map<string, Caller>): ReadonlyMap<string, Method> {
  const uriOf = ({ uri }: Params): string => {
    if (typeof uri !== 'string') throw invalidParams('uri must be a string')
    return uri
  }
  return new Map<string, Method>([
    [
      'resources/subscribe',
      (surface, params, { caller }) => {
        const uri = uriOf(params)
        if (!mayRead(surface, caller, uri))
          throw invalidParams(`Resource not found: ${brief(uri)}`, { uri: brief(uri) })
        subscriptions.set(uri, caller)
        return {}
      },
    ],
    [
      'resources/unsubscribe',
      (_, params) => {
        subscriptions.delete(uriOf(params))
        return {}
      },
    ],
  ])
}

function toExchange(
  server: Server,
  era: Era,
  caller: Caller,
  context: ServerContext,
  listener: Listener,
): Exchange {
  const { mcpReq } = context
  const key = context.http?.req?.headers.get('idempotency-key')
  const client =
    era === 'modern'
      ? (mcpReq.envelope as Params | undefined)?.[CLIENT_CAPABILITIES_META_KEY]
      : server.getClientCapabilities()
  return {
    caller,
    client: (client ?? {}) as ClientCapabilities,
    cancellation: new Cancellation(mcpReq.signal),
    listener,
    inputResponses: mcpReq.inputResponses,
    requestState: mcpReq.requestState(),
    ...(key && { headers: { 'idempotency-key': key } }),
  }
}

interface Session {
  /** What is below it is not told. */
  level: LogLevel
}

/** 2025 says for a whole session how much it wants to hear; 2026 says it with every request. */
const logging = (session: Session): ReadonlyMap<string, Method> =>
  new Map<string, Method>([
    [
      'logging/setLevel',
      (_, { level }) => {
        const known = logLevels.find((one) => one === level)
        if (!known) throw invalidParams(`level must be one of ${logLevels.join(', ')}`)
        session.level = known
        return {}
      },
    ],
  ])

/** A class, because one is made for every request and hardly any is ever told anything. */
class ContextListener implements Listener {
  readonly #request: ServerContext['mcpReq']
  readonly #era: Era
  readonly #session: Session

  constructor({ mcpReq }: ServerContext, era: Era, session: Session) {
    this.#request = mcpReq
    this.#era = era
    this.#session = session
  }

  progress({ done, total, message }: Progress): void {
    const progressToken = this.#request._meta?.progressToken
    if (progressToken === undefined) return
    const params = {
      progressToken,
      progress: done,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    this.#request.notify({ method: 'notifications/progress', params }).catch(gone)
  }

  log({ level, data, logger }: LogEntry): void {
    const asked = (this.#request.envelope as Params | undefined)?.[LOG_LEVEL_META_KEY]
    const wanted = (this.#era === 'modern' ? asked : this.#session.level) as LogLevel | undefined
    if (wanted === undefined || logLevels.indexOf(level) < logLevels.indexOf(wanted)) return
    const params = { level, data, logger }
    this.#request.notify({ method: 'notifications/message', params } as Note).catch(gone)
  }
}

type Note = Parameters<ServerContext['mcpReq']['notify']>[0]

/** Nobody is left to be told. */
const gone = (): void => {}

/** 2025 knows no caching, and no structured content but objects. */
function toLegacy(
  server: Server,
  name: string,
  result: Result,
  surface: Surface,
  params: Params,
): Result {
  if (name === 'tools/call') {
    const tool = surface.projection.findTool(String(params.name))?.tool
    return server.projectCallToolResult(result as CallToolResult, tool?.outputSchema)
  }
  if (!('ttlMs' in result)) return result
  const { ttlMs, cacheScope, ...rest } = result
  return rest
}

function forward(
  server: Server,
  surface: Surface,
  wants: (announcement: Announcement) => boolean,
): void {
  const stop = surface.announcements.subscribe((announcement) => {
    if (!wants(announcement)) return
    const { method, params } = toNotification(announcement)
    const note = announcement.kind === 'updated' ? { method, params } : { method }
    server.notification(note as Parameters<Server['notification']>[0]).catch(gone)
  })
  server.onclose = stop
}
