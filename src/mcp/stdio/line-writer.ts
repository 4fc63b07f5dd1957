import type { Writable } from 'node:stream'
import type { Body } from '../http-port.ts'

/**
 * Writes one message per line. Messages of the same turn of the event loop are written together: a system call for each
 * would be the main cost of a call.
 */
export class LineWriter {
  readonly #output: Writable
  /** Called with `true` when the client does not read, and with `false` when it has caught up. */
  readonly #onBlocked: (isBlocked: boolean) => void
  #text = ''
  #isScheduled = false
  #isBlocked = false
  #isClosed = false

  constructor(output: Writable, onBlocked: (isBlocked: boolean) => void) {
    this.#output = output
    this.#onBlocked = onBlocked
  }

  write(message: Body): void {
    if (this.#isClosed) return
    if (typeof message === 'string') this.#text += `${message}\n`
    else this.#writeParts(message)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  /** Writes what is left. */
  close(): void {
    this.#flush()
    this.#isClosed = true
  }

  /** Cached bytes are not copied. */
  #writeParts(parts: readonly (string | Uint8Array)[]): void {
    this.#output.cork()
    if (this.#text !== '') this.#output.write(this.#text)
    this.#text = ''
    for (const part of parts) this.#output.write(part)
    this.#output.write('\n')
    process.nextTick(() => this.#output.uncork())
  }

  readonly #flush = (): void => {
    this.#isScheduled = false
    if (this.#isClosed) return
    if (this.#text !== '') this.#output.write(this.#text)
    this.#text = ''
    if (this.#isBlocked || !this.#output.writableNeedDrain) return
    this.#isBlocked = true
    this.#onBlocked(true)
    this.#output.once('drain', () => {
      this.#isBlocked = false
      this.#onBlocked(false)
    })
  }
}
