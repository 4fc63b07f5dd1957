/**
 * Cancels a call: shared by the transport (the client disconnected) and the time limit. Its
 * `AbortSignal` is created lazily: most calls never use one, and creating it costs as much as the
 * rest of the pipeline.
 */
export class Cancellation {
  /** A signal that cancels this too; subscribed to on first use. */
  readonly #outer: AbortSignal | undefined
  #reason: string | undefined
  #controller: AbortController | undefined
  #listeners: CancelListener[] | undefined
  #subscribedToOuter = false

  constructor(outer?: AbortSignal) {
    this.#outer = outer
  }

  /** `true` once the call is cancelled. */
  get cancelled(): boolean {
    if (this.#outer?.aborted) this.cancel(outerReason)
    return this.#reason !== undefined
  }

  /** The reason, once the call is cancelled. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** A signal that aborts with the call. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      this.#subscribeToOuter()
      if (this.#reason !== undefined) this.#controller.abort(toAbortError(this.#reason))
    }
    return this.#controller.signal
  }

  /** Cancels the call. Idempotent: the first reason wins. */
  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(toAbortError(reason))
    for (const listener of this.#listeners ?? []) listener(reason)
  }

  /** Calls the listener once, immediately if already cancelled. Returns an unsubscribe function. */
  onCancel(listener: CancelListener): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => {}
    }
    this.#listeners = [...(this.#listeners ?? []), listener]
    this.#subscribeToOuter()
    return () => {
      this.#listeners = this.#listeners?.filter((other) => other !== listener)
    }
  }

  #subscribeToOuter(): void {
    if (!this.#outer || this.#subscribedToOuter) return
    this.#subscribedToOuter = true
    if (this.#outer.aborted) this.cancel(outerReason)
    else this.#outer.addEventListener('abort', () => this.cancel(outerReason), { once: true })
  }
}

type CancelListener = (reason: string) => void

const outerReason = 'The client cancelled the request.'

/** Cancels the calls that still run when the server stops. */
export const shutdownReason = 'The server is shutting down.'

const toAbortError = (reason: string): DOMException => new DOMException(reason, 'AbortError')
