import type { AuditEntry, Clock } from '../../governance/ledger.ts'

/** The oldest pending entries are dropped beyond this number. */
const maxPendingEntries = 100_000

/** Audit entries that wait for the next commit, in call order. */
export class PendingEntries {
  readonly #toCalendar: Clock['toCalendar']
  /** Entries of this turn of the event loop, not serialized yet. */
  #factories: (() => AuditEntry | string)[] = []
  /** Serialized at the end of the turn: strings are cheap for the garbage collector. */
  #texts: string[] = []
  #droppedCount = 0

  constructor(toCalendar: Clock['toCalendar']) {
    this.#toCalendar = toCalendar
  }

  /** Built later, at the end of this turn. */
  addLater(make: () => AuditEntry | string): void {
    if (this.#factories.push(make) === 1) setImmediate(() => this.serialize())
  }

  /** A text is an entry as JSON already. */
  add(entry: AuditEntry | string): void {
    this.#texts.push(typeof entry === 'string' ? entry : this.#serialize(entry))
  }

  /** Number of serialized entries. */
  get count(): number {
    return this.#texts.length
  }

  /** Number of entries that were never written, also of those that were dropped. */
  get unwrittenCount(): number {
    return this.#texts.length + this.#droppedCount
  }

  serialize(): void {
    const factories = this.#factories
    this.#factories = []
    for (const make of factories)
      try {
        this.add(make())
      } catch {
        // It contains what JSON does not have. The others must not be lost with it.
        this.#droppedCount++
      }
    const excess = this.#texts.length - maxPendingEntries
    if (excess <= 0) return
    this.#texts.splice(0, excess)
    this.#droppedCount += excess
  }

  /** The serialized entries; one that counts those that were dropped stands first. */
  toLines(now: number): readonly string[] {
    if (this.#droppedCount === 0) return this.#texts
    const gap: AuditEntry = { event: 'lost', at: now, count: this.#droppedCount }
    return [this.#serialize(gap), ...this.#texts]
  }

  /** Drops the entries that a transaction has added before it was rolled back. */
  truncate(count: number): void {
    this.#texts.length = Math.min(count, this.#texts.length)
  }

  /** They were committed. */
  clear(): void {
    this.#texts = []
    this.#droppedCount = 0
  }

  /** Entries carry dates, not ledger time. */
  #serialize(entry: AuditEntry): string {
    const at = this.#toCalendar(entry.at)
    return JSON.stringify(at === entry.at ? entry : { ...entry, at })
  }
}
