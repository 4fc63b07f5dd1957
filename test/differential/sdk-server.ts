import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequests,
  isInputRequiredResult,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  type Result,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import { localUser } from '../../src/capability/caller.ts'
import { Cancellation } from '../../src/capability/cancellation.ts'
import {
  type Listener,
  type LogEntry,
  type LogLevel,
  logLevels,
  type Progress,
} from '../../src/capability/listener.ts'
import { dropUndefined } from '../../src/json/drop-undefined.ts'
import { type Announcement, toNotification } from '../../src/mcp/announcements.ts'
import type { Exchange } from '../../src/mcp/exchange.ts'
import type { Params } from '../../src/mcp/message.ts'
import { methods } from '../../src/mcp/methods.ts'
import { invalidParams, toRpcError } from '../../src/mcp/rpc-error.ts'
import { type Surface, toServerCapabilities } from '../../src/mcp/surface.ts'

type Era = 'legacy' | 'modern'

/** What a 2025 connection remembers. */
interface Session {
  level: LogLevel
  readonly subscriptions: Set<string>
}

/**
 * The oracle: the SDK's server over the surface of a Drawbridge. The handshake, the eras, the framing, the checks of
 * messages and the form of results are the SDK's; only the methods themselves are ours.
 */
export function createSdkServer(surface: Surface, era: Era): Server {
  const { identity, instructions } = surface
  const capabilities = toServerCapabilities(surface)
  const cacheHints = { 'server/discover': { ttlMs: 60_000, cacheScope: 'public' as const } }
  const server = new Server(identity, dropUndefined({ capabilities, instructions, cacheHints }))
  // Registered by the SDK for the capability `logging`; ours also checks the level.
  server.removeRequestHandler('logging/setLevel')
  const session: Session = { level: 'debug', subscriptions: new Set() }
  server.fallbackRequestHandler = async ({ method, params = {} }, context) => {
    try {
      const sessionResult = era === 'legacy' && serveSession(surface, session, method, params)
      if (sessionResult) return sessionResult
      return await callMethod({ surface, server, era, session, method, params, context })
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      const { code, message, data } = toRpcError(error)
      throw new ProtocolError(code, message, data)
    }
  }
  forwardAnnouncements(server, surface, era, session)
  return server
}

/** The methods that change the state of a 2025 connection. */
function serveSession(
  surface: Surface,
  session: Session,
  method: string,
  { uri, level }: Params,
): Result | undefined {
  switch (method) {
    case 'resources/subscribe':
      if (typeof uri !== 'string') throw invalidParams('uri must be a string')
      if (!surface.mayRead(localUser, uri)) throw resourceNotFound(uri)
      session.subscriptions.add(uri)
      return {}
    case 'resources/unsubscribe':
      if (typeof uri !== 'string') throw invalidParams('uri must be a string')
      session.subscriptions.delete(uri)
      return {}
    case 'logging/setLevel': {
      const known = logLevels.find((name) => name === level)
      if (!known) throw invalidParams(`level must be one of ${logLevels.join(', ')}`)
      session.level = known
      return {}
    }
    default:
      return undefined
  }
}

function resourceNotFound(uri: string): Error {
  const brief = uri.length > 100 ? `${uri.slice(0, 100)}…` : uri
  return invalidParams(`Resource not found: ${brief}`, { uri: brief })
}

interface MethodCall {
  readonly surface: Surface
  readonly server: Server
  readonly era: Era
  readonly session: Session
  readonly method: string
  readonly params: Params
  readonly context: ServerContext
}

async function callMethod(call: MethodCall): Promise<Result> {
  const { surface, server, era, method: name, params, context } = call
  const method = methods.get(name)
  // The words of the SDK for a method that has no handler.
  if (!method || (era === 'legacy' && name === 'server/discover'))
    throw new ProtocolError(-32601, 'Method not found')
  const exchange = toExchange(call)
  let result = await method(surface, params, exchange)
  if (era === 'modern') return result
  for (let round = 0; isInputRequiredResult(result); round++) {
    if (round === 8) throw invalidParams('The call still needs input after 8 rounds of questions')
    const { inputRequests = {}, requestState } = result
    const inputResponses = await askClient(server, context, inputRequests, surface.newId)
    result = await method(surface, params, { ...exchange, inputResponses, requestState })
  }
  return toLegacyResult(call, result)
}

