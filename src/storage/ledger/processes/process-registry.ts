import { toText } from '../../sqlite/bytes.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import {
  holdsLock,
  lockProcess,
  type ProcessLock,
  removeLock,
  removeStaleLocks,
} from './process-lock.ts'

/** This process, and what the operating system says about others. */
export interface ServerProcess {
  /** Random: identifies this process among all that ever share the file. */
  readonly processId: string
  /** Means nothing in another PID namespace, on another machine, or after a restart of the machine. */
  readonly pid: number
  /** The PID namespace, such as `pid:[4026531836]`; `undefined` where there are none. */
  readonly namespace?: string | undefined
  /** Identifies the machine across its restarts. */
  readonly machine?: string | undefined
  readonly isAlive: (pid: number) => boolean
  /** When a process of this namespace started, in any unit; `undefined` if unknown. Detects PID reuse. */
  readonly startOf: (pid: number) => string | undefined
}

interface ProcessRow {
  readonly id: string
  readonly pid: number
  readonly boot: string | null
  readonly machine: string | null
  readonly namespace: string | null
  readonly start: string | null
}

type RawRow = { readonly [Name in Exclude<keyof ProcessRow, 'id' | 'pid'>]: Uint8Array | null } & {
  readonly id: Uint8Array
  readonly pid: number
}

/** `unseen`: in another container or on another machine, and nothing tells whether it lives. */
export type ProcessState = 'alive' | 'dead' | 'unseen'

export interface RegistryOptions {
  /** The file of the store. */
  readonly file: string
  readonly process: ServerProcess
  readonly bootId: string | undefined
}

/** The processes that share a file, each with an id of its own besides its PID. */
export class ProcessRegistry {
  readonly #database: Sqlite
  readonly #options: RegistryOptions
  #lock: ProcessLock | undefined

  constructor(database: Sqlite, options: RegistryOptions) {
    this.#database = database
    this.#options = options
  }

  get ownId(): string {
    return this.#options.process.processId
  }

  /** Runs inside a transaction: no other process registers meanwhile. */
  register(): void {
    const { file, bootId, process } = this.#options
    if (file !== ':memory:' && process.namespace !== undefined)
      this.#lock ??= lockProcess(file, process.processId)
    this.#removeDead()
    this.#database
      .prepare(
        'insert into processes (id, pid, boot, machine, namespace, start) values (?, ?, ?, ?, ?, ?)',
      )
      .run(
        process.processId,
        process.pid,
        bootId ?? null,
        process.machine ?? null,
        process.namespace ?? null,
        process.startOf(process.pid) ?? null,
      )
  }

  /** Rows of dead processes can go: a run whose process has no row counts as orphaned, too. */
  #removeDead(): void {
    const { file, process } = this.#options
    const rows = this.#rows()
    for (const row of rows)
      if (this.#judge(row) === 'dead' && (row.pid !== process.pid || row.start !== null)) {
        this.#database.prepare('delete from processes where id = ?').run(row.id)
        removeLock(file, row.id)
      }
    const known = new Set([this.ownId, ...rows.map(({ id }) => id)])
    if (file !== ':memory:') removeStaleLocks(file, (id) => known.has(id))
  }

  /** Runs in a transaction when the ledger closes: what still runs here will not be recorded any more. */
  unregister(): void {
    this.#database.prepare('delete from processes where id = ?').run(this.ownId)
  }

  releaseLock(): void {
    this.#lock?.release()
  }

  /** True when the process is dead, so that its runs will never end. */
  isOrphan(processId: string): boolean {
    return this.stateOf(processId) === 'dead'
  }

  stateOf(processId: string): ProcessState {
    if (processId === this.ownId) return 'alive'
    const [row] = this.#rows('where id = ?', processId)
    return row ? this.#judge(row) : 'dead'
  }

  /** Text is read as bytes: one of the drivers aborts the process on invalid UTF-8. */
  #rows(condition = '', ...values: string[]): ProcessRow[] {
    return this.#database
      .prepare<RawRow>(
        `select cast(id as blob) as id, cast(pid as integer) as pid, cast(boot as blob) as boot,
           cast(machine as blob) as machine, cast(namespace as blob) as namespace,
           cast(start as blob) as start from processes ${condition}`,
      )
      .all(...values)
      .map(({ id, pid, boot, machine, namespace, start }) => ({
        id: toText(id),
        pid,
        boot: boot && toText(boot),
        machine: machine && toText(machine),
        namespace: namespace && toText(namespace),
        start: start && toText(start),
      }))
  }

  #judge(row: ProcessRow): ProcessState {
    const { file, bootId, process } = this.#options
    if (row.boot !== null && bootId !== undefined) {
      if (row.boot !== bootId)
        return row.machine !== null && row.machine === process.machine ? 'dead' : 'unseen'
      if (row.namespace !== (process.namespace ?? null)) return toState(holdsLock(file, row.id))
    }
    if (!process.isAlive(row.pid)) return 'dead'
    const start = process.startOf(row.pid)
    if (row.start !== null && start !== undefined) return row.start === start ? 'alive' : 'dead'
    // PID reuse: without start times, a row with our own PID belongs to a dead process.
    return row.pid === process.pid ? 'dead' : 'alive'
  }
}

const toState = (holdsItsLock: boolean | undefined): ProcessState =>
  holdsItsLock === undefined ? 'unseen' : holdsItsLock ? 'alive' : 'dead'
