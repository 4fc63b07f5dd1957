import type { ReplayCache } from '../../crypto/replay-cache.ts'
import { open, type SealOptions, seal } from '../../crypto/seal.ts'
import type { NatsConnection } from './nats-connection.ts'

export interface BroadcastOptions {
  readonly line: NatsConnection
  readonly subject: string
  /** Who speaks. */
  readonly node: string
  readonly instance: string
  /** Where there is a key, only those who have it are heard. */
  readonly key: string | undefined
  readonly sealing: SealOptions
  readonly replays: ReplayCache
  readonly onTrouble: (error: unknown) => void
}

/** So much may one say at once. */
const largest = 512 * 1024

/** What everybody on a subject tells everybody else; nobody answers. */
export class Broadcasts {
  readonly #options: BroadcastOptions

  constructor(options: BroadcastOptions) {
    this.#options = options
  }

  /** Best effort: who is not connected now is not heard now. */
  tell(notice: object): void {
    const { line, subject, node, instance, key, sealing, onTrouble } = this.#options
    const label = { ...everybody, intent: subject, sender: node, requestId: instance }
    try {
      const body = JSON.stringify(key === undefined ? notice : seal(sealing, key, label, notice))
      if (body.length > largest) throw new Error(`${body.length} bytes are too much to be told`)
      line.send({ subject, body })
    } catch (error) {
      onTrouble(error)
    }
  }

  subscribe(hear: (notice: unknown) => void): () => void {
    const { line, subject } = this.#options
    return line.subscribe({
      subject,
      hear: ({ data }) => {
        if (data.length > largest) return
        const notice = this.#open(parse(Buffer.from(data).toString()))
        if (notice !== undefined) hear(notice)
      },
    })
  }

  #open(value: unknown): unknown {
    const { subject, key, sealing, replays, onTrouble } = this.#options
    if (key === undefined) return value
    const { direction, recipient } = everybody
    const opened = open(sealing, value, { direction, recipient, intent: subject, replays })
    if (!('fault' in opened)) return opened.plain
    onTrouble(new Error(`A notice on ${subject} was not believed: ${opened.fault}`))
    return undefined
  }
}

const everybody = { recipient: '*', direction: 'notice' as const, identityChain: [] }

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
