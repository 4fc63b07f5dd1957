import type { Msg } from '@nats-io/transport-node'
import { Cancellation } from '../../../../capability/cancellation.ts'
import type { ErrorCode } from '../../envelope/error-codes.ts'
import { toErrorInfo } from '../../envelope/response.ts'
import { type Frame, toFrame } from '../frame.ts'
import { type NatsConnection, TooLarge } from './nats-connection.ts'
import { toCancelSubject, toQueue, toSubject } from './subjects.ts'

/** Whatever is received, a frame goes back. */
export type Receive = (frame: unknown, from: Sender) => Promise<object>

export interface Sender {
  /** As a header: `Bearer …`. */
  readonly authorization: string | undefined
  readonly cancellation: Cancellation
}

export interface ResponderOptions {
  readonly line: NatsConnection
  readonly prefix: string
  readonly node: string
  readonly instance: string
  readonly receive: Receive
  readonly onTrouble: (error: unknown) => void
}

/** So many are answered at a time; the next one hears that it is one too many. */
const most = 1000

/** Where other runtimes ask this one, by NATS: it shares the subject with its replicas. */
export class Responder {
  readonly #options: ResponderOptions
  readonly #active = new Map<string, Cancellation>()
  readonly #stops: (() => void)[]
  #lastAnswered: (() => void) | undefined

  constructor(options: ResponderOptions) {
    this.#options = options
    const { line, prefix, node } = options
    this.#stops = [
      line.subscribe({
        subject: toSubject(prefix, node),
        queue: toQueue(node),
        hear: (message) => void this.#hear(message),
      }),
      line.subscribe({
        subject: toCancelSubject(prefix, node),
        hear: (message) => this.#active.get(message.string())?.cancel('The sender left.'),
      }),
    ]
  }

  /** Takes nothing more; what was taken is answered. */
  shut(): void {
    for (const stop of this.#stops) stop()
  }

  /** When everything is answered that was taken, or given up. */
  async settle(): Promise<void> {
    this.shut()
    if (this.#active.size > 0)
      await new Promise<void>((resolve) => {
        this.#lastAnswered = resolve
      })
  }

  /** Gives up what is still under way. */
  abandon(): void {
    for (const cancellation of this.#active.values()) cancellation.cancel('The server is closing.')
    this.#active.clear()
    this.#lastAnswered?.()
  }

  async #hear({ data, reply, headers }: Msg): Promise<void> {
    // Who does not want an answer would never know what happened.
    if (reply === undefined || reply === '') return
    if (this.#active.size >= most) return this.#answer(reply, refuse('RATE_LIMIT', 'Too many.'))
    const cancellation = new Cancellation()
    this.#active.set(reply, cancellation)
    const { receive, onTrouble } = this.#options
    try {
      const authorization = readHeader(headers, 'authorization')
      const frame = await receive(parse(data), { authorization, cancellation })
      await this.#answer(reply, frame)
    } catch (error) {
      onTrouble(error)
      await this.#answer(reply, refuse('INTERNAL_AGENT_ERROR', 'It is out of order.'))
    } finally {
      this.#active.delete(reply)
      if (this.#active.size === 0) this.#lastAnswered?.()
    }
  }

  async #answer(reply: string, frame: object): Promise<void> {
    const { line, instance, onTrouble } = this.#options
    const send = (one: object) =>
      line.send({ subject: reply, body: JSON.stringify({ ...one, headers: { instance } }) })
    try {
      // It was asked before the line broke, and whoever asked may still wait.
      await line.reach()
      send(frame)
    } catch (error) {
      if (error instanceof TooLarge)
        send(refuse('PROTOCOL_ERROR', 'It was done, and its answer is too large to be sent.'))
      else onTrouble(error)
    }
  }
}

const refuse = (code: ErrorCode, message: string): Frame =>
  toFrame('error', toErrorInfo(code, message))

/** Whatever its letters are written like. */
function readHeader(headers: Msg['headers'], wanted: string): string | undefined {
  const name = headers?.keys().find((one) => one.toLowerCase() === wanted)
  return name === undefined ? undefined : headers?.get(name)
}

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString())
  } catch {
    return undefined
  }
}
