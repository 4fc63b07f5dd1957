import { toText } from '../../sqlite/bytes.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { ClockMark } from './judge-time.ts'

/** The one row of the table `clock`. */
export interface ClockRow extends ClockMark {
  /** The drift that the audit last reported. */
  readonly reported: number
  /** Number of confirmations by operators: other processes adopt a new `skew`. */
  readonly confirmations: number
}

export class ClockTable {
  readonly #database: Sqlite

  constructor(database: Sqlite) {
    this.#database = database
  }

  read(): ClockRow | undefined {
    const row = this.#database
      .prepare<Omit<ClockRow, 'boot'> & { readonly boot: Uint8Array | null }>(
        // Text is read as bytes: one of the drivers aborts the process on invalid UTF-8.
        `select mark, uptime, cast(boot as blob) as boot, skew, drift, reported, confirmations
         from clock`,
      )
      .get()
    return row && { ...row, boot: row.boot && toText(row.boot) }
  }

  write({ mark, uptime, boot, skew, drift, reported, confirmations }: ClockRow): void {
    this.#database
      .prepare(
        `insert or replace into clock
           (id, mark, uptime, boot, skew, drift, reported, confirmations)
         values (1, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(mark, uptime, boot, skew, drift, reported, confirmations)
  }

  /** The time of the last audit entry, for stores that were written before this table existed. */
  lastAuditTime(): number | undefined {
    return this.#database
      .prepare<{ at: number }>('select at from audit order by first desc limit 1')
      .get()?.at
  }
}
