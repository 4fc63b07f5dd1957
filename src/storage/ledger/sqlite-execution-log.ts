import type {
  BegunEvent,
  Durability,
  ExecutionEvent,
  ExecutionLog,
  ExecutionReader,
} from '../../sources/intents/log/execution-log.ts'
import type { WrittenEvent } from './execution-table.ts'
import type { SqliteLedger } from './sqlite-ledger.ts'

/** The log of executions, in the file of the ledger: they share transactions and flushes. */
export class SqliteExecutionLog implements ExecutionLog {
  readonly read: ExecutionReader
  readonly #ledger: SqliteLedger
  readonly #now: () => number
  readonly #texts = new WeakMap<object, string>()
  #waiting: WrittenEvent[] = []
  #batch: Promise<void> | undefined
  #synced = false

  constructor(ledger: SqliteLedger, now: () => number) {
    this.#ledger = ledger
    this.#now = now
    this.read = ledger.executions
  }

  append(events: readonly ExecutionEvent[], how: Durability): Promise<void> {
    for (const event of events) this.#waiting.push(this.#toWritten(event))
    const synced = how === 'synced'
    if (!this.#batch || (synced && !this.#synced)) {
      // Everything that waits goes with the first of the batches; the others find nothing.
      this.#synced ||= synced
      const batch = this.#ledger.append(() => this.#flush(), synced)
      this.#batch = batch
      batch.catch(() => this.#giveUp(batch))
    }
    return this.#batch
  }

  /** Whoever waited was told that it is not written: it must not be written after all. */
  #giveUp(batch: Promise<void>): void {
    if (this.#batch !== batch) return
    this.#waiting = []
    this.#batch = undefined
    this.#synced = false
  }

  claim(id: string): Promise<boolean> {
    return this.#ledger.write(() => this.#ledger.executions.claim(id))
  }

  /** The beginning says who began it, so that it can be told when they are gone. */
  #toWritten(event: ExecutionEvent): WrittenEvent {
    if (event.event !== 'begun') return { event, text: JSON.stringify(event) }
    const { boot } = this.#ledger.executions
    const { id, at, source, address, caller, effects, envelope, decision } = event
    const rest: Omit<BegunEvent, 'decision'> = {
      event: 'begun',
      id,
      at,
      source,
      address,
      caller,
      effects,
      envelope,
      boot,
    }
    const text = `${JSON.stringify(rest).slice(0, -1)},"decision":${this.#toText(decision)}}`
    return { event, text }
  }

  /** Most calls are decided alike, and then it is the same object. */
  #toText(decision: object): string {
    let text = this.#texts.get(decision)
    if (text === undefined) {
      text = JSON.stringify(decision)
      this.#texts.set(decision, text)
    }
    return text
  }

  #flush(): void {
    const written = this.#waiting
    this.#waiting = []
    this.#batch = undefined
    this.#synced = false
    if (written.length > 0) this.#ledger.executions.append(written, this.#now())
  }
}
