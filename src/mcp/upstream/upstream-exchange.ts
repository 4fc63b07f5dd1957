import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Failed } from '../../capability/outcome.ts'
import { upstreamTooLarge } from '../../upstream/failures.ts'
import { toRetryAfter } from '../../upstream/retry-after.ts'

/** What a line of an event counts for besides its bytes: to read it costs more than to hold it. */
const lineWeight = 256
/** From here on a stream of events is handed on in pieces, and no faster than a line a millisecond. */
const large = 64 * 1024
const piece = 4096
const lastWords = 1000

/** All that one call has under way with an agent: counted together, and ended together. */
export class UpstreamExchange {
  readonly #controller = new AbortController()
  readonly #limit: number
  #taken = 0
  #open = 0
  #turn = 0
  #fault: Failed | undefined
  /** Of the last answer, where one has begun. */
  status: number | undefined
  /** Milliseconds it asks to wait. */
  retryAfter: number | undefined
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
    if (this.#open > 0)
      void setTimeout(lastWords, undefined, { ref: false }).then(() => this.#controller.abort())
  }

  /** Something is sent. What is returned says that nothing more will come back for it. */
  begin(): (fault: Failed) => void {
    this.sent = true
    this.streams = false
    const turn = ++this.#turn
    // An answer that did come is handed on, or leads to the next message, before the loop turns.
    return async (fault) => {
      await setImmediate()
      if (turn === this.#turn) this.end(fault)
    }
  }

  /** Notes what is announced of an answer, and counts what comes of it. */
  watch({ status, statusText, headers, body }: Response): Response {
    this.status = status
    this.retryAfter = toRetryAfter(headers.get('retry-after'), headers.get('date'))
    this.streams = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (Number(headers.get('content-length')) > this.#limit) this.#overflow()
    return new Response(body && this.#count(body), { status, statusText, headers })
  }

  #count(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    this.#open++
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        this.#taken += chunk.byteLength + (this.streams ? lineWeight * countLines(chunk) : 0)
        if (this.#taken > this.#limit) {
          controller.error(new Error('too large'))
          return this.#overflow()
        }
        if (this.#taken <= large || !this.streams) return controller.enqueue(chunk)
        for (let at = 0; at < chunk.byteLength && !this.over; at += piece) {
          const part = chunk.subarray(at, at + piece)
          controller.enqueue(part)
          // One long line costs nothing; thousands of short ones would bury us in their remains.
          const lines = countLines(part)
          await (lines === 0 ? setImmediate() : setTimeout(lines))
        }
      },
      flush: () => {
        this.#open--
      },
    })
    return body.pipeThrough(counter)
  }

  #overflow(): void {
    this.end(upstreamTooLarge(this.#limit))
  }
}

function countLines(chunk: Uint8Array): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

/** What the SDK is doing right now it does for this exchange. */
export const currentExchange = new AsyncLocalStorage<UpstreamExchange>()
