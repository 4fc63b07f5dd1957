import { randomBytes } from 'node:crypto'
import { isFault } from '../../capability/fault.ts'
import { StorageError } from '../../capability/storage-error.ts'
import type { AuditEntry, Ledger, LedgerReader, LedgerWriter } from '../../governance/ledger.ts'
import { readOrCreateSecret, toCompanionFile } from '../companion-files.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { ChainTable } from './chain-table.ts'
import { ExecutionTable } from './execution-table.ts'
import { prepareLedger, unusable } from './ledger-schema.ts'
import { LedgerTables } from './ledger-tables.ts'
import { ProcessRegistry } from './process-registry.ts'
import { maxPurgedRows, purgeApprovals, purgeRuns } from './purge-ledger.ts'
import { toKey } from './seal.ts'

export interface LedgerOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  /** Identifies this process among those that share the file. */
  readonly processId: string
  readonly pid: number
  /** How long ended runs are kept, in milliseconds. */
  readonly keepRunsMs: number
  /** How long executions are kept, in milliseconds; for ever when absent. */
  readonly keepExecutionsMs?: number
  readonly now: () => number
  readonly isAlive: (pid: number) => boolean
  readonly onError: (error: unknown) => void
}

/** Delay before audit entries without a waiting caller are written, so that many share a commit. */
const coalesceMs = 50
const retryMs = 1000
/** The oldest pending audit entries are dropped beyond this number. */
const maxPendingEntries = 100_000
/** Events after which the table of executions is updated from the chain. */
const maxEventsBehind = 256
const purgeIntervalMs = 60_000

