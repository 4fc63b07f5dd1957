import { type EventStream, type HttpReply, keepOpen } from '../http-port.ts'
import { EventLog, type LoggedEvent } from './event-log.ts'

/** The stream of `GET`, for messages that belong to no request. */
const standaloneStream = 0

/** A client that lost a stream may ask for the rest of it after this time. */
const retryMs = 500

/** From this revision on, clients understand an event without data. */
const firstRevisionWithPriming = '2025-11-25'

/** The event streams of one 2025 session. Each can be resumed once it has sent an event. */
export class SessionStreams {
  readonly #sessionId: string
  readonly #maxCharacters: () => number
  readonly #onClose: () => void
  /** Connected streams. */
  readonly #connected = new Map<number, EventStream>()
  /** Streams with requests that are not answered yet, connected or not. */
  readonly #unfinished = new Set<number>()
  /** Streams that are hardly needed again: the client was connected at their end, or cancelled the call. */
  #delivered = new Set<number>()
  /** Those that `forgetDelivered` will forget next. */
  #outdated: ReadonlySet<number> = new Set()
  /** Created with the first stream: most sessions need none. */
  #log: EventLog | undefined
  #nextStream = standaloneStream + 1
  #isClosed = false

  /** `onClose` is called whenever one of the streams is closed. */
  constructor(sessionId: string, maxCharacters: () => number, onClose: () => void) {
    this.#sessionId = sessionId
    this.#maxCharacters = maxCharacters
    this.#onClose = onClose
  }

  /** The number of connected streams. */
  get size(): number {
    return this.#connected.size
  }

  get hasStandalone(): boolean {
    return this.#connected.has(standaloneStream)
  }

  /** Opens the stream of `GET`. */
  openStandalone(reply: HttpReply): void {
    this.#log ??= new EventLog(this.#maxCharacters)
    this.#connect(standaloneStream, reply)
  }

  /** Opens a stream that carries the answers of one `POST`. */
  open(reply: HttpReply, revision: string): number {
    this.#log ??= new EventLog(this.#maxCharacters)
    const stream = this.#nextStream++
    this.#unfinished.add(stream)
    const connection = this.#connect(stream, reply)
    if (revision >= firstRevisionWithPriming) connection.prime(this.#log.add(stream, ''), retryMs)
    return stream
  }

  send(stream: number, text: string): void {
    const id = this.#log?.add(stream, text)
    this.#connected.get(stream)?.send(text, id)
  }

  /** Sends a message that belongs to no request. */
  announce(text: string): void {
    // Without any stream, no client has an event id from which it could resume: nothing needs to be kept.
    if (this.#log) this.send(standaloneStream, text)
  }

  /** Ends a stream whose requests are all answered. */
  finish(stream: number): void {
    this.#unfinished.delete(stream)
    const connection = this.#connected.get(stream)
    if (!connection) return
    connection.end()
    this.#connected.delete(stream)
    this.#delivered.add(stream)
  }

  /** Nothing more will be sent on a stream, which stays open until it is forgotten. */
  abandon(stream: number): void {
    this.#delivered.add(stream)
  }

  /** Forgets the streams that were delivered before the previous call of this method, and ends those of cancelled calls. */
  forgetDelivered(): void {
    for (const stream of this.#outdated) {
      this.#unfinished.delete(stream)
      this.#connected.get(stream)?.end()
      this.#connected.delete(stream)
    }
    if (this.#outdated.size > 0) this.#log?.forget(this.#outdated)
    this.#outdated = this.#delivered
    this.#delivered = new Set()
  }

  /** The event that a client received last; `undefined` if it is not known. */
  findEvent(id: string): LoggedEvent | undefined {
    return this.#log?.find(id)
  }

  isConnected({ stream }: LoggedEvent): boolean {
    return this.#connected.has(stream)
  }

  /** Sends what a client missed, and connects it again unless everything is sent. */
  resume(lastEvent: LoggedEvent, reply: HttpReply): void {
    const { stream } = lastEvent
    const connection = this.#connect(stream, reply)
    for (const { id, text } of this.#log?.after(lastEvent) ?? [])
      if (text !== '') connection.send(text, String(id))
    if (stream !== standaloneStream && !this.#unfinished.has(stream)) this.finish(stream)
  }

  close(): void {
    this.#isClosed = true
    for (const connection of this.#connected.values()) connection.end()
    this.#connected.clear()
  }

  #connect(stream: number, reply: HttpReply): EventStream {
    const connection = reply.stream({ 'mcp-session-id': this.#sessionId })
    keepOpen(connection)
    this.#connected.set(stream, connection)
    connection.onClose(() => {
      if (this.#connected.get(stream) === connection) this.#connected.delete(stream)
      this.#onClose()
    })
    // The session was closed while a request waited for its stream.
    if (this.#isClosed) connection.end()
    return connection
  }
}
