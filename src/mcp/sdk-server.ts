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
import type { Caller } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import {
  type Listener,
  type LogEntry,
  type LogLevel,
  logLevels,
  type Progress,
} from '../capability/listener.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { type Announcement, toNotification } from './announcements.ts'
import type { Exchange } from './exchange.ts'
import { askLegacyClient } from './legacy/legacy-questions.ts'
import { type Method, methods, type Params } from './methods.ts'
import { concerns, mayRead } from './modern/listen.ts'
import { isBelow } from './modern/modern-http.ts'
import { brief, codes, invalidParams, RpcError, toRpcError } from './rpc-error.ts'
import { type Surface, toServerCapabilities } from './surface.ts'

export type Era = 'legacy' | 'modern'

/**
 * Serves the methods through an SDK server object, for the transports that keep a connection:
 * stdio in both eras, and 2025 sessions over HTTP. The SDK does the handshake, the framing and the
 * era's result format. The methods check their own parameters, so that every transport reports the
 * same errors.
 */
export function createSdkServer(
  surface: Surface,
  era: Era,
  sessionCaller: Caller,
  findCaller: (context: ServerContext) => Caller = () => sessionCaller,
): Server {
  const { identity, instructions } = surface
  const capabilities = toServerCapabilities(surface)
  const server = new Server(identity, dropUndefined({ capabilities, instructions }))
  // The SDK answers an unknown level with an internal error; ours is invalid params.
  server.removeRequestHandler('logging/setLevel')
  const subscriptions = new Map<string, Caller>()
  const session: Session = { level: 'debug' }
  const legacyMethods =
    era === 'legacy'
      ? new Map([...toSubscriptionMethods(subscriptions), ...toLoggingMethods(session)])
      : noMethods
  server.fallbackRequestHandler = async (request, context) => {
    const { method: name, params = {} } = request
    try {
      const method = methods.get(name) ?? legacyMethods.get(name)
      if (!method) throw new RpcError(codes.methodNotFound, `Method not found: ${brief(name)}`)
      const listener = new ContextListener(context, era, session)
      const exchange = toExchange(server, era, findCaller(context), context, listener)
      if (era === 'modern') return await method(surface, params, exchange)
      const answer = (attempt: Exchange) => method(surface, params, attempt)
      const result = await askLegacyClient(server, context, answer, exchange, surface.newId)
      return toLegacyResult(server, name, result, surface, params)
    } catch (error) {
      const { code, message, data } = toRpcError(error)
      throw new ProtocolError(code, message, data)
    }
  }
  forward(server, surface, (announcement) => {
    // 2026 over stdio: the SDK keeps the subscriptions and filters what it is given.
    if (era === 'modern' || announcement.kind !== 'updated')
      return concerns(surface, sessionCaller, announcement)
    const caller = subscriptions.get(announcement.uri)
    return caller !== undefined && concerns(surface, caller, announcement)
  })
  return server
}

/** Resource subscriptions of one 2025 session. */
const maxSubscriptions = 1000

const noMethods: ReadonlyMap<string, Method> = new Map()

/** 2025 only: list changes go to every session, resource updates to those that subscribed. */
function toSubscriptionMethods(subscriptions: Map<string, Caller>): ReadonlyMap<string, Method> {
  const toUri = ({ uri }: Params): string => {
    if (typeof uri !== 'string') throw invalidParams('uri must be a string')
    return uri
  }
  return new Map<string, Method>([
    [
      'resources/subscribe',
      (surface, params, { caller }) => {
        const uri = toUri(params)
        if (!mayRead(surface, caller, uri))
          throw invalidParams(`Resource not found: ${brief(uri)}`, { uri: brief(uri) })
        if (subscriptions.size >= maxSubscriptions && !subscriptions.has(uri))
          throw invalidParams(`A session can subscribe to at most ${maxSubscriptions} resources`)
        subscriptions.set(uri, caller)
        return {}
      },
    ],
    [
      'resources/unsubscribe',
      (_, params) => {
        subscriptions.delete(toUri(params))
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
  /** The minimum level that is sent. */
  level: LogLevel
}

/** 2025 sets the log level for a session; 2026 sends it with every request. */
const toLoggingMethods = (session: Session): ReadonlyMap<string, Method> =>
  new Map<string, Method>([
    [
      'logging/setLevel',
      (_, { level }) => {
        const logLevel = logLevels.find((name) => name === level)
        if (!logLevel) throw invalidParams(`level must be one of ${logLevels.join(', ')}`)
        session.level = logLevel
        return {}
      },
    ],
  ])

/** A class, because one is created per request and most are never used: closures would cost more. */
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
    const params = dropUndefined({ progressToken, progress: done, total, message })
    this.#request.notify({ method: 'notifications/progress', params }).catch(ignoreDisconnect)
  }

  log({ level, data, logger }: LogEntry): void {
    const requestLevel = (this.#request.envelope as Params | undefined)?.[LOG_LEVEL_META_KEY]
    const threshold = this.#era === 'modern' ? requestLevel : this.#session.level
    if (threshold === undefined || isBelow(level, threshold as LogLevel)) return
    const params = { level, data, logger }
    this.#request
      .notify({ method: 'notifications/message', params } as Notification)
      .catch(ignoreDisconnect)
  }
}

type Notification = Parameters<ServerContext['mcpReq']['notify']>[0]

/** A notification fails only when the client has disconnected. */
const ignoreDisconnect = (): void => {}

/** 2025 has no caching hints, and allows structured content only as an object. */
function toLegacyResult(
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
  isWanted: (announcement: Announcement) => boolean,
): void {
  const stop = surface.announcements.subscribe((announcement) => {
    if (!isWanted(announcement)) return
    const { method, params } = toNotification(announcement)
    const notification = announcement.kind === 'updated' ? { method, params } : { method }
    server
      .notification(notification as Parameters<Server['notification']>[0])
      .catch(ignoreDisconnect)
  })
  server.onclose = stop
}
