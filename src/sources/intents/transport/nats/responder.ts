import type { Msg } from '@nats-io/transport-node'
import { Cancellation } from '../../../../capability/cancellation.ts'
import { parseJson } from '../../../../json/parse-json.ts'
import type { ErrorCode } from '../../envelope/error-codes.ts'
import { toErrorInfo } from '../../envelope/response.ts'
import { type Frame, toFrame } from '../frame.ts'
import { MessageTooLargeError, type NatsConnection } from './nats-connection.ts'
import { toCancelSubject, toQueue, toSubject } from './subjects.ts'

/** Handles one frame and returns the reply frame. */
export type Receive = (frame: unknown, sender: Sender) => Promise<object>

export interface Sender {
  /** The authorization header: `Bearer …`. */
  readonly authorization: string | undefined
  readonly cancellation: Cancellation
}

export interface ResponderOptions {
  readonly connection: NatsConnection
  readonly prefix: string
  readonly node: string
  readonly instance: string
  readonly receive: Receive
  readonly onOperationalError: (error: unknown) => void
}

/** Further requests are rejected with RATE_LIMIT. */
const maxConcurrentRequests = 1000

/** Answers requests over NATS, in a queue group with the other replicas of the node. */
export class Responder {
  readonly #options: ResponderOptions
  readonly #active = new Map<string, Cancellation>()
  readonly #stops: (() => void)[]
  #onIdle: (() => void) | undefined

  constructor(options: ResponderOptions) {
    this.#options = options
    const { connection, prefix, node } = options
    this.#stops = [
      connection.subscribe({
        subject: toSubject(prefix, node),
        queue: toQueue(node),
        onMessage: (message) => void this.#handle(message),
      }),
      connection.subscribe({
        subject: toCancelSubject(prefix, node),
        onMessage: (message) =>
          this.#active.get(message.string())?.cancel('The sender cancelled the request.'),
      }),
    ]
  }

  /** Accepts no new requests; those in progress are answered. */
  stop(): void {
    for (const stop of this.#stops) stop()
  }

  /** Resolves once every accepted request is answered or abandoned. */
  async settle(): Promise<void> {
    this.stop()
    if (this.#active.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
  }

  /** Cancels the requests in progress. */
  abandon(): void {
    for (const cancellation of this.#active.values()) cancellation.cancel('The server is closing.')
    this.#active.clear()
    this.#onIdle?.()
  }

  async #handle({ data, reply, headers }: Msg): Promise<void> {
    // Requests without a reply subject are ignored: the sender could not learn the outcome.
    if (reply === undefined || reply === '') return
    if (this.#active.size >= maxConcurrentRequests)
      return this.#reply(reply, refuse('RATE_LIMIT', 'Too many concurrent requests.'))
    const cancellation = new Cancellation()
    this.#active.set(reply, cancellation)
    const { receive, onOperationalError } = this.#options
    try {
      const authorization = readHeader(headers, 'authorization')
      const frame = parseJson(Buffer.from(data).toString())
      await this.#reply(reply, await receive(frame, { authorization, cancellation }))
    } catch (error) {
      onOperationalError(error)
      await this.#reply(reply, refuse('INTERNAL_AGENT_ERROR', 'An internal error occurred.'))
    } finally {
      this.#active.delete(reply)
      if (this.#active.size === 0) this.#onIdle?.()
    }
  }

  async #reply(subject: string, frame: object): Promise<void> {
    const { connection, instance, onOperationalError } = this.#options
    const send = (reply: object) =>
      connection.send({ subject, body: JSON.stringify({ ...reply, headers: { instance } }) })
    try {
      // The connection may have been lost meanwhile; the sender may still be waiting.
      await connection.connect()
      send(frame)
    } catch (error) {
      if (error instanceof MessageTooLargeError)
        send(refuse('PROTOCOL_ERROR', 'The request was carried out, but its answer is too large.'))
      else onOperationalError(error)
    }
  }
}

const refuse = (code: ErrorCode, message: string): Frame =>
  toFrame('error', toErrorInfo(code, message))

/** Case-insensitive, unlike NATS headers. */
function readHeader(headers: Msg['headers'], name: string): string | undefined {
  const key = headers?.keys().find((key) => key.toLowerCase() === name)
  return key === undefined ? undefined : headers?.get(key)
}
