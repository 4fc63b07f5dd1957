import type { Writable } from 'node:stream'
import type { Body } from '../http-port.ts'

/**
 * Backpressure: a client with more unread bytes is disconnected at the next notification. Answers need no limit: no more
 * requests are read while the client does not read.
 */
export const maxUnreadBytes = 64 * 1024 * 1024

interface LineWriterListeners {
  /** Called with `true` when the client does not read, and with `false` when it has caught up. */
  readonly onBlocked: (isBlocked: boolean) => void
  /** Called when the client has not read `maxUnreadBytes`. */
  readonly onOverflow: () => void
}

/**
 * Writes one message per line. Messages of the same turn of the event loop are written together: a system call for each
 * would be the main cost of a call.
 */
export class LineWriter {
  readonly #output: Writable
  readonly #listeners: LineWriterListeners
  #text = ''
  #isScheduled = false
  #isBlocked = false
  #isClosed = false

  constructor(output: Writable, listeners: LineWriterListeners) {
    this.#output = output
    this.#listeners = listeners
  }

  write(message: Body): void {
    if (this.#isClosed) return
    if (typeof message === 'string') this.#text += `${message}\n`
    else this.#writeParts(message)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  /** Writes a message that is no answer. */
  notify(message: object): void {
    if (this.#isClosed) return
    if (this.#output.writableLength > maxUnreadBytes) this.#listeners.onOverflow()
    else this.write(JSON.stringify(message))
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
    this.#listeners.onBlocked(true)
    this.#output.once('drain', () => {
      this.#isBlocked = false
      this.#listeners.onBlocked(false)
    })
  }
}
