import { isFault } from '../../../../capability/fault.ts'
import { parseJson } from '../../../../json/parse-json.ts'
import type { ReplayCache } from '../../crypto/replay-cache.ts'
import { openMessage, type SealOptions, sealMessage } from '../../crypto/seal.ts'
import type { NatsConnection } from './nats-connection.ts'

export interface BroadcastOptions {
  readonly connection: NatsConnection
  readonly subject: string
  /** Sender of sealed messages. */
  readonly node: string
  readonly instance: string
  /** Seals outgoing messages; unsealed incoming ones are then rejected. */
  readonly key: string | undefined
  readonly sealing: SealOptions
  readonly replays: ReplayCache
  readonly onOperationalError: (error: unknown) => void
}

const maxMessageBytes = 512 * 1024

/** Publish and subscribe on one subject, without replies. */
export class Broadcasts {
  readonly #options: BroadcastOptions

  constructor(options: BroadcastOptions) {
    this.#options = options
  }

  /** Best effort: not delivered to subscribers that are disconnected now. */
  publish(message: object): void {
    const { connection, subject, node, instance, key, sealing, onOperationalError } = this.#options
    const label = { ...broadcastLabel, intent: subject, sender: node, requestId: instance }
    try {
      const body = JSON.stringify(
        key === undefined ? message : sealMessage(sealing, key, label, message),
      )
      if (body.length > maxMessageBytes)
        throw new Error(
          `A broadcast of ${body.length} bytes exceeds the limit of ${maxMessageBytes}.`,
        )
      connection.send({ subject, body })
    } catch (error) {
      onOperationalError(error)
    }
  }

  subscribe(onMessage: (message: unknown) => void): () => void {
    const { connection, subject } = this.#options
    return connection.subscribe({
      subject,
      onMessage: ({ data }) => {
        if (data.length > maxMessageBytes) return
        const message = this.#open(parseJson(Buffer.from(data).toString()))
        if (message !== undefined) onMessage(message)
      },
    })
  }

  #open(value: unknown): unknown {
    const { subject, key, sealing, replays, onOperationalError } = this.#options
    if (key === undefined) return value
    const { direction, recipient } = broadcastLabel
    const message = openMessage(sealing, value, { direction, recipient, intent: subject, replays })
    if (!isFault(message)) return message.plain
    onOperationalError(new Error(`A broadcast on ${subject} was rejected: ${message.fault}`))
    return undefined
  }
}

const broadcastLabel = { recipient: '*', direction: 'notice' as const, identityChain: [] }
