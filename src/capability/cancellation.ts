/**
 * The one switch that stops a call, shared by the transport (the client left) and the time limit.
 * The `AbortSignal` is made only when somebody looks at it: most calls never do, and making one
 * costs as much as the rest of the pipeline.
 */
export class Cancellation {
  /** Somebody else's signal that stops it too: not listened to before somebody listens here. */
  readonly #outer: AbortSignal | undefined
  #reason: string | undefined
  #controller: AbortController | undefined
  #listeners: Listener[] | undefined
  #listensOutside = false

  constructor(outer?: AbortSignal) {
    this.#outer = outer
  }

  get cancelled(): boolean {
    if (this.#outer?.aborted) this.cancel(outerReason)
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      this.#listenOutside()
      if (this.#reason !== undefined) this.#controller.abort(toAbort(this.#reason))
    }
    return this.#controller.signal
  }

  /** The first reason counts. */
  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(toAbort(reason))
    for (const listener of this.#listeners ?? []) listener(reason)
  }

  /** Hears of it at most once, even when it happened before. Returns how to stop listening. */
  onCancel(listener: Listener): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => {}
    }
    this.#listeners = [...(this.#listeners ?? []), listener]
    this.#listenOutside()
    return () => {
      this.#listeners = this.#listeners?.filter((one) => one !== listener)
    }
  }

  #listenOutside(): void {
    if (!this.#outer || this.#listensOutside) return
    this.#listensOutside = true
    if (this.#outer.aborted) this.cancel(outerReason)
    else this.#outer.addEventListener('abort', () => this.cancel(outerReason), { once: true })
  }
}

type Listener = (reason: string) => void

const outerReason = 'The client cancelled the request.'

const toAbort = (reason: string): DOMException => new DOMException(reason, 'AbortError')
