import type {
  BegunEvent,
  Durability,
  ExecutionEvent,
  ExecutionLog,
  ExecutionReader,
} from '../../sources/intents/log/execution-log.ts'
import type { SerializedEvent } from './execution-table.ts'
import type { SqliteLedger } from './sqlite-ledger.ts'

/** The execution log, in the file of the ledger: both share transactions and fsyncs. */
export class SqliteExecutionLog implements ExecutionLog {
  readonly read: ExecutionReader
  readonly #ledger: SqliteLedger
  readonly #decisionTexts = new WeakMap<object, string>()
  #pending: SerializedEvent[] = []
  #batch: Promise<void> | undefined
  #isSynced = false

  constructor(ledger: SqliteLedger) {
    this.#ledger = ledger
    this.read = ledger.executions
  }

  append(events: readonly ExecutionEvent[], durability: Durability): Promise<void> {
    for (const event of events) this.#pending.push(this.#serialize(event))
    const isSynced = durability === 'synced'
    if (!this.#batch || (isSynced && !this.#isSynced)) {
      // The first batch to run writes all pending events; a later one finds none.
      this.#isSynced ||= isSynced
      const batch = this.#ledger.append(() => this.#flush(), isSynced)
      this.#batch = batch
      batch.catch(() => this.#discard(batch))
    }
    return this.#batch
  }

  /** Drops the events of a failed batch: their callers were told that nothing was written. */
  #discard(batch: Promise<void>): void {
    if (this.#batch !== batch) return
    this.#pending = []
    this.#batch = undefined
    this.#isSynced = false
  }

  claim(id: string): Promise<boolean> {
    return this.#ledger.write(() => this.#ledger.executions.claim(id))
  }

  /** Adds the id of this process to `begun`: readers tell from it whether the execution was interrupted. */
  #serialize(event: ExecutionEvent): SerializedEvent {
    if (event.event !== 'begun') return { event, text: JSON.stringify(event) }
    const { processId } = this.#ledger.executions
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
      boot: processId,
    }
    const decisionText = this.#serializeDecision(decision)
    const text = `${JSON.stringify(rest).slice(0, -1)},"decision":${decisionText}}`
    return { event, text }
  }

  /** Cached by identity: the router returns the same object for most calls. */
  #serializeDecision(decision: object): string {
    let text = this.#decisionTexts.get(decision)
    if (text === undefined) {
      text = JSON.stringify(decision)
      this.#decisionTexts.set(decision, text)
    }
    return text
  }

  #flush(): void {
    const events = this.#pending
    this.#pending = []
    this.#batch = undefined
    this.#isSynced = false
    if (events.length > 0) this.#ledger.executions.append(events, this.#ledger.clock.now())
  }
}
