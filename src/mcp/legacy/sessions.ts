import { randomBytes } from 'node:crypto'
import {
  type EventStore,
  isInitializeRequest,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Caller } from '../../capability/caller.ts'
import { localUser } from '../../capability/caller.ts'
import type { FairShares, ShareLimits } from '../../capability/fair-shares.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { detachedExchange } from '../exchange.ts'
import type { HttpReply, HttpRequest } from '../http-port.ts'
import { IdsInFlight, toDuplicateMessage } from '../ids-in-flight.ts'
import { findTarget, methods } from '../methods.ts'
import { codes, type RpcError, toErrorBody, toId, toRpcError } from '../rpc-error.ts'
import { createSdkServer } from '../sdk-server.ts'
import type { Surface } from '../surface.ts'
import { EventLog } from './event-log.ts'
import { findBadHandshake } from './handshake.ts'

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: Server
  readonly subject: string
  lastSeen: number
  readonly ids: IdsInFlight
  /** The number of open streams. A session with one is not idle, even without requests. */
  streams: number
}

/** Sessions on all mounts. */
export const sessionLimits: ShareLimits = { perCaller: 256, total: 4096 }

/** A session without a request or an open stream for this time is closed. */
export const maxIdleMs = 30 * 60_000
/**
 * After this time an idle session is closed when its caller needs the place: a client that crashes
 * leaves sessions behind, and must be able to connect again.
 */
const minIdleMs = 60_000

/** Characters in the replay buffers of one session, and of all sessions of one caller. */
const maxSessionCharacters = 1024 * 1024
const maxCallerCharacters = 16 * maxSessionCharacters

/** 2025 sessions over HTTP: each has an SDK transport and server, and belongs to one caller. */
export class LegacySessions {
  readonly #surface: Surface
  readonly #now: () => number
  readonly #shares: FairShares
  readonly #sessions = new Map<string, Session>()
  readonly #sweeper: NodeJS.Timeout

  constructor(surface: Surface, now: () => number, shares: FairShares) {
    this.#surface = surface
    this.#now = now
    this.#shares = shares
    this.#sweeper = setInterval(() => this.#sweep(), 60_000).unref()
  }

