import { AsyncLocalStorage } from 'node:async_hooks'
import type { Failed } from '../capability/outcome.ts'
import { tooLarge } from '../capability/upstream-failures.ts'

/** A list of tiny chunks weighs more than what is in them. */
const chunkWeight = 64
const lastWords = 1000

/** All that one call has under way with an agent: counted together, and ended together. */
export class Exchange {
  readonly #controller = new AbortController()
  readonly #limit: number
  #taken = 0
  #open = 0
  #turn = 0
  #fault: Failed | undefined
  /** Of the last answer, where one has begun. */
  status: number | undefined
  retryAfter: string | null = null
  streams = false
  /** Whether any request was handed to the network. */
  sent = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get over(): boolean {
    return this.signal.aborted
  }

  /** Why it was ended, where that was not its own doing. */
  get fault(): Failed | undefined {
    return this.#fault
  }

  /** The first reason counts. */
  end(fault: Failed): void {
    if (this.over) return
    this.#fault = fault
    this.#controller.abort(fault.failure.message)
  }

  /** Once there is an answer. What still flows gets a moment, so that its connection can be kept. */
  finish(): void {
    if (this.#open > 0) setTimeout(() => this.#controller.abort(), lastWords).unref()
  }

  /** Something is sent. What is returned says that nothing more will come back for it. */
  begin(): (fault: Failed) => void {
    this.sent = true
    this.streams = false
    const turn = ++this.#turn
    // An answer that did come is handed on, or leads to the next message, before the loop turns.
    return (fault) => setImmediate(() => turn === this.#turn && this.end(fault))
  }

  count(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    this.#open++
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.#taken += chunk.byteLength + chunkWeight
        if (this.#taken <= this.#limit) return controller.enqueue(chunk)
        controller.error(new Error('too large'))
        this.end(tooLarge(this.#limit))
      },
      flush: () => {
        this.#open--
      },
    })
    return body.pipeThrough(counter)
  }
}

/** What the SDK is doing right now it does for this exchange. */
export const currentExchange = new AsyncLocalStorage<Exchange>()
