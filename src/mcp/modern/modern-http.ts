import { LOG_LEVEL_META_KEY, type Result, SERVER_INFO_META_KEY } from '@modelcontextprotocol/server'
import {
  type Listener,
  type LogLevel,
  logLevels,
  silentListener,
} from '../../capability/listener.ts'
import type { Exchange } from '../exchange.ts'
import type { EventStream, HttpReply, HttpRequest } from '../http-port.ts'
import { methods } from '../methods.ts'
import { brief, codes, RpcError, toErrorMessage, toRpcError } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { serveListen } from './listen.ts'
import type { ModernRequest } from './modern-request.ts'

/**
 * The stateless era over HTTP: one request, one response, no session. The response is one JSON
 * document, or an event stream if a notification comes before the result.
 */
export async function serveModern(
  surface: Surface,
  inbound: ModernRequest,
  request: HttpRequest,
  reply: HttpReply,
): Promise<void> {
  const { id, method, params, meta } = inbound
  if (method === 'subscriptions/listen') return serveListen(surface, inbound, request, reply)
  const response = new ModernResponse(reply)
  try {
    const handle = methods.get(method)
    if (!handle)
      throw new RpcError(codes.methodNotFound, `Method not found: ${brief(method)}`, {
        status: 404,
      })
    const exchange: Exchange = {
      caller: request.caller,
      client: inbound.client,
      cancellation: request.cancellation,
      listener: toListener(meta, response),
      inputResponses: params.inputResponses,
      requestState: params.requestState,
      headers: request.headers,
    }
    response.succeed(id, await handle(surface, params, exchange), surface)
  } catch (error) {
    response.fail(id, error)
  }
}

/** Becomes an event stream with the first notification. */
class ModernResponse {
  readonly #reply: HttpReply
  #stream: EventStream | undefined

  constructor(reply: HttpReply) {
    this.#reply = reply
  }

  notify(method: string, params: object): void {
    this.#stream ??= this.#reply.stream()
    this.#stream.send({ jsonrpc: '2.0', method, params })
  }

  succeed(id: string | number, result: Result, surface: Surface): void {
    if (this.#stream) {
      this.#stream.send({ jsonrpc: '2.0', id, result: toModernResult(result, surface) })
      this.#stream.end()
    } else if ('ttlMs' in result) {
      const bytes = toCachedBytes(result, surface)
      this.#reply.answer(200, [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, bytes, '}'])
    } else {
      this.#reply.answer(
        200,
        JSON.stringify({ jsonrpc: '2.0', id, result: toModernResult(result, surface) }),
      )
    }
  }

  fail(id: string | number, error: unknown): void {
    const rpcError = toRpcError(error)
    const message = toErrorMessage(rpcError, id)
    if (!this.#stream)
      return this.#reply.answer(rpcError.status, JSON.stringify(message), rpcError.headers)
    this.#stream.send(message)
    this.#stream.end()
  }
}

/** Adds the result type and the server's identity, which the revision requires in every result. */
function toModernResult(result: Result, { identity }: Surface): object {
  const _meta: Record<string, unknown> = { [SERVER_INFO_META_KEY]: identity }
  if (result._meta) Object.assign(_meta, result._meta)
  return { resultType: 'complete', ...result, _meta }
}

/** Lists stay the same object until something changes, so their JSON is cached by object. */
const cachedBytes = new WeakMap<object, Uint8Array>()

function toCachedBytes(result: Result, surface: Surface): Uint8Array {
  let bytes = cachedBytes.get(result)
  if (!bytes) {
    bytes = Buffer.from(JSON.stringify(toModernResult(result, surface)))
    cachedBytes.set(result, bytes)
  }
  return bytes
}

function toListener(meta: Readonly<Record<string, unknown>>, response: ModernResponse): Listener {
  const { progressToken } = meta
  const level = meta[LOG_LEVEL_META_KEY] as LogLevel | undefined
  if (progressToken === undefined && level === undefined) return silentListener
  return {
    progress: ({ done, total, message }) => {
      if (progressToken === undefined) return
      const params = { progressToken, progress: done, total, message }
      response.notify('notifications/progress', params)
    },
    log: (entry) => {
      if (level === undefined || isBelow(entry.level, level)) return
      response.notify('notifications/message', entry)
    },
  }
}

export const isBelow = (level: LogLevel, threshold: LogLevel): boolean =>
  logLevels.indexOf(level) < logLevels.indexOf(threshold)