  async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const [error] = [request.body].flat().flatMap((message) => findBadHandshake(message) ?? [])
    if (error) return reply.answer(400, JSON.stringify(error))
    const id = request.headers['mcp-session-id']
    if (id === undefined && isInitializeRequest(request.body)) return this.#open(request, reply)
    if (id === undefined)
      return refuse(reply, 400, codes.server, 'Mcp-Session-Id header is required')
    const session = this.#sessions.get(id)
    // Session hijacking: a session of another caller is reported as not found.
    if (session?.subject !== request.caller.subject)
      return refuse(reply, 404, codes.sessionNotFound, 'Session not found')
    session.lastSeen = this.#now()
    const refusal = await this.#findRefusal(request)
    if (refusal) {
      const body = toErrorBody(refusal, toId(request.body))
      return reply.answer(refusal.status, body, refusal.headers)
    }
    const duplicateId = session.ids.begin(request.body)
    if (duplicateId !== undefined) {
      const error = { code: codes.invalidRequest, message: toDuplicateMessage(duplicateId) }
      return reply.answer(400, toErrorBody(error, duplicateId))
    }
    const status = await this.#forward(session, request, reply)
    if (status !== 200) session.ids.forget(request.body)
    else if (request.method === 'GET') {
      session.streams++
      request.cancellation.onCancel(() => session.streams--)
    }
  }

  /**
   * The SDK sends status 200 before the method runs. A call that will be refused for a missing scope
   * runs here instead: the same pipeline refuses and audits it, and HTTP can answer 403.
   */
  async #findRefusal({ body, caller, cancellation }: HttpRequest): Promise<RpcError | undefined> {
    if (!isPlainObject(body) || typeof body.method !== 'string' || !isPlainObject(body.params))
      return undefined
    const { method, params } = body
    const capability = findTarget(this.#surface, method, params)
    if (!capability || toId(body) === null || !this.#surface.forbids(caller, capability))
      return undefined
    try {
      const exchange = { caller, cancellation, ...detachedExchange }
      await methods.get(method)?.(this.#surface, params, exchange)
    } catch (error) {
      return toRpcError(error)
    }
    throw new Error(`${capability.name} was not refused`)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()))
  }

  async #open(request: HttpRequest, reply: HttpReply): Promise<void> {
    const { caller } = request
    const { subject } = caller
    if (!this.#shares.take(subject)) {
      await this.#findIdle(subject)?.server.close()
      if (!this.#shares.take(subject))
        return refuse(
          reply,
          429,
          codes.server,
          'Too many open sessions. End one, or wait a minute.',
        )
    }
    const server = createSdkServer(this.#surface, 'legacy', caller, ({ http }) =>
      toCaller(http?.authInfo),
    )
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(24).toString('base64url'),
      eventStore: new EventLog(() =>
        Math.min(maxSessionCharacters, maxCallerCharacters / this.#shares.held(subject)),
      ) satisfies EventStore,
      retryInterval: 500,
      onsessioninitialized: (id) => {
        const lastSeen = this.#now()
        this.#sessions.set(id, { transport, server, subject, ids, lastSeen, streams: 0 })
      },
    })
    const ids = new IdsInFlight()
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send(message, options).finally(() => ids.end(message))
    const unsubscribe = server.onclose
    server.onclose = () => {
      unsubscribe?.()
      server.onclose = () => {}
      this.#shares.release(subject)
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    await this.#forward({ transport, server }, request, reply)
    // The SDK refused the handshake, so no session exists.
    if (transport.sessionId === undefined) await server.close()
  }

  async #forward(
    { transport, server }: Pick<Session, 'transport' | 'server'>,
    { method, headers, body, caller }: HttpRequest,
    reply: HttpReply,
  ): Promise<number> {
    const version = server.getNegotiatedProtocolVersion()
    const request = new Request('http://localhost/', {
      method,
      headers: toHeaders(withNegotiatedVersion(headers, version)),
    })
    const response = await transport.handleRequest(request, {
      authInfo: { token: '', clientId: caller.subject, scopes: [], extra: { caller } },
      ...(body !== undefined && { parsedBody: body }),
    })
    reply.pipe(response)
    return response.status
  }

  /** The session of a caller that has been idle for longest, and long enough to be closed. */
  #findIdle(subject: string): Session | undefined {
    let found: Session | undefined
    const idleSince = this.#now() - minIdleMs
    for (const session of this.#sessions.values())
      if (session.subject === subject && isIdle(session, found?.lastSeen ?? idleSince))
        found = session
    return found
  }

  #sweep(): void {
    const idleSince = this.#now() - maxIdleMs
    for (const session of this.#sessions.values())
      if (isIdle(session, idleSince)) void session.server.close()
  }
}

const isIdle = ({ lastSeen, streams, ids }: Session, since: number): boolean =>
  streams === 0 && ids.size === 0 && lastSeen < since

const toCaller = (authInfo: { extra?: Record<string, unknown> } | undefined): Caller =>
  (authInfo?.extra?.caller as Caller | undefined) ?? { ...localUser, scopes: new Set() }

const versionHeader = 'mcp-protocol-version'

/**
 * A session keeps the revision that its handshake negotiated. Some clients omit the header or send
 * another revision, and the SDK's transport would believe them. Unknown revisions are left as they
 * are, for the transport to refuse.
 */
function withNegotiatedVersion(
  headers: HttpRequest['headers'],
  negotiatedVersion: string | undefined,
): HttpRequest['headers'] {
  if (negotiatedVersion === undefined) return headers
  const requestedVersion = headers[versionHeader]
  return requestedVersion === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(requestedVersion)
    ? { ...headers, [versionHeader]: negotiatedVersion }
    : headers
}

/** The only headers that the transport reads. */
const transportHeaders = [
  'accept',
  'content-type',
  'idempotency-key',
  'last-event-id',
  versionHeader,
  'mcp-session-id',
] as const

const toHeaders = (headers: HttpRequest['headers']): [string, string][] =>
  transportHeaders.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, value]]
  })

const refuse = (reply: HttpReply, status: number, code: number, message: string): void =>
  reply.answer(status, toErrorBody({ code, message }))
