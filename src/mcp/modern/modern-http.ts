import { type Outlet, serveRequest } from '../engine.ts'
import type { Body, EventStream, HttpReply, HttpRequest } from '../http-port.ts'
import { keepOpen } from '../http-port.ts'
import { type RpcError, toErrorBody } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { modernEra, toModernListener } from './modern-era.ts'
import type { ModernRequest } from './modern-request.ts'
import { openSubscription, readSubscription } from './subscriptions.ts'

/**
 * The stateless era over HTTP: one request, one response, no session. The response is one JSON
 * document, or an event stream if a message comes before the answer.
 */
export function serveModern(
  surface: Surface,
  { request, envelope }: ModernRequest,
  { caller, cancellation, headers }: HttpRequest,
  reply: HttpReply,
): void {
  if (request.method === 'subscriptions/listen')
    return serveSubscription(surface, { request, envelope }, caller, reply)
  const { params } = request
  const outlet = new ModernReply(reply)
  serveRequest(
    surface,
    modernEra,
    request,
    {
      caller,
      client: envelope.client,
      cancellation,
      listener: toModernListener(envelope.meta, outlet),
      inputResponses: params.inputResponses,
      requestState: params.requestState,
      headers,
      repeatsArguments: true,
    },
    outlet,
  )
}

/** Becomes an event stream with the first message before the answer. */
class ModernReply implements Outlet {
  readonly #reply: HttpReply
  #stream: EventStream | undefined

  constructor(reply: HttpReply) {
    this.#reply = reply
  }

  send(message: object): void {
    this.#stream ??= this.#reply.stream()
    this.#stream.send(JSON.stringify(message))
  }

  succeed(body: Body): void {
    this.#end(200, body)
  }

  fail({ status, headers }: RpcError, body: string): void {
    this.#end(status, body, headers)
  }

  #end(status: number, body: Body, headers?: RpcError['headers']): void {
    if (!this.#stream) return this.#reply.answer(status, body, headers)
    this.#stream.send(body)
    this.#stream.end()
  }
}

/** `subscriptions/listen`: a stream of change notifications until the client disconnects. */
function serveSubscription(
  surface: Surface,
  { request: { id, params } }: ModernRequest,
  caller: HttpRequest['caller'],
  reply: HttpReply,
): void {
  const subscription = readSubscription(surface, id, params, caller)
  if ('code' in subscription) return reply.answer(200, toErrorBody(subscription, id))
  const stream = reply.stream()
  keepOpen(stream)
  const close = openSubscription(surface, subscription, {
    send: (message) => stream.send(JSON.stringify(message)),
    end: () => stream.end(),
  })
  stream.onClose(close)
}
