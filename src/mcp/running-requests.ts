import { Cancellation } from '../capability/cancellation.ts'
import type { Outlet } from './engine.ts'
import type { Body } from './http-port.ts'
import type { Params, RequestId } from './message.ts'
import { codes, RpcError } from './rpc-error.ts'

/**
 * The requests of one connection that are not answered yet. Two requests with the same id could be given each other's
 * results, and a cancellation could stop the wrong one.
 */
export class RunningRequests {
  readonly #running = new Map<RequestId, RunningOutlet>()

  get size(): number {
    return this.#running.size
  }

  has(id: RequestId): boolean {
    return this.#running.has(id)
  }

  begin(id: RequestId, outlet: RunningOutlet): void {
    this.#running.set(id, outlet)
  }

  /** `notifications/cancelled`: a cancelled request gets no answer. */
  cancel({ requestId }: Params): void {
    const id = requestId as RequestId
    const outlet = this.#running.get(id)
    outlet?.cancellation.cancel('The client cancelled the request.')
    this.#running.delete(id)
    outlet?.abandon()
  }

  isRunning(id: RequestId, outlet: RunningOutlet): boolean {
    return this.#running.get(id) === outlet
  }

  /** Returns whether the request was still running. */
  end(id: RequestId, outlet: RunningOutlet): boolean {
    return this.isRunning(id, outlet) && this.#running.delete(id)
  }

  /** Cancels all requests; none of them is answered. */
  close(): void {
    for (const { cancellation } of this.#running.values())
      cancellation.cancel('The connection ended.')
    this.#running.clear()
  }
}

/** Passes on what a request sends until it is answered or cancelled. */
export class RunningOutlet implements Outlet {
  readonly #running: RunningRequests
  readonly #id: RequestId
  readonly #outlet: Outlet
  readonly cancellation = new Cancellation()

  constructor(running: RunningRequests, id: RequestId, outlet: Outlet) {
    this.#running = running
    this.#id = id
    this.#outlet = outlet
    running.begin(id, this)
  }

  send(message: object): void {
    if (this.#running.isRunning(this.#id, this)) this.#outlet.send(message)
  }

  succeed(body: Body): void {
    if (this.#running.end(this.#id, this)) this.#outlet.succeed(body)
  }

  fail(error: RpcError, body: string): void {
    if (this.#running.end(this.#id, this)) this.#outlet.fail(error, body)
  }

  abandon(): void {
    this.#outlet.abandon?.()
  }
}

export const duplicateId = (id: RequestId): RpcError =>
  new RpcError(
    codes.invalidRequest,
    `The request id ${JSON.stringify(id).slice(0, 100)} belongs to a request that is still running. Use another id.`,
    { status: 400 },
  )
