const maxEvents = 256

/** One event of a stream. `text` is empty for an event without data. */
export interface LoggedEvent {
  readonly id: number
  readonly stream: number
  readonly text: string
}

/** The last events of the streams of a 2025 session, for a client that reconnects with `Last-Event-ID`. */
export class EventLog {
  readonly #maxCharacters: () => number
  #events: LoggedEvent[] = []
  #nextId = 0
  #size = 0

  constructor(maxCharacters: () => number) {
    this.#maxCharacters = maxCharacters
  }

  /** Adds an event and returns its id. */
  add(stream: number, text: string): string {
    const id = this.#nextId++
    this.#events.push({ id, stream, text })
    this.#size += text.length
    const maxCharacters = this.#maxCharacters()
    while (this.#events.length > maxEvents || this.#size > maxCharacters)
      this.#size -= this.#events.shift()?.text.length ?? 0
    return String(id)
  }

  find(id: string): LoggedEvent | undefined {
    return this.#events.find((event) => String(event.id) === id)
  }

  /** Drops the events of some streams. */
  forget(streams: ReadonlySet<number>): void {
    this.#events = this.#events.filter(({ stream }) => !streams.has(stream))
    this.#size = this.#events.reduce((size, { text }) => size + text.length, 0)
  }

  /** The later events of the same stream, oldest first. */
  after({ id, stream }: LoggedEvent): readonly LoggedEvent[] {
    return this.#events.filter((event) => event.stream === stream && event.id > id)
  }
}
