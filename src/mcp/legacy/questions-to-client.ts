import type { Cancellation } from '../../capability/cancellation.ts'
import type { Outlet } from '../engine.ts'
import type { Params, Response } from '../message.ts'

/** Below the 60 seconds after which clients time out the call itself. */
const answerTimeoutMs = 55_000

/** Requests from the server to the client of one 2025 connection. */
export class QuestionsToClient {
  readonly #settle = new Map<number, (result: Params | undefined) => void>()
  #nextId = 0

  /**
   * Sends a request and waits for its result. `undefined`: the client answered with an error or not in time, or the call
   * was cancelled.
   */
  ask(
    question: { readonly method: string; readonly params?: object },
    outlet: Pick<Outlet, 'send'>,
    cancellation: Cancellation,
  ): Promise<Params | undefined> {
    if (cancellation.cancelled) return Promise.resolve(undefined)
    const id = this.#nextId++
    return new Promise((resolve) => {
      const settle = (result: Params | undefined) => {
        this.#settle.delete(id)
        clearTimeout(timer)
        forget()
        resolve(result)
      }
      const withdraw = (reason: string) => {
        const params = { requestId: id, reason }
        outlet.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
        settle(undefined)
      }
      const timer = setTimeout(
        () => withdraw('The answer did not arrive in time.'),
        answerTimeoutMs,
      )
      this.#settle.set(id, settle)
      outlet.send({ jsonrpc: '2.0', id, ...question })
      const forget = cancellation.onCancel(withdraw)
    })
  }

  /** Receives an answer; one that nobody waits for is dropped. */
  receive({ id, result }: Response): void {
    this.#settle.get(Number(id))?.(result)
  }

  close(): void {
    for (const settle of this.#settle.values()) settle(undefined)
  }
}
