import type { Caller } from '../../capability/caller.ts'
import { failRequest, type Outlet, serveRequest } from '../engine.ts'
import type { Message, Request, RequestId } from '../message.ts'
import type { Envelope } from '../modern/envelope.ts'
import { modernEra, toModernListener } from '../modern/modern-era.ts'
import { openSubscription, readSubscription } from '../modern/subscriptions.ts'
import { RpcError } from '../rpc-error.ts'
import { RunningOutlet, RunningRequests } from '../running-requests.ts'
import type { Surface } from '../surface.ts'

/** A client of 2026-07-28 on a connection that stays open. */
export class ModernPeer {
  readonly running = new RunningRequests()
  readonly #surface: Surface
  readonly #caller: Caller
  readonly #outlet: Outlet
  /** Functions that close subscriptions, by the id of their request. */
  readonly #subscriptions = new Map<RequestId, () => void>()

  constructor(surface: Surface, caller: Caller, outlet: Outlet) {
    this.#surface = surface
    this.#caller = caller
    this.#outlet = outlet
  }

  has(id: RequestId): boolean {
    return this.running.has(id) || this.#subscriptions.has(id)
  }

  serve(request: Request, { client, meta }: Envelope): void {
    const { id, method, params } = request
    if (method === 'subscriptions/listen') return this.#subscribe(request)
    const outlet = new RunningOutlet(this.running, id, this.#outlet)
    serveRequest(
      this.#surface,
      modernEra,
      request,
      {
        caller: this.#caller,
        client,
        cancellation: outlet.cancellation,
        listener: toModernListener(meta, outlet),
        inputResponses: params.inputResponses,
        requestState: params.requestState,
      },
      outlet,
    )
  }

  notify({ method, params }: Extract<Message, { kind: 'notification' }>): void {
    if (method !== 'notifications/cancelled') return
    const id = params.requestId as RequestId
    this.#subscriptions.get(id)?.()
    this.#subscriptions.delete(id)
    this.running.cancel(params)
  }

  close(): void {
    for (const close of this.#subscriptions.values()) close()
    this.#subscriptions.clear()
    this.running.close()
  }

  /** `subscriptions/listen`: notifications until the client cancels the request. */
  #subscribe({ id, params }: Request): void {
    const subscription = readSubscription(this.#surface, id, params, this.#caller)
    if ('code' in subscription) {
      const { code, message } = subscription
      return failRequest(id, new RpcError(code, message), this.#outlet)
    }
    const close = openSubscription(this.#surface, subscription, {
      send: (message) => this.#outlet.send(message),
      end: () => {
        this.#subscriptions.get(id)?.()
        this.#subscriptions.delete(id)
      },
    })
    this.#subscriptions.set(id, close)
  }
}
