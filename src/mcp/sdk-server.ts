import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  isInputRequiredResult,
  ProtocolError,
  type Result,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import type { Listener } from '../capability/call.ts'
import type { Caller } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import { toNotification } from './announcements.ts'
import type { Exchange } from './exchange.ts'
import { mayRead } from './listen.ts'
import { methods, type Params } from './methods.ts'
import { toRpcError } from './modern-http.ts'
import { invalidParams } from './rpc-error.ts'
import { type Surface, serverCapabilities } from './surface.ts'

export type Era = 'legacy' | 'modern'

/**
 * The same methods behind one of the SDK's server objects, for the transports that keep a
 * connection: stdio in both eras, and the sessions of 2025 over HTTP.
 */
export function createSdkServer(
  surface: Surface,
  era: Era,
  callerOf: (context: ServerContext) => Caller,
): Server {
  const server = new Server(surface.identity, {
    capabilities: serverCapabilities,
    ...(surface.instructions !== undefined && { instructions: surface.instructions }),
  })
  for (const [name, method] of methods) {
    if (name === 'server/discover') continue // the SDK answers it where the era has it
    server.setRequestHandler(name, { params: anyParams }, async (params, context) => {
      const exchange = toExchange(server, era, callerOf(context), context)
      try {
        const result = await method(surface, params, exchange)
        return era === 'legacy' ? toLegacy(server, name, result, surface, params) : result
      } catch (error) {
        const { code, message, data } = toRpcError(error)
        throw new ProtocolError(code, message, data)
      }
    })
  }
  if (era === 'legacy') acceptSubscriptions(server, surface, callerOf)
  else tellEverything(server, surface)
  return server
}

/** The methods check their own parameters, so that every transport says the same about them. */
const anyParams: StandardSchemaV1<unknown, Params> = {
  '~standard': {
    version: 1,
    vendor: 'drawbridge',
    validate: (value) => ({ value: value as Params }),
  },
}

function toExchange(server: Server, era: Era, caller: Caller, context: ServerContext): Exchange {
  const { mcpReq } = context
  const cancellation = new Cancellation()
  const leave = () => cancellation.cancel('The client cancelled the request.')
  if (mcpReq.signal.aborted) leave()
  else mcpReq.signal.addEventListener('abort', leave, { once: true })
  return {
    caller,
    client: (era === 'modern'
      ? (mcpReq.envelope as Params | undefined)?.[CLIENT_CAPABILITIES_META_KEY]
      : server.getClientCapabilities()) as ClientCapabilities,
    cancellation,
    listener: toListener(context),
    inputResponses: mcpReq.inputResponses,
    requestState: mcpReq.requestState(),
    // In 2025 the SDK puts the questions itself, and says so where the client cannot be asked.
    refusesUnaskable: era === 'modern',
  }
}

function toListener({ mcpReq }: ServerContext): Listener {
  const progressToken = mcpReq._meta?.progressToken
  return {
    progress: ({ done, total, message }) => {
      if (progressToken === undefined) return
      const params = {
        progressToken,
        progress: done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      }
      mcpReq.notify({ method: 'notifications/progress', params }).catch(gone)
    },
    log: ({ level, data, logger }) => {
      mcpReq.log(level, data, logger).catch(gone)
    },
  }
}

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
    if (isInputRequiredResult(result)) return result
    const tool = surface.projection.tools.get(String(params.name))?.tool
    return server.projectCallToolResult(result as CallToolResult, tool?.outputSchema)
  }
  if (!('ttlMs' in result)) return result
  const { ttlMs, cacheScope, ...rest } = result
  return rest
}

/** 2025: list changes go to everybody, updates to those who subscribed. */
function acceptSubscriptions(
  server: Server,
  surface: Surface,
  callerOf: (context: ServerContext) => Caller,
): void {
  const subscribed = new Map<string, Caller>()
  const uriOf = ({ uri }: Params): string => {
    if (typeof uri !== 'string') throw invalidParams('uri must be a string')
    return uri
  }
  server.setRequestHandler(
    'resources/subscribe',
    { params: anyParams },
    async (params, context) => {
      const uri = uriOf(params)
      const caller = callerOf(context)
      if (!mayRead(surface, caller, uri)) throw invalidParams(`Resource not found: ${uri}`, { uri })
      subscribed.set(uri, caller)
      return {}
    },
  )
  server.setRequestHandler('resources/unsubscribe', { params: anyParams }, async (params) => {
    subscribed.delete(uriOf(params))
    return {}
  })
  forward(server, surface, (uri) => {
    const caller = subscribed.get(uri)
    return caller !== undefined && mayRead(surface, caller, uri)
  })
}

/** 2026 over stdio: the SDK holds the subscriptions and picks from what it is told. */
const tellEverything = (server: Server, surface: Surface): void =>
  forward(server, surface, () => true)

function forward(server: Server, surface: Surface, wantsUpdate: (uri: string) => boolean): void {
  const stop = surface.announcements.subscribe((announcement) => {
    if (announcement.kind === 'updated' && !wantsUpdate(announcement.uri)) return
    const { method, params } = toNotification(announcement)
    const note = announcement.kind === 'updated' ? { method, params } : { method }
    server.notification(note as Parameters<Server['notification']>[0]).catch(gone)
  })
  server.onclose = stop
}
