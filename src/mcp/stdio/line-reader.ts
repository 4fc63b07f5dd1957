import type { Readable } from 'node:stream'

/** A longer line ends the connection, before it fills the memory. */
const maxLineBytes = 10 * 1024 * 1024

export interface LineListener {
  /** Receives one line without its line break. */
  onLine(line: string): void
  /** A line is longer than `maxBytes`. Nothing more is read. */
  onTooLong(maxBytes: number): void
  onEnd(): void
  onError(error: Error): void
}

/** Reads lines of UTF-8 text. Complete lines of one chunk are decoded together. */
export class LineReader {
  readonly #input: Readable
  readonly #listener: LineListener
  /** The start of a line whose end has not arrived yet. */
  #pending: Buffer[] = []
  #pendingBytes = 0
  #isClosed = false

  constructor(input: Readable, listener: LineListener) {
    this.#input = input
    this.#listener = listener
    input.on('data', this.#receive)
    input.on('end', this.#end)
    input.on('close', this.#end)
    input.on('error', this.#fail)
    // A stream that has ended already emits nothing more.
    if (input.readableEnded || input.destroyed) setImmediate(this.#end)
  }

  pause(): void {
    if (!this.#isClosed) this.#input.pause()
  }

  resume(): void {
    if (!this.#isClosed) this.#input.resume()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#input.off('data', this.#receive)
    this.#input.off('end', this.#end)
    this.#input.off('close', this.#end)
    this.#input.off('error', this.#fail)
    if (this.#input.listenerCount('data') === 0) this.#input.pause()
    this.#pending = []
  }

  readonly #receive = (chunk: Buffer | string): void => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    const end = bytes.lastIndexOf(newline)
    if (end < 0) return this.#keep(bytes)
    const lines = this.#join(bytes.subarray(0, end)).split('\n')
    for (const line of lines) {
      if (line.length > maxLineBytes) return this.#refuse()
      this.#listener.onLine(line)
      if (this.#isClosed) return
    }
    if (end + 1 < bytes.length) this.#keep(bytes.subarray(end + 1))
  }

  /** The first line that is complete now starts with what was pending. */
  #join(bytes: Buffer): string {
    if (this.#pending.length === 0) return bytes.toString()
    const text = Buffer.concat([...this.#pending, bytes]).toString()
    this.#pending = []
    this.#pendingBytes = 0
    return text
  }

  #keep(bytes: Buffer): void {
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
    if (this.#pendingBytes > maxLineBytes) this.#refuse()
  }

  #refuse(): void {
    this.close()
    this.#listener.onTooLong(maxLineBytes)
  }

  readonly #end = (): void => {
    if (this.#isClosed) return
    this.close()
    this.#listener.onEnd()
  }

  readonly #fail = (error: Error): void => this.#listener.onError(error)
}

const newline = 0x0a
