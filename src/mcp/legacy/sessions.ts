import { randomBytes } from 'node:crypto'
import type { HttpReply, HttpRequest } from '../http-port.ts'
import type { Message } from '../message.ts'
import { codes, toErrorBody } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { legacyRevisions } from '../wire-names.ts'
import { HttpSession, type PostReply } from './http-session.ts'
import type { SessionRegistry } from './session-registry.ts'

/** A session without a running call or an open stream for this time is closed. */
export const maxIdleMs = 30 * 60_000

/** Characters kept for reconnecting clients: of one session, and of all sessions of one caller. */
const maxSessionCharacters = 1024 * 1024
const maxCallerCharacters = 16 * maxSessionCharacters

/** The 2025 sessions of one mount over HTTP. */
export class LegacySessions {
  readonly #surface: Surface
  readonly #registry: SessionRegistry
  readonly #sweeper: NodeJS.Timeout
  #unanswered: PostReply[] = []

  constructor(surface: Surface, registry: SessionRegistry) {
    this.#surface = surface
    this.#registry = registry
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
    this.#registry.close(session)
    reply.answer(200, '')
  }

  close(): void {
    clearInterval(this.#sweeper)
    for (const session of this.#registry.on(this.#surface)) this.#registry.close(session)
  }

  /** The session of a request, or `undefined` after a refusal. */
  #find({ headers, caller }: HttpRequest, reply: HttpReply): HttpSession | undefined {
    const id = headers['mcp-session-id']
    if (!id) {
      refuse(reply, 400, 'Bad Request: Mcp-Session-Id header is required')
      return undefined
    }
    const session = this.#registry.get(id)
    // Session hijacking: a session of another caller is reported as not found, like one of another mount.
    if (session?.subject !== caller.subject || session.surface !== this.#surface) {
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
    session.touch()
    return session
  }

  #open(initialize: Message, request: HttpRequest, reply: HttpReply): void {
    const { caller, address } = request
    const { subject } = caller
    if (!this.#registry.takePlace(subject, address))
      return refuse(
        reply,
        429,
        'Too many open sessions, and all of them are in use. End one, close a stream, or try again in a minute.',
      )
    const session = new HttpSession({
      surface: this.#surface,
      id: randomBytes(24).toString('base64url'),
      caller,
      address,
      now: this.#registry.now,
      maxCharacters: () =>
        Math.min(maxSessionCharacters, maxCallerCharacters / this.#registry.count(subject)),
      openStreamLater: (postReply) => this.#openStreamLater(postReply),
    })
    this.#registry.add(session)
    const outlet = {
      send: () => {},
      succeed: (body: Parameters<HttpReply['answer']>[1]) =>
        reply.answer(200, body, { 'mcp-session-id': session.id }),
      fail: (_: unknown, body: string) => {
        this.#registry.close(session)
        reply.answer(400, body)
      },
    }
    session.session.receive(initialize, { caller, headers: request.headers }, outlet)
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

  #sweep(): void {
    const idleSince = this.#registry.now() - maxIdleMs
    for (const session of this.#registry.on(this.#surface))
      if (session.isIdle && session.lastSeen < idleSince) this.#registry.close(session)
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