interface Job {
  /** True for a single statement, which needs no explicit transaction. */
  readonly single: boolean
  /** True when it must survive a power failure, not only a crash of this process. */
  readonly durable: boolean
  readonly work: (writer: LedgerWriter) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The ledger in one SQLite file that several processes may share. Group commit: jobs that arrive together
 * share one transaction and one fsync.
 */
export class SqliteLedger implements Ledger {
  readonly read: LedgerReader
  readonly #database: Sqlite
  readonly audit: ChainTable<AuditEntry>
  readonly executions: ExecutionTable
  /** The secret beside the store, from which keys are derived. */
  readonly secret: string
  readonly #writer: LedgerWriter
  readonly #options: LedgerOptions
  #jobs: Job[] = []
  /** Audit entries of this turn of the event loop, not serialized yet. */
  #entryFactories: (() => AuditEntry)[] = []
  /** Serialized at the end of the turn: strings are cheap for the garbage collector. */
  #entries: string[] = []
  #droppedCount = 0
  #isScheduled = false
  /** The present `pragma synchronous`: full when true, normal when false. */
  #isDurable: boolean | undefined
  #timer: NodeJS.Timeout | undefined
  #purgedAt = 0
  #isClosed = false

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#database = openSqlite(options.file)
    try {
      prepareLedger(this.#database, options.file)
    } catch (error) {
      this.#database.close()
      throw error
    }
    const processes = new ProcessRegistry(this.#database, options)
    this.secret = readLedgerSecret(options.file)
    const chainKey = toKey(this.secret, 'chain seals')
    this.audit = new ChainTable(this.#database, 'audit', chainKey)
    this.executions = new ExecutionTable(this.#database, processes, chainKey)
    const tables = new LedgerTables(this.#database, processes, (entry) =>
      this.#entries.push(JSON.stringify(entry)),
    )
    this.read = tables
    this.#writer = tables
    try {
      this.#commit(() => {
        processes.register()
        this.audit.startSealing()
        this.executions.events.startSealing()
      }, true)
    } catch (error) {
      this.#database.close()
      throw unusable(options.file, error)
    }
  }

  write<T>(work: (writer: LedgerWriter) => T): Promise<T> {
    return this.#schedule(work, { durable: true, single: false })
  }

  /** Like `write`, for a single statement. */
  append(work: () => void, durable: boolean): Promise<void> {
    this.#timer ??= setTimeout(() => this.#writeEntries(), coalesceMs).unref()
    return this.#schedule(work, { durable, single: true })
  }

  #schedule<T>(
    work: (writer: LedgerWriter) => T,
    options: Pick<Job, 'durable' | 'single'>,
  ): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StorageError('The ledger is closed'))
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ work, ...options, resolve: resolve as (value: unknown) => void, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      // Group commit: run after all jobs of this turn of the event loop have arrived.
      setImmediate(() => this.#runJobs())
    })
  }

  record(make: () => AuditEntry): void {
    if (this.#entryFactories.push(make) === 1) setImmediate(() => this.#serializeEntries())
    this.#timer ??= setTimeout(() => this.#writeEntries(), coalesceMs).unref()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#runJobs()
    this.#writeEntries()
    this.#isClosed = true
    clearTimeout(this.#timer)
    try {
      // One of the drivers does not checkpoint the write-ahead log when it closes.
      this.#database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // Another process holds the lock; the last one to close checkpoints.
    }
    this.#database.close()
  }

  #runJobs(): void {
    this.#isScheduled = false
    const jobs = this.#jobs
    if (jobs.length === 0) return
    this.#jobs = []
    const [first] = jobs
    if (first?.single && jobs.length === 1 && !this.#isPurgeDue) return this.#runAlone(first)
    const settlements: (() => void)[] = []
    const durable = jobs.some((job) => job.durable)
    try {
      this.#commit(() => {
        for (const job of jobs) settlements.push(this.#runInSavepoint(job))
        this.#purge()
      }, durable)
    } catch (error) {
      const reason = new StorageError('The ledger cannot be written', { cause: error })
      for (const job of jobs) job.reject(reason)
      return
    }
    for (const settle of settlements) settle()
  }

  #runAlone({ work, durable, resolve, reject }: Job): void {
    try {
      this.#setDurability(durable)
      resolve(work(this.#writer))
      // Catch up in small steps, so that no call waits for many events at once.
      if (this.executions.pendingCount >= maxEventsBehind) setImmediate(() => this.#writeEntries())
    } catch (error) {
      this.#forget()
      reject(new StorageError('The ledger cannot be written', { cause: error }))
    }
  }

  /** A job that throws is rolled back alone. */
  #runInSavepoint({ work, resolve, reject }: Job): () => void {
    const entryCount = this.#entries.length
    this.#database.exec('savepoint job')
    try {
      const value = work(this.#writer)
      this.#database.exec('release job')
      return () => resolve(value)
    } catch (error) {
      this.#database.exec('rollback to job')
      this.#database.exec('release job')
      this.#entries.length = entryCount
      this.#forget()
      return () => reject(error)
    }
  }

  /** Drops cached state after a rollback. */
  #forget(): void {
    this.audit.forget()
    this.executions.forget()
  }

  #serializeEntries(): void {
    const factories = this.#entryFactories
    this.#entryFactories = []
    for (const make of factories) this.#entries.push(JSON.stringify(make()))
    const excess = this.#entries.length - maxPendingEntries
    if (excess <= 0) return
    this.#entries.splice(0, excess)
    this.#droppedCount += excess
  }

  /** Writes pending entries now. */
  flush(): void {
    this.#writeEntries()
  }

  #writeEntries(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#serializeEntries()
    if (this.#isClosed) return
    try {
      if (this.#entries.length > 0) this.#commit(() => {}, false)
      if (this.executions.pendingCount > 0) this.#commit(() => this.executions.catchUp(), false)
    } catch (error) {
      // The entries stay pending. Calls with side effects fail meanwhile, because their writes do.
      this.#options.onError(error)
      this.#timer = setTimeout(() => this.#writeEntries(), retryMs).unref()
    }
  }

  /** One transaction with the work and all pending audit entries; one fsync if it must be durable. */
  #commit(work: () => void, durable: boolean): void {
    this.#serializeEntries()
    const pendingCount = this.#entries.length
    this.#setDurability(durable)
    this.#database.exec('begin immediate')
    try {
      work()
      this.#appendEntries()
      this.#database.exec('commit')
    } catch (error) {
      this.#entries.length = Math.min(pendingCount, this.#entries.length)
      this.#forget()
      try {
        this.#database.exec('rollback')
      } catch {
        // SQLite has rolled back already.
      }
      throw error
    }
    this.#entries = []
    this.#droppedCount = 0
  }

  /** `full` syncs the write-ahead log with each commit, `normal` only at a checkpoint. */
  #setDurability(durable: boolean): void {
    if (durable === this.#isDurable) return
    this.#database.exec(`pragma synchronous = ${durable ? 'full' : 'normal'}`)
    this.#isDurable = durable
  }

  #appendEntries(): void {
    if (this.#entries.length === 0) return
    const at = this.#options.now()
    const gap = { event: 'lost', at, count: this.#droppedCount } satisfies AuditEntry
    const gaps = this.#droppedCount > 0 ? [JSON.stringify(gap)] : []
    this.audit.append([...gaps, ...this.#entries], at)
  }

  get #isPurgeDue(): boolean {
    return this.#options.now() - this.#purgedAt >= purgeIntervalMs
  }

  #purge(): void {
    if (!this.#isPurgeDue) return
    const now = this.#options.now()
    const { keepRunsMs, keepExecutionsMs } = this.#options
    const hasMore = keepExecutionsMs !== undefined && this.#purgeExecutions(now - keepExecutionsMs)
    const runs = purgeRuns(this.#database, now - keepRunsMs)
    const approvals = purgeApprovals(this.#database, now - keepRunsMs)
    // If a limit was reached, the purge stays due: the next commit continues.
    if (runs < maxPurgedRows && approvals < maxPurgedRows && !hasMore) this.#purgedAt = now
  }

  /** Returns whether there is more to delete. */
  #purgeExecutions(before: number): boolean {
    const purged = this.executions.purge(before)
    if (purged === undefined) return false
    if (isFault(purged)) {
      this.#options.onError(new StorageError(purged.fault))
      return false
    }
    const { first, count, hasMore } = purged
    const entry: AuditEntry = { event: 'purged', at: this.#options.now(), first, count }
    this.#entries.push(JSON.stringify(entry))
    return hasMore
  }
}

/** A store in memory has a secret of its own, which ends with it. */
const readLedgerSecret = (file: string): string =>
  file === ':memory:'
    ? randomBytes(32).toString('base64url')
    : readOrCreateSecret(toCompanionFile(file, 'key'))
