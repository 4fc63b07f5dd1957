import { randomBytes } from 'node:crypto'
import type { FairShares, ShareLimits } from '../../capability/fair-shares.ts'
import type { HttpReply, HttpRequest } from '../http-port.ts'
import type { Message } from '../message.ts'
import { codes, toErrorBody } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { legacyRevisions } from '../wire-names.ts'
import { HttpSession, type PostReply } from './http-session.ts'

/** Sessions on all mounts. */
export const sessionLimits: ShareLimits = { perCaller: 256, total: 4096 }

/** A session without a request or an open stream for this time is closed. */
export const maxIdleMs = 30 * 60_000

/** Characters kept for reconnecting clients: of one session, and of all sessions of one caller. */
const maxSessionCharacters = 1024 * 1024
const maxCallerCharacters = 16 * maxSessionCharacters

/** 2025 sessions over HTTP. */
export class LegacySessions {
  readonly #surface: Surface
  readonly #now: () => number
  readonly #shares: FairShares
  readonly #sessions = new Map<string, HttpSession>()
  readonly #sweeper: NodeJS.Timeout
  #unanswered: PostReply[] = []

  constructor(surface: Surface, now: () => number, shares: FairShares) {
    this.#surface = surface
    this.#now = now
    this.#shares = shares
    this.#sweeper = setInterval(() => this.#sweep(), 60_000).unref()
  }

  /** Receives the messages of a `POST`. */
  post(messages: readonly Message[], request: HttpRequest, reply: HttpReply): void {
    if (!acceptsBoth(request.headers.accept))
      return refuse(
        reply,
        406,
        'Not Acceptable: Client must accept both application/json and text/event-stream',
      )
    const [first] = messages
    if (first && !request.headers['mcp-session-id'] && messages.some(isInitialize))
      return messages.length === 1
        ? this.#open(first, request, reply)
        : refuse(
            reply,
            400,
            'Invalid Request: Only one initialization request is allowed',
            codes.invalidRequest,
          )
    const session = this.#find(request, reply)
    if (!session) return
    if (messages.some(isInitialize))
      return refuse(reply, 400, 'Invalid Request: Server already initialized', codes.invalidRequest)
    session.post(messages, request, reply)
  }

  /** `GET`: messages that belong to no request, or the rest of a stream that was lost. */
  get(request: HttpRequest, reply: HttpReply): void {
    const { accept, 'last-event-id': lastEventId } = request.headers
    if (!accept?.includes('text/event-stream'))
      return refuse(reply, 406, 'Not Acceptable: Client must accept text/event-stream')
    const streams = this.#find(request, reply)?.streams
    if (!streams) return
    if (lastEventId === undefined || lastEventId === '')
      return streams.hasStandalone
        ? refuse(reply, 409, 'Conflict: Only one SSE stream is allowed per session')
        : streams.openStandalone(reply)
    const lastEvent = streams.findEvent(lastEventId)
    if (!lastEvent) return refuse(reply, 400, 'Invalid event ID format')
    return streams.isConnected(lastEvent)
      ? refuse(reply, 409, 'Conflict: Stream already has an active connection')
      : streams.resume(lastEvent, reply)
  }

  /** `DELETE` ends a session. */
  delete(request: HttpRequest, reply: HttpReply): void {
    const session = this.#find(request, reply)
    if (!session) return
    this.#close(session)
    reply.answer(200, '')
  }

