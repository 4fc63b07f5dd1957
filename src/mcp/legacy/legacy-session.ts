import type { ClientCapabilities } from '@modelcontextprotocol/server'
import type { Caller } from '../../capability/caller.ts'
import type { LogLevel } from '../../capability/listener.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type Announcement, toNotification } from '../announcements.ts'
import { type Era, type Outlet, serveRequest } from '../engine.ts'
import type { Exchange } from '../exchange.ts'
import { type Message, noParams, type Params, type Request } from '../message.ts'
import { maxUriCharacters } from '../modern/subscriptions.ts'
import { RequestListener } from '../request-listener.ts'
import { brief, invalidParams } from '../rpc-error.ts'
import { RunningOutlet, RunningRequests } from '../running-requests.ts'
import type { Surface } from '../surface.ts'
import type { Handshake } from './handshake.ts'
import { legacyMethods } from './legacy-methods.ts'
import { toLegacyBody } from './legacy-result.ts'
import { QuestionsToClient } from './questions-to-client.ts'

/** The context of a request in a 2025 connection. */
export interface LegacyExchange extends Exchange {
  readonly session: LegacySession
  /** For questions to the client. */
  readonly outlet: Outlet
}

/** Who sends a request, and with which headers. */
export interface Sender {
  readonly caller: Caller
  readonly headers?: Exchange['headers']
}

const legacyEra: Era<LegacyExchange> = { methods: legacyMethods, toBody: toLegacyBody }

/** Resource subscriptions of one connection. */
const maxSubscriptions = 1000

/** One 2025 connection: a session over HTTP, or a client over stdio. */
export class LegacySession {
  readonly running = new RunningRequests()
  /** The negotiated revision; 2025-03-26 is assumed before `initialize`. */
  revision = '2025-03-26'
  client: ClientCapabilities = {}
  /** The name that the client gave itself. */
  clientName = ''
  /** The lowest level of log entries that are sent. */
  level: LogLevel = 'debug'
  readonly #surface: Surface
  readonly #unsubscribe: () => void
  /** Created when needed, like the subscriptions: most sessions have none. */
  #questions: QuestionsToClient | undefined
  /** Callers by the URI that they subscribed to. */
  #subscriptions: Map<string, Caller> | undefined
  #uriCharacters = 0

  /** `announce` sends a message that belongs to no request. */
  constructor(surface: Surface, caller: Caller, announce: (message: object) => void) {
    this.#surface = surface
    this.#unsubscribe = surface.announcements.subscribe((announcement) => {
      if (!this.#wants(announcement, caller)) return
      const { method, params } = toNotification(announcement)
      const hasParams = announcement.kind === 'updated'
      announce({ jsonrpc: '2.0', method, ...(hasParams && { params }) })
    })
  }

  get questions(): QuestionsToClient {
    this.#questions ??= new QuestionsToClient()
    return this.#questions
  }

  begin({ revision, client, clientName }: Handshake): void {
    this.revision = revision
    this.client = client
    this.clientName = clientName
  }

  /** Receives any message. Only requests use the outlet. */
  receive(message: Message, sender: Sender, outlet: Outlet): void {
    switch (message.kind) {
      case 'request':
        return this.#serve(message, sender, outlet)
      case 'notification':
        if (message.method === 'notifications/cancelled') this.running.cancel(message.params)
        return
      case 'response':
        return this.#questions?.receive(message)
    }
  }

  subscribe(uri: string, caller: Caller): void {
    if (!this.#surface.mayRead(caller, uri))
      throw invalidParams(`Resource not found: ${brief(uri)}`, { uri: brief(uri) })
    this.#subscriptions ??= new Map()
    if (!this.#subscriptions.has(uri)) this.#reserve(uri)
    this.#subscriptions.set(uri, caller)
  }

  unsubscribe(uri: string): void {
    if (this.#subscriptions?.delete(uri)) this.#uriCharacters -= uri.length
  }

  /** Cancels what is running; nothing is sent any more. */
  close(): void {
    this.#unsubscribe()
    this.#questions?.close()
    this.running.close()
  }

  #reserve(uri: string): void {
    if ((this.#subscriptions?.size ?? 0) >= maxSubscriptions)
      throw invalidParams(`A session can subscribe to at most ${maxSubscriptions} resources`)
    if (this.#uriCharacters + uri.length > maxUriCharacters)
      throw invalidParams(
        `The URIs that a session subscribes to can have at most ${maxUriCharacters} characters`,
      )
    this.#uriCharacters += uri.length
  }

  #serve(request: Request, { caller, headers }: Sender, plainOutlet: Outlet): void {
    const { id, params } = request
    const outlet = new RunningOutlet(this.running, id, plainOutlet)
    const meta: Params = isPlainObject(params._meta) ? params._meta : noParams
    const exchange: LegacyExchange = {
      caller,
      client: this.client,
      cancellation: outlet.cancellation,
      listener: new RequestListener(outlet, meta.progressToken, this),
      inputResponses: params.inputResponses,
      requestState: params.requestState,
      ...(headers && { headers }),
      session: this,
      outlet,
    }
    serveRequest(this.#surface, legacyEra, request, exchange, outlet)
  }

  /** List changes go to every session, resource updates to those that subscribed. */
  #wants(announcement: Announcement, sessionCaller: Caller): boolean {
    const caller =
      announcement.kind === 'updated' ? this.#subscriptions?.get(announcement.uri) : sessionCaller
    return caller !== undefined && this.#surface.concerns(caller, announcement)
  }
}
