import type { Sqlite } from '../sqlite/sqlite.ts'

/** This process, and how to tell whether another one still lives. */
export interface ServerProcess {
  readonly boot: string
  readonly pid: number
  readonly isAlive: (pid: number) => boolean
}

/** The processes that share a file, each under a name of its own. */
export class ProcessRegistry {
  readonly #database: Sqlite
  readonly #options: ServerProcess

  constructor(database: Sqlite, options: ServerProcess) {
    this.#database = database
    this.#options = options
  }

  get own(): string {
    return this.#options.boot
  }

  register(): void {
    const { boot, pid, isAlive } = this.#options
    // Whoever is gone is not missed: a run without its boot is an orphan just the same.
    for (const former of this.#database
      .prepare<{ id: string; pid: number }>('select * from boots')
      .all())
      if (former.pid !== pid && !isAlive(former.pid))
        this.#database.prepare('delete from boots where id = ?').run(former.id)
    this.#database.prepare('insert into boots (id, pid) values (?, ?)').run(boot, pid)
  }

  /** Whoever began it is gone: nobody will ever say how it ended. */
  isOrphan(boot: string): boolean {
    const { boot: ours, pid, isAlive } = this.#options
    if (boot === ours) return false
    const row = this.#database
      .prepare<{ pid: number }>('select pid from boots where id = ?')
      .get(boot)
    // Its number is ours now, as it always is in a container: then it cannot be its own any more.
    return !row || row.pid === pid || !isAlive(row.pid)
  }
}
