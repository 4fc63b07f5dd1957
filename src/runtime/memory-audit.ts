import type { Audit, AuditEntry } from '../governance/record-audit.ts'

const most = 1000

/** The latest calls, in memory. Failures that only an operator can fix are passed on as well. */
export class MemoryAudit implements Audit {
  readonly #entries: AuditEntry[] = []
  readonly #onFault: (entry: AuditEntry) => void
  #next = 0

  constructor(onFault: (entry: AuditEntry) => void) {
    this.#onFault = onFault
  }

  /** Oldest first. */
  get entries(): readonly AuditEntry[] {
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)]
  }

  record(entry: AuditEntry): void {
    this.#entries[this.#next] = entry
    this.#next = (this.#next + 1) % most
    if (entry.failure?.fixedBy === 'operator') this.#onFault(entry)
  }
}