function toExchange({ server, era, session, context }: MethodCall): Exchange {
  const { mcpReq, http } = context
  const client =
    era === 'modern'
      ? toEnvelope(context)[CLIENT_CAPABILITIES_META_KEY]
      : server.getClientCapabilities()
  const headers = http?.req && Object.fromEntries(http.req.headers)
  return {
    caller: localUser,
    client: (client ?? {}) as ClientCapabilities,
    cancellation: new Cancellation(mcpReq.signal),
    listener: new ContextListener(context, era, session),
    inputResponses: mcpReq.inputResponses,
    requestState: mcpReq.requestState(),
    ...(headers && { headers, repeatsArguments: era === 'modern' }),
  }
}

const toEnvelope = ({ mcpReq }: ServerContext): Params => (mcpReq.envelope ?? {}) as Params

class ContextListener implements Listener {
  readonly #context: ServerContext
  readonly #era: Era
  readonly #session: Session

  constructor(context: ServerContext, era: Era, session: Session) {
    this.#context = context
    this.#era = era
    this.#session = session
  }

  progress({ done, total, message }: Progress): void {
    const progressToken = this.#context.mcpReq._meta?.progressToken
    if (progressToken === undefined) return
    const params = dropUndefined({ progressToken, progress: done, total, message })
    this.#notify({ method: 'notifications/progress', params })
  }

  log({ level, data, logger }: LogEntry): void {
    const threshold =
      this.#era === 'modern' ? toEnvelope(this.#context)[LOG_LEVEL_META_KEY] : this.#session.level
    if (threshold === undefined) return
    if (logLevels.indexOf(level) < logLevels.indexOf(threshold as LogLevel)) return
    this.#notify({
      method: 'notifications/message',
      params: dropUndefined({ level, data, logger }),
    })
  }

  #notify(notification: { readonly method: string; readonly params: object }): void {
    this.#context.mcpReq.notify(notification as SdkNotification).catch(ignoreDisconnect)
  }
}

type SdkNotification = Parameters<ServerContext['mcpReq']['notify']>[0]

/** A notification fails only when the client has disconnected. */
const ignoreDisconnect = (): void => {}

/** 2025 has no questions in results: they are requests of the server while the call waits. */
async function askClient(
  server: Server,
  { mcpReq }: ServerContext,
  requests: InputRequests,
  newId: () => string,
): Promise<Record<string, unknown>> {
  const options = { relatedRequestId: mcpReq.id, timeout: 55_000, signal: mcpReq.signal }
  const answers = Object.entries(requests).map(async ([key, { method, params }]) => {
    const isUrl = params !== undefined && 'mode' in params && params.mode === 'url'
    const sent = isUrl ? { ...params, elicitationId: newId() } : params
    const request = dropUndefined({ method, params: sent && { ...sent } })
    const answer = server.request(request, anyResult, options)
    return [key, await answer.catch(() => ({ action: 'cancel' }))]
  })
  return Object.fromEntries(await Promise.all(answers))
}

/** The capability that asked validates the answer. */
const anyResult: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'oracle', validate: (value) => ({ value }) },
}

/** The SDK wraps structured content for 2025, if it is told the output schema. 2025 has no caching hints. */
function toLegacyResult({ surface, server, method, params }: MethodCall, result: Result): Result {
  if (method === 'tools/call') {
    const tool = surface.projection.findTool(String(params.name))?.tool
    return server.projectCallToolResult(result as CallToolResult, tool?.outputSchema)
  }
  const { ttlMs, cacheScope, ...rest } = result
  return rest
}

function forwardAnnouncements(server: Server, surface: Surface, era: Era, session: Session): void {
  const stop = surface.announcements.subscribe((announcement) => {
    if (era === 'legacy' && !isWanted(announcement, session)) return
    const { method, params } = toNotification(announcement)
    const notification = announcement.kind === 'updated' ? { method, params } : { method }
    server
      .notification(notification as Parameters<Server['notification']>[0])
      .catch(ignoreDisconnect)
  })
  server.onclose = stop
}

const isWanted = (announcement: Announcement, { subscriptions }: Session): boolean =>
  announcement.kind !== 'updated' || subscriptions.has(announcement.uri)
