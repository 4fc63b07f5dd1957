import type { Broadcasts } from './broadcasts.ts'
import type { NatsConnection } from './nats-connection.ts'

export interface AnnouncerOptions {
  readonly connection: NatsConnection
  readonly broadcasts: Broadcasts
  /** Subject on which routers ask for announcements. */
  readonly discoverySubject: string
  /** The announcement of this replica: its identity and current capabilities. */
  readonly describe: () => object
  readonly heartbeatMs: number
}

/** Announces what this node serves: on connect, on request, at every heartbeat, and on leaving. */
export class Announcer {
  readonly #options: AnnouncerOptions
  readonly #stops: (() => void)[]
  readonly #timer: NodeJS.Timeout

  constructor(options: AnnouncerOptions) {
    this.#options = options
    const { connection, discoverySubject, heartbeatMs } = options
    const announce = () => this.announce()
    this.#stops = [
      connection.watch({ onConnect: announce }),
      connection.subscribe({ subject: discoverySubject, onMessage: announce }),
    ]
    this.#timer = setInterval(announce, heartbeatMs).unref()
    // A failed connect is retried, and `onConnect` announces then.
    connection.connect().then(announce, () => {})
  }

  announce(): void {
    this.#publish({})
  }

  leave(): void {
    clearInterval(this.#timer)
    for (const stop of this.#stops) stop()
    this.#publish({ leaving: true })
  }

  #publish(fields: object): void {
    const { broadcasts, describe, heartbeatMs, connection } = this.#options
    if (connection.connected) broadcasts.publish({ ...describe(), every: heartbeatMs, ...fields })
  }
}
