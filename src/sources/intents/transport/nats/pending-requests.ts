import type { Msg } from '@nats-io/transport-node'
import { EgressError } from '../../../../upstream/egress/egress.ts'
import { maxAnswerBytes, type TransportFault, type TransportResult } from '../transport.ts'
import { MessageTooLargeError, type NatsConnection } from './nats-connection.ts'

export interface NatsRequest {
  readonly subject: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** Keeps waiting when the connection is lost: the answer may still arrive. */
  readonly mustNotRepeat: boolean
  readonly signal: AbortSignal
  /** Called when the caller stops waiting for a request that was sent. */
  readonly onAbandon: (reply: string) => void
}

interface PendingRequest extends Pick<NatsRequest, 'subject' | 'mustNotRepeat'> {
  readonly settle: (result: TransportResult) => void
}

/** Request and reply over NATS. All replies arrive on one inbox subscription. */
export class PendingRequests {
  readonly #connection: NatsConnection
  readonly #newId: () => string
  readonly #inbox: string
  readonly #pending = new Map<string, PendingRequest>()
  #subscribed = false

  constructor(connection: NatsConnection, newId: () => string) {
    this.#connection = connection
    this.#newId = newId
    this.#inbox = `_INBOX.${newId()}`
    connection.watch({
      onDisconnect: () => this.#failOnDisconnect(),
      onPublishDenied: (subject) => this.#failOnDenied(subject),
    })
  }

  async send(request: NatsRequest): Promise<TransportResult> {
    this.#subscribeOnce()
    const { signal, subject, body, headers } = request
    const reply = `${this.#inbox}.${this.#newId()}`
    const abort = new Promise<'aborted'>((resolve) => {
      if (signal.aborted) resolve('aborted')
      else signal.addEventListener('abort', () => resolve('aborted'), { once: true })
    })
    try {
      if ((await Promise.race([this.#connection.connect(), abort])) === 'aborted')
        return abortedBeforeSending
      const answer = this.#expectReply(reply, request)
      this.#connection.send({ subject, body, reply, headers })
      const result = await Promise.race([answer, abort])
      if (result !== 'aborted') return result
      request.onAbandon(reply)
      return { fault: 'no_reply', cause: 'the request was aborted while waiting for the answer' }
    } catch (error) {
      return { fault: toFault(error), cause: String(error) }
    } finally {
      this.#pending.delete(reply)
    }
  }

  #expectReply(reply: string, request: NatsRequest): Promise<TransportResult> {
    const { subject, mustNotRepeat } = request
    return new Promise((settle) => this.#pending.set(reply, { subject, mustNotRepeat, settle }))
  }

  #subscribeOnce(): void {
    if (this.#subscribed) return
    this.#subscribed = true
    this.#connection.subscribe({
      subject: `${this.#inbox}.*`,
      onMessage: (message) => this.#pending.get(message.subject)?.settle(toResult(message)),
    })
  }

  /** Repeatable requests fail at once, for failover; the others wait, for a reply after reconnect. */
  #failOnDisconnect(): void {
    for (const { mustNotRepeat, settle } of this.#pending.values())
      if (!mustNotRepeat) settle({ fault: 'no_reply', cause: 'the connection was lost' })
  }

  #failOnDenied(subject: string): void {
    const cause = `the server does not allow publishing to ${subject}`
    for (const pending of this.#pending.values())
      if (pending.subject === subject) pending.settle({ fault: 'forbidden', cause })
  }
}

function toFault(error: unknown): TransportFault['fault'] {
  if (error instanceof EgressError) return 'egress_refused'
  return error instanceof MessageTooLargeError ? 'too_large' : 'not_sent'
}

const abortedBeforeSending: TransportResult = {
  fault: 'not_sent',
  cause: 'the request was aborted before it was sent',
}

function toResult({ data, headers }: Msg): TransportResult {
  // Status 503 without data: the server found no subscriber, so no agent can have read it.
  if (data.length === 0 && headers?.code === 503)
    return { fault: 'not_sent', cause: 'no responders' }
  if (data.length > maxAnswerBytes)
    return { fault: 'reply_too_large', cause: `more than ${maxAnswerBytes} bytes` }
  return { body: Buffer.from(data).toString() }
}
