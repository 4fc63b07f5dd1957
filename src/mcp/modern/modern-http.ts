import { LOG_LEVEL_META_KEY, type Result, SERVER_INFO_META_KEY } from '@modelcontextprotocol/server'
import { type Listener, type LogLevel, logLevels, silentListener } from '../../capability/call.ts'
import type { Exchange } from '../exchange.ts'
import type { EventStream, HttpReply, HttpRequest } from '../http-port.ts'
import { methods } from '../methods.ts'
import { brief, codes, RpcError, toErrorMessage, toRpcError } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { serveListen } from './listen.ts'
import type { ModernRequest } from './modern-request.ts'

/**
 * The stateless era over HTTP: from one request to one response, with nothing kept in between.
 * The answer is one JSON document, or a stream as soon as there is something to tell before it.
 */
export async function serveModern(
  surface: Surface,
  inbound: ModernRequest,
  request: HttpRequest,
  reply: HttpReply,
): Promise<void> {
  const { id, method, params, meta } = inbound
  if (method === 'subscriptions/listen') return serveListen(surface, inbound, request, reply)
  const way = new WayBack(reply)
  try {
    const run = methods.get(method)
    if (!run)
      throw new RpcError(codes.methodNotFound, `Method not found: ${brief(method)}`, {
        status: 404,
      })
    const exchange: Exchange = {
      caller: request.caller,
      client: inbound.client,
      cancellation: request.cancellation,
      listener: toListener(meta, way),
      inputResponses: params.inputResponses,
      requestState: params.requestState,
      headers: request.headers,
    }
    way.succeed(id, await run(surface, params, exchange), surface)
  } catch (error) {
    way.fail(id, error)
  }
}

/** Turns into a stream when something is told before the answer. */
class WayBack {
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

/** Every result says which software made it, and whether there is more to come. */
function toModernResult(result: Result, { identity }: Surface): object {
  const _meta: Record<string, unknown> = { [SERVER_INFO_META_KEY]: identity }
  if (result._meta) Object.assign(_meta, result._meta)
  return { resultType: 'complete', ...result, _meta }
}

/** Lists are the same object until something changes, and so are their bytes. */
const cachedBytes = new WeakMap<object, Uint8Array>()

function toCachedBytes(result: Result, surface: Surface): Uint8Array {
  let bytes = cachedBytes.get(result)
  if (!bytes) {
    bytes = Buffer.from(JSON.stringify(toModernResult(result, surface)))
    cachedBytes.set(result, bytes)
  }
  return bytes
}

function toListener(meta: Readonly<Record<string, unknown>>, way: WayBack): Listener {
  const { progressToken } = meta
  const level = meta[LOG_LEVEL_META_KEY] as LogLevel | undefined
  if (progressToken === undefined && level === undefined) return silentListener
  return {
    progress: ({ done, total, message }) => {
      if (progressToken === undefined) return
      const params = { progressToken, progress: done, total, message }
      way.notify('notifications/progress', params)
    },
    log: (entry) => {
      if (level === undefined || isBelow(entry.level, level)) return
      way.notify('notifications/message', entry)
    },
  }
}

const isBelow = (level: LogLevel, threshold: LogLevel): boolean =>
  logLevels.indexOf(level) < logLevels.indexOf(threshold)
