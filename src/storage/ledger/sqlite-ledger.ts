import {
  type Ledger,
  LedgerError,
  type LedgerReader,
  type LedgerWriter,
} from '../../governance/ledger.ts'
import type { AuditEntry } from '../../governance/steps/record-audit.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { ChainTable } from './chain-table.ts'
import { ExecutionTable } from './execution-table.ts'
import { prepareLedger, unusable } from './ledger-schema.ts'
import { LedgerTables } from './ledger-tables.ts'
import { ProcessRegistry } from './process-registry.ts'

export interface LedgerOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  /** Names this process among those that share the file. */
  readonly boot: string
  readonly pid: number
  /** How long ended runs are kept, in milliseconds. */
  readonly keep: number
  /** How long executions are kept, in milliseconds; for ever where absent. */
  readonly keepExecutions?: number
  readonly now: () => number
  readonly isAlive: (pid: number) => boolean
  readonly onError: (error: unknown) => void
}

/** How long an audit entry that nobody waits for may be on its way. */
const lingering = 50
const mostLingering = 100_000
/** How many events the table of executions may be behind the chain. */
const mostBehind = 256
const purgeEvery = 60_000
const mostPurged = 1000

interface Job {
  /** Whether it is a single statement, which needs no transaction around it. */
  readonly single: boolean
  /** Whether it must survive the end of the machine, not only of this process. */
  readonly durable: boolean
  readonly work: (writer: LedgerWriter) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The ledger in one SQLite file that several processes may share. */
export class SqliteLedger implements Ledger {
  readonly read: LedgerReader
  readonly #database: Sqlite
  readonly audit: ChainTable<AuditEntry>
  readonly executions: ExecutionTable
  readonly #writer: LedgerWriter
  readonly #options: LedgerOptions
  #jobs: Job[] = []
  /** Of this turn, not yet in words. */
  #fresh: (() => AuditEntry)[] = []
  /** In words: what lives for long is cheap when it is one string. */
  #entries: string[] = []
  #lost = 0
  #scheduled = false
  /** What the database was last told; at first nothing. */
  #durable: boolean | undefined
  #timer: NodeJS.Timeout | undefined
  #purged = 0
  #closed = false

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#database = openSqlite(options.file)
    try {
      prepareLedger(this.#database, options.file)
    } catch (error) {
      this.#database.close()
      throw error
    }
    const boots = new ProcessRegistry(this.#database, options)
    this.audit = new ChainTable(this.#database, 'audit')
    this.executions = new ExecutionTable(this.#database, boots)
    const tables = new LedgerTables(this.#database, boots, (entry) =>
      this.#entries.push(JSON.stringify(entry)),
    )
    this.read = tables
    this.#writer = tables
    try {
      this.#commit(() => boots.register(), true)
    } catch (error) {
      this.#database.close()
      throw unusable(options.file, error)
    }
  }

  write<T>(work: (writer: LedgerWriter) => T): Promise<T> {
    return this.#schedule(work, { durable: true, single: false })
  }

  /** The same for work that is a single statement. */
  append(work: () => void, durable: boolean): Promise<void> {
    this.#timer ??= setTimeout(() => this.#writeEntries(), lingering).unref()
    return this.#schedule(work, { durable, single: true })
  }

  #schedule<T>(
    work: (writer: LedgerWriter) => T,
    how: Pick<Job, 'durable' | 'single'>,
  ): Promise<T> {
    if (this.#closed) return Promise.reject(new LedgerError('The ledger is closed'))
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ work, ...how, resolve: resolve as (value: unknown) => void, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      // After everything that arrived with this: the more come together, the fewer flushes.
      setImmediate(() => this.#runJobs())
    })
  }

  record(make: () => AuditEntry): void {
    if (this.#fresh.push(make) === 1) setImmediate(() => this.#word())
    this.#timer ??= setTimeout(() => this.#writeEntries(), lingering).unref()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#runJobs()
    this.#writeEntries()
    this.#closed = true
    clearTimeout(this.#timer)
    try {
      // One of the drivers leaves the rest of it in files beside.
      this.#database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // Another process writes: it will do so when it closes.
    }
    this.#database.close()
  }

  #runJobs(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    if (jobs.length === 0) return
    this.#jobs = []
    const [first] = jobs
    if (first?.single && jobs.length === 1 && !this.#isPurgeDue) return this.#runAlone(first)
    const settle: (() => void)[] = []
    const durable = jobs.some((job) => job.durable)
    try {
      this.#commit(() => {
        for (const job of jobs) settle.push(this.#try(job))
        this.#purge()
      }, durable)
    } catch (error) {
      const reason = new LedgerError('The ledger cannot be written', { cause: error })
      for (const job of jobs) job.reject(reason)
      return
    }
    for (const one of settle) one()
  }

  #runAlone({ work, durable, resolve, reject }: Job): void {
    try {
      this.#prepareFlush(durable)
      resolve(work(this.#writer))
      // Some at a time: nobody should wait for very many.
      if (this.executions.behind >= mostBehind) setImmediate(() => this.#writeEntries())
    } catch (error) {
      this.#forget()
      reject(new LedgerError('The ledger cannot be written', { cause: error }))
    }
  }

  /** Undoes the work of one job alone when it throws. */
  #try({ work, resolve, reject }: Job): () => void {
    const entries = this.#entries.length
    this.#database.exec('savepoint job')
    try {
      const value = work(this.#writer)
      this.#database.exec('release job')
      return () => resolve(value)
    } catch (error) {
      this.#database.exec('rollback to job')
      this.#database.exec('release job')
      this.#entries.length = entries
      this.#forget()
      return () => reject(error)
    }
  }

  /** What was believed to be written is not. */
  #forget(): void {
    this.audit.forget()
    this.executions.forget()
  }

  #word(): void {
    const fresh = this.#fresh
    this.#fresh = []
    for (const make of fresh) this.#entries.push(JSON.stringify(make()))
    const tooMany = this.#entries.length - mostLingering
    if (tooMany <= 0) return
    this.#entries.splice(0, tooMany)
    this.#lost += tooMany
  }

  /** Writes what lingers, now. */
  flush(): void {
    this.#writeEntries()
  }

  #writeEntries(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#word()
    if (this.#closed) return
    try {
      if (this.#entries.length > 0) this.#commit(() => {}, false)
      if (this.executions.behind > 0) this.#commit(() => this.executions.catchUp(), false)
    } catch (error) {
      // Kept for the next time; what side effects need is refused until then.
      this.#options.onError(error)
      this.#timer = setTimeout(() => this.#writeEntries(), 1000).unref()
    }
  }

  /** One transaction with everything that is due, and one flush if somebody waits for it. */
  #commit(work: () => void, durable: boolean): void {
    this.#word()
    const waiting = this.#entries.length
    this.#prepareFlush(durable)
    this.#database.exec('begin immediate')
    try {
      work()
      this.#appendEntries()
      this.#database.exec('commit')
    } catch (error) {
      this.#entries.length = Math.min(waiting, this.#entries.length)
      this.#forget()
      try {
        this.#database.exec('rollback')
      } catch {
        // SQLite has undone it already.
      }
      throw error
    }
    this.#entries = []
    this.#lost = 0
  }

  #prepareFlush(durable: boolean): void {
    if (durable === this.#durable) return
    this.#database.exec(`pragma synchronous = ${durable ? 'full' : 'normal'}`)
    this.#durable = durable
  }

  #appendEntries(): void {
    if (this.#entries.length === 0) return
    const at = this.#options.now()
    const gap = { event: 'lost', at, count: this.#lost } satisfies AuditEntry
    const lost = this.#lost > 0 ? [JSON.stringify(gap)] : []
    this.audit.append([...lost, ...this.#entries], at)
  }

  get #isPurgeDue(): boolean {
    return this.#options.now() - this.#purged >= purgeEvery
  }

  #purge(): void {
    if (!this.#isPurgeDue) return
    const now = this.#options.now()
    const { keepExecutions } = this.#options
    const more = keepExecutions !== undefined && this.executions.purge(now - keepExecutions)
    const { changes } = this.#database
      .prepare(
        `delete from runs where id in (
           select id from runs where started < ? and state in ('done', 'failed') limit ?)`,
      )
      .run(now - this.#options.keep, mostPurged)
    const answered = this.#purgeApprovals(now - this.#options.keep)
    // There may be more: they go with the next ones, so that no writer waits for all of them.
    if (changes < mostPurged && answered < mostPurged && !more) this.#purged = now
  }

  #purgeApprovals(before: number): number {
    let most = 0
    for (const state of ['pending', 'approved', 'denied', 'used']) {
      const { changes } = this.#database
        .prepare(
          `delete from approvals where id in (
             select id from approvals where state = ? and created < ? and expires < ? limit ?)`,
        )
        .run(state, before, before, mostPurged)
      most = Math.max(most, changes)
    }
    return most
  }
}