  close(): void {
    clearInterval(this.#sweeper)
    for (const session of this.#sessions.values()) this.#close(session)
  }

  /** The session of a request, or `undefined` after a refusal. */
  #find({ headers, caller }: HttpRequest, reply: HttpReply): HttpSession | undefined {
    const id = headers['mcp-session-id']
    if (!id) {
      refuse(reply, 400, 'Bad Request: Mcp-Session-Id header is required')
      return undefined
    }
    const session = this.#sessions.get(id)
    // Session hijacking: a session of another caller is reported as not found.
    if (session?.subject !== caller.subject) {
      refuse(reply, 404, 'Session not found', codes.sessionNotFound)
      return undefined
    }
    // A session keeps the revision that its handshake negotiated, so any supported one will do.
    const revision = headers['mcp-protocol-version']
    if (revision !== undefined && !legacyRevisions.includes(revision)) {
      const supported = legacyRevisions.join(', ')
      const message = `Bad Request: Unsupported protocol version: ${revision} (supported versions: ${supported})`
      refuse(reply, 400, message)
      return undefined
    }
    session.lastSeen = this.#now()
    return session
  }

  #open(initialize: Message, request: HttpRequest, reply: HttpReply): void {
    const { caller, address } = request
    const { subject } = caller
    if (!this.#takeShare(subject))
      return refuse(
        reply,
        429,
        'Too many open sessions, and all of them are in use. End one, or close a stream.',
      )
    const session = new HttpSession({
      surface: this.#surface,
      id: randomBytes(24).toString('base64url'),
      caller,
      address,
      maxCharacters: () =>
        Math.min(maxSessionCharacters, maxCallerCharacters / this.#shares.held(subject)),
      openStreamsLater: (postReply) => this.#openStreamLater(postReply),
    })
    this.#sessions.set(session.id, session)
    session.lastSeen = this.#now()
    const outlet = {
      send: () => {},
      succeed: (body: Parameters<HttpReply['answer']>[1]) =>
        reply.answer(200, body, { 'mcp-session-id': session.id }),
      fail: (_: unknown, body: string) => {
        this.#close(session)
        reply.answer(400, body)
      },
    }
    session.session.receive(initialize, { caller, headers: request.headers }, outlet)
  }

  /**
   * Sessions that nobody uses make room: a client that crashes or forgets `DELETE` leaves them behind, and must be able
   * to connect again. A client whose session was closed gets 404 and opens a new one.
   */
  #takeShare(subject: string): boolean {
    if (this.#shares.take(subject)) return true
    const idle = this.#findIdle(subject)
    if (!idle) return false
    this.#close(idle)
    return this.#shares.take(subject)
  }

  /** The longest idle session of the client that has the most, so that one client cannot displace the others. */
  #findIdle(subject: string): HttpSession | undefined {
    const own = [...this.#sessions.values()].filter((session) => session.subject === subject)
    const counts = new Map<string, number>()
    for (const { clientKey } of own) counts.set(clientKey, (counts.get(clientKey) ?? 0) + 1)
    const countOf = ({ clientKey }: HttpSession) => counts.get(clientKey) ?? 0
    const isBetter = (one: HttpSession, other: HttpSession) =>
      countOf(one) === countOf(other)
        ? one.lastSeen < other.lastSeen
        : countOf(one) > countOf(other)
    let found: HttpSession | undefined
    for (const session of own)
      if (session.isIdle && (!found || isBetter(session, found))) found = session
    return found
  }

  /** A call that is not answered within this turn of the event loop gets a stream. */
  #openStreamLater(postReply: PostReply): void {
    if (this.#unanswered.push(postReply) > 1) return
    setImmediate(() => {
      const waiting = this.#unanswered
      this.#unanswered = []
      for (const one of waiting) if (!one.isFinished) one.openStream()
    })
  }

  #close(session: HttpSession): void {
    if (!this.#sessions.delete(session.id)) return
    this.#shares.release(session.subject)
    session.close()
  }

  #sweep(): void {
    const idleSince = this.#now() - maxIdleMs
    for (const session of this.#sessions.values())
      if (session.isIdle && session.lastSeen < idleSince) this.#close(session)
      else session.tidy()
  }
}

const isInitialize = (message: Message): boolean =>
  message.kind === 'request' && message.method === 'initialize'

/** The response can be either. */
const acceptsBoth = (accept: string | undefined): boolean =>
  accept?.includes('application/json') === true && accept.includes('text/event-stream')

const refuse = (
  reply: HttpReply,
  status: number,
  message: string,
  code: number = codes.server,
): void => reply.answer(status, toErrorBody({ code, message }))
