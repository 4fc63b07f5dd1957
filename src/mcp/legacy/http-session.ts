import type { Caller } from '../../capability/caller.ts'
import { failRequest, type Outlet } from '../engine.ts'
import { type Body, type HttpReply, type HttpRequest, toText } from '../http-port.ts'
import type { Message, Request } from '../message.ts'
import { codes, type RpcError } from '../rpc-error.ts'
import { duplicateId } from '../running-requests.ts'
import type { Surface } from '../surface.ts'
import { LegacySession } from './legacy-session.ts'
import { SessionStreams } from './session-streams.ts'

export interface HttpSessionOptions {
  readonly surface: Surface
  readonly id: string
  readonly caller: Caller
  /** The network address of the client. */
  readonly address: string | undefined
  readonly now: () => number
  /** Characters that may be kept for clients that reconnect. */
  readonly maxCharacters: () => number
  readonly openStreamLater: (reply: PostReply) => void
}

/** A 2025 session over HTTP, which belongs to one caller. */
export class HttpSession {
  readonly id: string
  readonly surface: Surface
  readonly subject: string
  readonly address: string | undefined
  readonly session: LegacySession
  readonly #now: () => number
  #lastSeen: number
  readonly #maxCharacters: () => number
  readonly #openStreamLater: HttpSessionOptions['openStreamLater']
  /** Created when needed: most sessions have no stream. */
  #streams: SessionStreams | undefined

  constructor(options: HttpSessionOptions) {
    const { id, surface, caller, address, now } = options
    this.id = id
    this.surface = surface
    this.subject = caller.subject
    this.address = address
    this.#now = now
    this.#lastSeen = now()
    this.#openStreamLater = options.openStreamLater
    this.#maxCharacters = options.maxCharacters
    this.session = new LegacySession(surface, caller, (message) =>
      this.#streams?.announce(JSON.stringify(message)),
    )
  }

  get streams(): SessionStreams {
    this.#streams ??= new SessionStreams(this.id, this.#maxCharacters, () => this.touch())
    return this.#streams
  }

  /** The time of the last request, the end of the last call or the close of the last stream. */
  get lastSeen(): number {
    return this.#lastSeen
  }

  touch(): void {
    this.#lastSeen = this.#now()
  }

  /** True if nobody waits for anything. Answers that are kept for a client that reconnects are lost with the session. */
  get isIdle(): boolean {
    return (this.#streams?.size ?? 0) === 0 && this.session.running.size === 0
  }

  /** Receives the messages of a `POST`. */
  post(messages: readonly Message[], { caller, headers }: HttpRequest, reply: HttpReply): void {
    const requests = messages.filter(isRequest)
    const postReply = new PostReply(this, reply, requests.length)
    const ids = new Set<Request['id']>()
    for (const { id } of requests) {
      if (this.session.running.has(id) || ids.has(id))
        return failRequest(id, duplicateId(id), { fail: (_, body) => reply.answer(400, body) })
      ids.add(id)
    }
    for (const message of messages) this.session.receive(message, { caller, headers }, postReply)
    if (requests.length === 0) reply.answer(202, '')
    else if (!postReply.isFinished) this.#openStreamLater(postReply)
  }

  /** Frees memory that clients hardly need any more; called once a minute. */
  tidy(): void {
    this.#streams?.forgetDelivered()
  }

  close(): void {
    this.session.close()
    this.streams.close()
  }
}

const isRequest = (message: Message): message is Request => message.kind === 'request'

/**
 * The response to one `POST`: a JSON document if its only request is answered within one turn of the event loop, or else
 * an event stream, which a client can resume.
 */
export class PostReply implements Outlet {
  readonly #session: HttpSession
  readonly #reply: HttpReply
  readonly #isBatch: boolean
  #unanswered: number
  #stream: number | undefined

  constructor(session: HttpSession, reply: HttpReply, requests: number) {
    this.#session = session
    this.#reply = reply
    this.#isBatch = requests > 1
    this.#unanswered = requests
  }

  get isFinished(): boolean {
    return this.#unanswered === 0
  }

  send(message: object): void {
    this.#session.streams.send(this.openStream(), JSON.stringify(message))
  }

  succeed(body: Body): void {
    this.#end(200, body)
  }

  /** Of all errors, only a missing scope has an HTTP status in 2025. */
  fail({ code, status, headers }: RpcError, body: string): void {
    if (code === codes.refused) this.#end(status, body, headers)
    else this.#end(200, body)
  }

  /**
   * The stream of a call that was cancelled stays open for a minute or two, or until its client closes it: clients ask
   * again and again for the rest of a stream that ends without an answer, as long as it is known.
   */
  abandon(): void {
    this.#unanswered--
    if (this.#unanswered > 0) return
    const stream = this.openStream()
    if (this.#isBatch) this.#session.streams.finish(stream)
    else this.#session.streams.abandon(stream)
  }

  openStream(): number {
    this.#stream ??= this.#session.streams.open(this.#reply, this.#session.session.revision)
    return this.#stream
  }

  #end(status: number, body: Body, headers?: RpcError['headers']): void {
    this.#session.touch()
    this.#unanswered--
    if (this.#stream === undefined && !this.#isBatch)
      return this.#reply.answer(status, body, { ...headers, 'mcp-session-id': this.#session.id })
    const stream = this.openStream()
    const { streams } = this.#session
    streams.send(stream, toText(body))
    if (this.#unanswered === 0) streams.finish(stream)
  }
}
