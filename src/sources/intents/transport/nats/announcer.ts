import type { Broadcasts } from './broadcasts.ts'
import type { NatsConnection } from './nats-connection.ts'

export interface AnnouncerOptions {
  readonly line: NatsConnection
  readonly notices: Broadcasts
  /** Where newcomers ask who is there. */
  readonly rollCall: string
  /** What this node offers now, and who of its replicas says so. */
  readonly describe: () => object
  /** Milliseconds between two announcements. */
  readonly every: number
}

/** Tells what this node serves: when it comes, when somebody asks, and regularly; and when it goes. */
export class Announcer {
  readonly #options: AnnouncerOptions
  readonly #stops: (() => void)[]
  readonly #timer: NodeJS.Timeout

  constructor(options: AnnouncerOptions) {
    this.#options = options
    const { line, rollCall, every } = options
    const announce = () => this.announce()
    this.#stops = [
      line.watch({ up: announce }),
      line.subscribe({ subject: rollCall, hear: announce }),
    ]
    this.#timer = setInterval(announce, every).unref()
    // When it is not connected yet, it is told then.
    line.reach().then(announce, () => {})
  }

  announce(): void {
    const { notices, describe, every, line } = this.#options
    if (line.connected) notices.tell({ ...describe(), every })
  }

  leave(): void {
    clearInterval(this.#timer)
    for (const stop of this.#stops) stop()
    const { notices, describe, every, line } = this.#options
    if (line.connected) notices.tell({ ...describe(), every, leaving: true })
  }
}
