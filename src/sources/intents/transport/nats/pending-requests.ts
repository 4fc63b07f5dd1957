import type { Msg } from '@nats-io/transport-node'
import { maxAnswerBytes, type TransportResult } from '../transport.ts'
import { type NatsConnection, TooLarge } from './nats-connection.ts'

export interface PendingRequest {
  readonly subject: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly delicate: boolean
  readonly signal: AbortSignal
  /** Told when nobody waits any more for what was sent. */
  readonly onLeave: (reply: string) => void
}

interface Pending extends Pick<PendingRequest, 'subject' | 'delicate'> {
  readonly end: (carried: TransportResult) => void
}

/** Questions over a line, and the answers to them: one address of our own for all of them. */
export class PendingRequests {
  readonly #line: NatsConnection
  readonly #newId: () => string
  readonly #inbox: string
  readonly #pending = new Map<string, Pending>()
  #subscribed = false

  constructor(line: NatsConnection, newId: () => string) {
    this.#line = line
    this.#newId = newId
    this.#inbox = `_INBOX.${newId()}`
    line.watch({ down: () => this.#break(), forbidden: (subject) => this.#forbid(subject) })
  }

  async ask(inquiry: PendingRequest): Promise<TransportResult> {
    this.#subscribeOnce()
    const { signal, subject, body, headers } = inquiry
    const reply = `${this.#inbox}.${this.#newId()}`
    const left = new Promise<'left'>((resolve) => {
      if (signal.aborted) resolve('left')
      else signal.addEventListener('abort', () => resolve('left'), { once: true })
    })
    try {
      if ((await Promise.race([this.#line.reach(), left])) === 'left') return stopped
      const answer = this.#expect(reply, inquiry)
      this.#line.send({ subject, body, reply, headers })
      const carried = await Promise.race([answer, left])
      if (carried !== 'left') return carried
      inquiry.onLeave(reply)
      return { failed: 'sent', cause: 'nobody waits for it any more' }
    } catch (error) {
      const failed = error instanceof TooLarge ? 'too_large' : 'not_sent'
      return { failed, cause: String(error) }
    } finally {
      this.#pending.delete(reply)
    }
  }

  #expect(reply: string, { subject, delicate }: PendingRequest): Promise<TransportResult> {
    return new Promise((end) => this.#pending.set(reply, { subject, delicate, end }))
  }

  #subscribeOnce(): void {
    if (this.#subscribed) return
    this.#subscribed = true
    this.#line.subscribe({ subject: `${this.#inbox}.*`, hear: (message) => this.#hear(message) })
  }

  #hear(message: Msg): void {
    this.#pending.get(message.subject)?.end(toCarried(message))
  }

  /** What was only asked may be asked elsewhere; of the rest, the answer may still find its way. */
  #break(): void {
    for (const { delicate, end } of this.#pending.values())
      if (!delicate) end({ failed: 'sent', cause: 'the connection broke' })
  }

  #forbid(subject: string): void {
    for (const pending of this.#pending.values())
      if (pending.subject === subject)
        pending.end({ failed: 'forbidden', cause: `the server lets nobody publish ${subject}` })
  }
}

const stopped: TransportResult = { failed: 'not_sent', cause: 'it was stopped before it was sent' }

function toCarried({ data, headers }: Msg): TransportResult {
  // The server's own word: there is nobody at that address, so nobody can have read it.
  if (data.length === 0 && headers?.code === 503)
    return { failed: 'not_sent', cause: 'no responders' }
  if (data.length > maxAnswerBytes)
    return { failed: 'endless', cause: `more than ${maxAnswerBytes} bytes` }
  return { body: Buffer.from(data).toString() }
}
