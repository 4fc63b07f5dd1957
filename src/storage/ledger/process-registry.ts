import type { Sqlite } from '../sqlite/sqlite.ts'
import { toText } from './sealed-table.ts'

/** This process, and a test whether another one is alive. */
export interface ServerProcess {
  readonly processId: string
  readonly pid: number
  readonly isAlive: (pid: number) => boolean
}

/** The processes that share a file, each with an id of its own besides its PID. */
export class ProcessRegistry {
  readonly #database: Sqlite
  readonly #options: ServerProcess

  constructor(database: Sqlite, options: ServerProcess) {
    this.#database = database
    this.#options = options
  }

  get ownId(): string {
    return this.#options.processId
  }

  register(): void {
    const { processId, pid, isAlive } = this.#options
    // Rows of dead processes can go: a run whose process has no row counts as orphaned, too.
    for (const row of this.#database
      .prepare<{ id: Uint8Array; pid: number }>(
        'select cast(id as blob) as id, cast(pid as integer) as pid from boots',
      )
      .all())
      if (row.pid !== pid && !isAlive(row.pid))
        this.#database.prepare('delete from boots where id = ?').run(toText(row.id))
    this.#database.prepare('insert into boots (id, pid) values (?, ?)').run(processId, pid)
  }

  /** True when the process is dead, so that its runs will never end. */
  isOrphan(processId: string): boolean {
    const { processId: ownId, pid, isAlive } = this.#options
    if (processId === ownId) return false
    const row = this.#database
      .prepare<{ pid: number }>('select cast(pid as integer) as pid from boots where id = ?')
      .get(processId)
    // PID reuse: in a container we are always PID 1, so a row with our own PID belongs to a dead process.
    return !row || row.pid === pid || !isAlive(row.pid)
  }
}
