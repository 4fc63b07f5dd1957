import type { Cancellation } from '../../capability/cancellation.ts'
import type { Body, EventStream, Headers, HttpReply } from '../../mcp/http-port.ts'

/** Milliseconds between two looks at whether who listens still may. */
const interval = 500

/** A way back that ends when its client is not welcome any more, however long it was meant to last. */
export class RevocableReply implements HttpReply {
  readonly #reply: HttpReply
  readonly #isWelcome: () => boolean
  readonly #cancellation: Cancellation

  constructor(reply: HttpReply, isWelcome: () => boolean, cancellation: Cancellation) {
    this.#reply = reply
    this.#isWelcome = isWelcome
    this.#cancellation = cancellation
  }

  allow(headers: Headers): void {
    this.#reply.allow(headers)
  }

  answer(status: number, body: Body, headers?: Headers): void {
    this.#reply.answer(status, body, headers)
  }

  stream(headers?: Headers): EventStream {
    const stream = this.#reply.stream(headers)
    stream.onClose(this.#watch(() => stream.end()))
    return stream
  }

  pipe(response: Response): void {
    if (!response.body) return this.#reply.pipe(response)
    const end = new AbortController()
    const stop = this.#watch(() => end.abort())
    const { readable, writable } = new TransformStream()
    // However it ends; whoever reads it hears of that themselves.
    response.body.pipeTo(writable, { signal: end.signal }).then(stop, stop)
    this.#reply.pipe(new Response(readable, response))
  }

  /** Returns how to stop looking. */
  #watch(end: () => void): () => void {
    const timer = setInterval(() => {
      if (this.#isKnownWelcome()) return
      clearInterval(timer)
      end()
    }, interval).unref()
    const stop = () => clearInterval(timer)
    this.#cancellation.onCancel(stop)
    return stop
  }

  /** Where nobody can say, as after the store was closed, nobody is: and nothing else ends because of it. */
  #isKnownWelcome(): boolean {
    try {
      return this.#isWelcome()
    } catch {
      return false
    }
  }
}
