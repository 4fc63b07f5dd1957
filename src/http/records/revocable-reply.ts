import type { Cancellation } from '../../capability/cancellation.ts'
import type { Body, EventStream, Headers, HttpReply } from '../../mcp/http-port.ts'

const checkIntervalMs = 500

/** Checks the client's authorization while a stream is open, and ends the stream when it is lost. */
export class RevocableReply implements HttpReply {
  readonly #reply: HttpReply
  readonly #isAuthorized: () => boolean
  readonly #cancellation: Cancellation

  constructor(reply: HttpReply, isAuthorized: () => boolean, cancellation: Cancellation) {
    this.#reply = reply
    this.#isAuthorized = isAuthorized
    this.#cancellation = cancellation
  }

  setHeaders(headers: Headers): void {
    this.#reply.setHeaders(headers)
  }

  answer(status: number, body: Body, headers?: Headers): void {
    this.#reply.answer(status, body, headers)
  }

  stream(headers?: Headers): EventStream {
    const stream = this.#reply.stream(headers)
    stream.onClose(this.#watch(() => stream.end()))
    return stream
  }

  /** Returns a function that stops the timer. */
  #watch(end: () => void): () => void {
    const timer = setInterval(() => {
      if (this.#isStillAuthorized()) return
      clearInterval(timer)
      end()
    }, checkIntervalMs).unref()
    const stop = () => clearInterval(timer)
    this.#cancellation.onCancel(stop)
    return stop
  }

  /** Fails closed: a check that throws, for example on a closed store, must not crash the timer. */
  #isStillAuthorized(): boolean {
    try {
      return this.#isAuthorized()
    } catch {
      return false
    }
  }
}
