import type { HttpReply, HttpRequest } from './http-port.ts'
import type { SessionRegistry } from './legacy/session-registry.ts'
import { LegacySessions } from './legacy/sessions.ts'
import { type Message, readPlain } from './message.ts'
import { checkRevision, claimsModern } from './modern/envelope.ts'
import { serveModern } from './modern/modern-http.ts'
import { checkModern, readPlainModern } from './modern/modern-request.ts'
import { codes, RpcError, toErrorBody, toId, toRpcError } from './rpc-error.ts'
import type { Surface } from './surface.ts'
import { legacyRevisions } from './wire-names.ts'

const maxBatchSize = 100

/** One mount over HTTP: both protocol eras at the same address. */
export class HttpEndpoint {
  readonly #surface: Surface
  readonly #sessions: LegacySessions

  constructor(surface: Surface, sessions: SessionRegistry) {
    this.#surface = surface
    this.#sessions = new LegacySessions(surface, sessions)
  }

  /** Returns a promise only for requests that are not plainly valid. */
  handle(request: HttpRequest, reply: HttpReply): void | Promise<void> {
    if (request.method === 'GET') return this.#sessions.get(request, reply)
    if (request.method === 'DELETE') return this.#sessions.delete(request, reply)
    const message = readPlain(request.body)
    if (!message) return this.#judge(request, reply)
    const modern = readPlainModern(message, request.headers)
    if (modern) return serveModern(this.#surface, modern, request, reply)
    if (isPlainLegacy(message, request.headers))
      return this.#sessions.post([message], request, reply)
    return this.#judge(request, reply)
  }

  close(): void {
    this.#sessions.close()
  }

  /** Requests that are not plainly valid are judged by the SDK. */
  async #judge(request: HttpRequest, reply: HttpReply): Promise<void> {
    const { headers, body } = request
    try {
      checkBatchSize(body)
      const { judgeEra, judgeMessage } = await import('./judge.ts')
      const verdict = judgeEra(request)
      const messages = [body].flat().map((one) => readPlain(one) ?? judgeMessage(one))
      if (!isComplete(messages))
        throw new RpcError(codes.parse, 'Parse error: Invalid JSON-RPC message', { status: 400 })
      if (verdict.era === 'legacy') return this.#sessions.post(messages, request, reply)
      const [message] = messages
      checkRevision(verdict.revision)
      if (message?.kind !== 'request') return reply.answer(202, '')
      serveModern(this.#surface, checkModern(message, headers), request, reply)
    } catch (error) {
      const rpcError = toRpcError(error)
      const { status } = rpcError
      reply.answer(
        status === 200 ? 500 : status,
        toErrorBody(rpcError, toId(body)),
        rpcError.headers,
      )
    }
  }
}

/** Before its messages are judged: to judge thousands blocks the event loop for a second. */
function checkBatchSize(body: unknown): void {
  if (Array.isArray(body) && body.length > maxBatchSize)
    throw new RpcError(
      codes.invalidRequest,
      `Invalid Request: Batch must not exceed ${maxBatchSize} messages`,
      { status: 400 },
    )
}

const isComplete = (messages: readonly (Message | undefined)[]): messages is readonly Message[] =>
  messages.every((message) => message !== undefined)

/** True if a message makes no claim to the stateless era, in its headers or its body. */
function isPlainLegacy(message: Message, headers: HttpRequest['headers']): boolean {
  const revision = headers['mcp-protocol-version']
  if (revision !== undefined && !legacyRevisions.includes(revision)) return false
  return message.kind === 'response' || !claimsModern(message.params)
}
