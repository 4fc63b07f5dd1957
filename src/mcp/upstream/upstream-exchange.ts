import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Failed } from '../../capability/outcome.ts'
import { egressRefused, upstreamTooLarge } from '../../upstream/failures.ts'
import { toRetryAfter } from '../../upstream/retry-after.ts'

/** Extra bytes counted per line of an event stream: parsing a line costs more than storing it. */
const lineCostBytes = 256
/** Larger event streams are passed on in pieces, at most one line per millisecond. */
const throttleAfterBytes = 64 * 1024
const pieceBytes = 4096
const finishGraceMs = 1000

/** All requests of one call to an agent: one size limit and one abort signal for all of them. */
export class UpstreamExchange {
  readonly #controller = new AbortController()
  readonly #maxBytes: number
  #receivedBytes = 0
  #openBodies = 0
  #requestCount = 0
  #fault: Failed | undefined
  /** The status of the last response. */
  status: number | undefined
  /** The last `Location` header. */
  location: string | undefined
  /** The last `Retry-After` header, in milliseconds. */
  retryAfter: number | undefined
  /** Whether the last response is an event stream. */
  isEventStream = false
  /** Whether any request was handed to the network. */
  isSent = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isOver(): boolean {
    return this.signal.aborted
  }

  /** The failure that ended the exchange early. */
  get fault(): Failed | undefined {
    return this.#fault
  }

  /** Aborts all requests. Only the first failure is kept. */
  end(fault: Failed): void {
    if (this.isOver) return
    this.#fault = fault
    this.#controller.abort(fault.failure.message)
  }

  /** The policy refused a connection: nothing was sent, unless a response came before. */
  refuse(cause: string): void {
    this.isSent = this.status !== undefined
    this.end(egressRefused(cause))
  }

  /** Called after the answer. Bodies in progress get a moment to end, so that connections are reused. */
  finish(): void {
    if (this.#openBodies > 0)
      void setTimeout(finishGraceMs, undefined, { ref: false }).then(() => this.#controller.abort())
  }

  /** Starts a request. The returned function reports that no further response will come for it. */
  begin(): (fault: Failed) => void {
    this.isSent = true
    this.isEventStream = false
    const requestNumber = ++this.#requestCount
    // Waits one event loop turn: an answer that has arrived is delivered, or triggers the next request.
    return async (fault) => {
      await setImmediate()
      if (requestNumber === this.#requestCount) this.end(fault)
    }
  }

  /** Records the status and headers of a response, and counts its body. */
  watch({ status, statusText, headers, body }: Response): Response {
    this.status = status
    this.location = headers.get('location') ?? undefined
    this.retryAfter = toRetryAfter(headers.get('retry-after'), headers.get('date'))
    this.isEventStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (Number(headers.get('content-length')) > this.#maxBytes) this.#overflow()
    return new Response(body && this.#count(body), { status, statusText, headers })
  }

  #count(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    this.#openBodies++
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        this.#receivedBytes +=
          chunk.byteLength + (this.isEventStream ? lineCostBytes * countLines(chunk) : 0)
        if (this.#receivedBytes > this.#maxBytes) {
          controller.error(new Error('too large'))
          return this.#overflow()
        }
        if (this.#receivedBytes <= throttleAfterBytes || !this.isEventStream)
          return controller.enqueue(chunk)
        for (let at = 0; at < chunk.byteLength && !this.isOver; at += pieceBytes) {
          const part = chunk.subarray(at, at + pieceBytes)
          controller.enqueue(part)
          // The SDK's parser allocates per line: thousands of short lines would fill the heap.
          const lines = countLines(part)
          await (lines === 0 ? setImmediate() : setTimeout(lines))
        }
      },
      flush: () => {
        this.#openBodies--
      },
    })
    return body.pipeThrough(counter)
  }

  #overflow(): void {
    this.end(upstreamTooLarge(this.#maxBytes))
  }
}

function countLines(chunk: Uint8Array): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

/** The exchange that the SDK's current request belongs to. */
export const currentExchange = new AsyncLocalStorage<UpstreamExchange>()
