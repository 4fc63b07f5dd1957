import type { Sqlite } from '../sqlite/sqlite.ts'
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
    return this.#database.prepare<ClockRow>('select * from clock').get()
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
