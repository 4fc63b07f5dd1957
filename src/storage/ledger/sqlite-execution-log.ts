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
  #group: EventGroup = { events: [], isSynced: false, isWritten: false }

  constructor(ledger: SqliteLedger) {
    this.#ledger = ledger
    this.read = ledger.executions
  }

  append(events: readonly ExecutionEvent[], durability: Durability): Promise<void> {
    const group = this.#group
    for (const event of events) group.events.push(this.#serialize(event))
    const isSynced = durability === 'synced'
    if (group.batch && (group.isSynced || !isSynced)) return group.batch
    group.isSynced = isSynced
    const batch = this.#ledger.append(() => this.#write(group), isSynced)
    group.batch = batch
    batch.catch((error: unknown) => {
      group.error ??= error
      this.#leave(group)
    })
    return batch
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

  /** The first batch of a group writes its events. If that fails, so does the second: their events are not written. */
  #write(group: EventGroup): void {
    this.#leave(group)
    if (group.error !== undefined) throw group.error
    if (group.isWritten) return
    try {
      this.#ledger.executions.append(group.events, this.#ledger.clock.now())
    } catch (error) {
      group.error = error
      throw error
    }
    group.isWritten = true
  }

  /** Later events start another group. */
  #leave(group: EventGroup): void {
    if (this.#group === group) this.#group = { events: [], isSynced: false, isWritten: false }
  }
}

/** Events that are written together. It has a second batch if a flush is needed after the first was queued. */
interface EventGroup {
  readonly events: SerializedEvent[]
  batch?: Promise<void>
  isSynced: boolean
  isWritten: boolean
  error?: unknown
}
