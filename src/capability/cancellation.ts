/**
 * The one switch that stops a call, shared by the transport (the client left) and the time limit.
 * The `AbortSignal` is made only when somebody looks at it: most calls never do, and making one
 * costs as much as the rest of the pipeline.
 */
export class Cancellation {
  #reason: string | undefined
  #controller: AbortController | undefined
  #listener: ((reason: string) => void) | undefined

  get cancelled(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(toAbort(this.#reason))
    }
    return this.#controller.signal
  }

  /** The first reason counts. */
  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(toAbort(reason))
    this.#listener?.(reason)
  }

  /** Hears of it at most once, even when it happened before. */
  onCancel(listener: (reason: string) => void): void {
    if (this.#reason === undefined) this.#listener = listener
    else listener(this.#reason)
  }
}

const toAbort = (reason: string): DOMException => new DOMException(reason, 'AbortError')
