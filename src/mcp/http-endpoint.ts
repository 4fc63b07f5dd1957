import type { FairShares } from '../capability/fair-shares.ts'
import type { HttpReply, HttpRequest } from './http-port.ts'
import { LegacySessions } from './legacy/sessions.ts'
import { serveModern } from './modern/modern-http.ts'
import { readInbound } from './modern/modern-request.ts'
import { toErrorBody, toId, toRpcError } from './rpc-error.ts'
import type { Surface } from './surface.ts'

/** One mount over HTTP: both protocol eras at the same address. */
export class HttpEndpoint {
  readonly #surface: Surface
  readonly #sessions: LegacySessions

  constructor(surface: Surface, now: () => number, sessionShares: FairShares) {
    this.#surface = surface
    this.#sessions = new LegacySessions(surface, now, sessionShares)
  }

  async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    try {
      const inbound = readInbound(request)
      switch (inbound.kind) {
        case 'request':
          return await serveModern(this.#surface, inbound, request, reply)
        case 'notification':
          return reply.answer(202, '')
        case 'legacy':
          return await this.#sessions.handle(request, reply)
      }
    } catch (error) {
      const rpcError = toRpcError(error)
      const { status, headers } = rpcError
      const body = toErrorBody(rpcError, toId(request.body))
      reply.answer(status === 200 ? 500 : status, body, headers)
    }
  }

  async close(): Promise<void> {
    await this.#sessions.close()
  }
}
