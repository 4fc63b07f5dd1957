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
import { isPlainObject } from '../../capability/json.ts'
import { detachedExchange } from '../exchange.ts'
import type { HttpReply, HttpRequest } from '../http-port.ts'
import { findSubject, methods } from '../methods.ts'
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
  /** Open streams: who listens is there, however quiet. */
  streams: number
}

export interface SessionLimits {
  readonly perCaller: number
  readonly inAll: number
  /** Milliseconds without a request after which a session is closed. */
  readonly idle: number
}

export const sessionLimits: SessionLimits = { perCaller: 256, inAll: 4096, idle: 30 * 60_000 }

/** The sessions of 2025 over HTTP: each the SDK's own transport and server, bound to one caller. */
export class LegacySessions {
  readonly #surface: Surface
  readonly #now: () => number
  readonly #limits: SessionLimits
  readonly #sessions = new Map<string, Session>()
  readonly #sweeper: NodeJS.Timeout

  constructor(surface: Surface, now: () => number, limits: SessionLimits = sessionLimits) {
    this.#surface = surface
    this.#now = now
    this.#limits = limits
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(limits.idle, 60_000)).unref()
  }

  async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const [refusal] = [request.body].flat().flatMap((message) => findBadHandshake(message) ?? [])
    if (refusal) return reply.answer(400, JSON.stringify(refusal))
    const id = request.headers['mcp-session-id']
    if (id === undefined && isInitializeRequest(request.body)) return this.#begin(request, reply)
    if (id === undefined)
      return refuse(reply, 400, codes.server, 'Mcp-Session-Id header is required')
    const session = this.#sessions.get(id)
    // Somebody else's session does not exist: knowing its id must not be worth anything.
    if (session?.subject !== request.caller.subject)
      return refuse(reply, 404, codes.sessionNotFound, 'Session not found')
    session.lastSeen = this.#now()
    const forbidden = await this.#forbid(request)
    if (forbidden) {
      const body = toErrorBody(forbidden, toId(request.body))
      return reply.answer(forbidden.status, body, forbidden.headers)
    }
    if (request.method === 'GET') {
      session.streams++
      request.cancellation.onCancel(() => session.streams--)
    }
    await this.#pass(session, request, reply)
  }

  /**
   * A stream has begun with 200 before the SDK asks for an answer, so a call that will be refused
   * for want of a scope is made here: the same pipeline refuses it, and HTTP can say 403.
   */
  async #forbid({ body, caller, cancellation }: HttpRequest): Promise<RpcError | undefined> {
    if (!isPlainObject(body) || typeof body.method !== 'string' || !isPlainObject(body.params))
      return undefined
    const { method, params } = body
    const capability = findSubject(this.#surface, method, params)
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

  async #begin(request: HttpRequest, reply: HttpReply): Promise<void> {
    const { caller } = request
    const { subject } = caller
    const own = [...this.#sessions.values()].filter((session) => session.subject === subject)
    if (own.length >= this.#limits.perCaller || this.#sessions.size >= this.#limits.inAll)
      return refuse(reply, 429, codes.server, 'Too many open sessions')
    const server = createSdkServer(this.#surface, 'legacy', caller, ({ http }) =>
      toCaller(http?.authInfo),
    )
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(24).toString('base64url'),
      eventStore: new EventLog() satisfies EventStore,
      retryInterval: 500,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { transport, server, subject, lastSeen: this.#now(), streams: 0 })
      },
    })
    const forget = server.onclose
    server.onclose = () => {
      forget?.()
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    await this.#pass({ transport, server }, request, reply)
    // Refused: nobody will ever come back to it.
    if (transport.sessionId === undefined) await server.close()
  }

  async #pass(
    { transport, server }: Pick<Session, 'transport' | 'server'>,
    { method, headers, body, caller }: HttpRequest,
    reply: HttpReply,
  ): Promise<void> {
    const said = toHeaders(withAgreedVersion(headers, server.getNegotiatedProtocolVersion()))
    const request = new Request('http://localhost/', { method, headers: said })
    const response = await transport.handleRequest(request, {
      authInfo: { token: '', clientId: caller.subject, scopes: [], extra: { caller } },
      ...(body !== undefined && { parsedBody: body }),
    })
    reply.pipe(response)
  }

  #sweep(): void {
    const oldest = this.#now() - this.#limits.idle
    for (const { server, lastSeen, streams } of this.#sessions.values())
      if (streams === 0 && lastSeen < oldest) void server.close()
  }
}

const toCaller = (authInfo: { extra?: Record<string, unknown> } | undefined): Caller =>
  (authInfo?.extra?.caller as Caller | undefined) ?? { ...localUser, scopes: new Set() }

const version = 'mcp-protocol-version'

/**
 * A session keeps to the revision it began with. Clients forget to repeat it, or repeat another,
 * and the transport believes what they say; only one that nobody knows is left for it to refuse.
 */
function withAgreedVersion(
  headers: HttpRequest['headers'],
  agreed: string | undefined,
): HttpRequest['headers'] {
  const said = headers[version]
  return agreed !== undefined && (said === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(said))
    ? { ...headers, [version]: agreed }
    : headers
}

/** The transport reads these and no others. */
const read = [
  'accept',
  'content-type',
  'idempotency-key',
  'last-event-id',
  version,
  'mcp-session-id',
] as const

const toHeaders = (headers: HttpRequest['headers']): [string, string][] =>
  read.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, value]]
  })

const refuse = (reply: HttpReply, status: number, code: number, message: string): void =>
  reply.answer(status, toErrorBody({ code, message }))
