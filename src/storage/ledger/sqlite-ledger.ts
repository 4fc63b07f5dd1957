import { isFault } from '../../capability/fault.ts'
import { DamageError, StorageError } from '../../capability/storage-error.ts'
import type { AuditEntry, Ledger, LedgerReader, LedgerWriter } from '../../governance/ledger.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import type { ChainEnd } from './chain/chain-block.ts'
import { ChainTable } from './chain/chain-table.ts'
import { DamageGuard } from './damage/damage-guard.ts'
import { guardReader } from './damage/guarded-reader.ts'
import { SeenKeys } from './damage/seen-keys.ts'
import { ExecutionTable } from './execution-table.ts'
import { rollBack, unusable } from './ledger-schema.ts'
import { LedgerTables } from './ledger-tables.ts'
import { openLedgerFile } from './open-ledger-file.ts'
import { ProcessRegistry, type ServerProcess } from './processes/process-registry.ts'
import { maxPurgedRows, purgeApprovals, purgeRuns } from './purge-ledger.ts'
import type { RowSeals } from './seals/row-seals.ts'
import { toChainKey } from './seals/seal.ts'
import { openSealedRows, type SealedRows } from './seals/sealed-rows.ts'
import { readOrCreateSharedSecret } from './shared-secrets.ts'
import type { SystemClocks } from './time/judge-time.ts'
import { LedgerClock } from './time/ledger-clock.ts'

export interface LedgerOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  readonly process: ServerProcess
  /** How long ended runs are kept, in milliseconds. */
  readonly keepRunsMs: number
  /** How long executions are kept, in milliseconds; for ever when absent. */
  readonly keepExecutionsMs?: number
  readonly clocks: SystemClocks
  /** `false` for operators, who run nothing: a large ledger opens faster. Default `true`. */
  readonly checksRows?: boolean
  readonly onError: (error: unknown) => void
  /** Receives what the operator has to know about the clock. */
  readonly onWarning: (message: string) => void
  /** Damage of the file, and audit entries that were lost to it. */
  readonly onDamage?: (error: StorageError) => void
}

/** Delay before audit entries without a waiting caller are written, so that many share a commit. */
const coalesceMs = 50
const retryMs = 1000
/** The oldest pending audit entries are dropped beyond this number. */
const maxPendingEntries = 100_000
/** Events after which the table of executions is updated from the chain. */
const maxEventsBehind = 256
const purgeIntervalMs = 60_000
const commitsPerCheckpoint = 256
/** Pages after which SQLite makes a checkpoint by itself; only large results reach it earlier than we do. */
const maxLogPages = 16_384

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
  readonly clock: LedgerClock
  /** The secret beside the store, from which keys are derived. */
  readonly secret: string
  readonly #processes: ProcessRegistry
  readonly #tables: LedgerTables
  readonly #rows: SealedRows
  readonly #seals: RowSeals
  readonly #guard: DamageGuard
  readonly #options: LedgerOptions
  #retention: Pick<LedgerOptions, 'keepRunsMs' | 'keepExecutionsMs'>
  #jobs: Job[] = []
  /** Audit entries of this turn of the event loop, not serialized yet. */
  #entryFactories: (() => AuditEntry | string)[] = []
  /** Serialized at the end of the turn: strings are cheap for the garbage collector. */
  #entries: string[] = []
  #droppedCount = 0
  #isScheduled = false
  /** The present `pragma synchronous`: full when true, normal when false. */
  #isDurable: boolean | undefined
  #timer: NodeJS.Timeout | undefined
  #purgedAt = 0
  #commitCount = 0
  #isClosed = false

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#retention = options
    const { file, process, clocks } = options
    const seenKeys = new SeenKeys(options.keepRunsMs, clocks.steadyMs)
    const ledgerFile = openLedgerFile(file, options.checksRows)
    this.#database = ledgerFile.database
    this.#seals = ledgerFile.seals
    this.#rows = openSealedRows(this.#database, this.#seals)
    const onDamage = this.#onDamage
    this.#guard = new DamageGuard(ledgerFile, { file, now: clocks.steadyMs, onDamage })
    const { bootId } = clocks
    const processes = new ProcessRegistry(this.#database, { file, process, bootId })
    this.#processes = processes
    this.secret = ledgerFile.secret
    const chainKey = toChainKey(this.secret)
    this.audit = new ChainTable(this.#database, 'audit', chainKey)
    this.executions = new ExecutionTable(this.#database, processes, chainKey)
    this.#tables = new LedgerTables({
      database: this.#database,
      rows: this.#rows,
      processes,
      seenKeys,
      onMissingKey: () => this.#guard.verify(),
      append: (entry) => this.#entries.push(this.#serialize(entry)),
    })
    this.read = guardReader(this.#tables, this.#guard)
    this.clock = new LedgerClock(this.damage ? undefined : this.#database, clocks, {
      record: (entry) => this.record(() => entry),
      warn: (message) => queueMicrotask(() => options.onWarning(message)),
    })
    if (this.damage) return
    try {
      if (options.checksRows !== false) seenKeys.load(this.#database)
      this.#commit(() => {
        processes.register()
        this.#guard.openWitness(process.processId, (id) => processes.isOrphan(id))
      }, true)
      this.#database.exec('pragma busy_timeout = 5000')
      this.#database.exec(`pragma wal_autocheckpoint = ${maxLogPages}`)
    } catch (error) {
      processes.releaseLock()
      if (error instanceof DamageError) return
      this.#database.close()
      throw unusable(file, error)
    }
  }

  readonly #onDamage = (error: StorageError): void => {
    const { onError, onDamage = onError } = this.#options
    onDamage(error)
  }

  /** Why the ledger refuses to be read and written; `undefined` while it is sound. */
  get damage(): DamageError | undefined {
    return this.#guard.damage
  }

  /** Checks every row now. Returns why the ledger cannot be used. */
  checkRows(): DamageError | undefined {
    try {
      this.#guard.attempt(() => this.#guard.verify())
    } catch (error) {
      if (!(error instanceof DamageError)) throw error
    }
    return this.damage
  }

  /** Grows with every restore or repair of the store. */
  get generation(): number {
    return this.#guard.generation
  }

  /** Changes how long ended runs and executions are kept, in milliseconds. */
  setRetention(retention: Pick<LedgerOptions, 'keepRunsMs' | 'keepExecutionsMs'>): void {
    this.#retention = retention
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
    if (this.damage) return Promise.reject(this.damage)
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ work, ...options, resolve: resolve as (value: unknown) => void, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      // Group commit: run after all jobs of this turn of the event loop have arrived.
      setImmediate(() => this.#runJobs())
    })
  }

  /** A secret of this file, which all processes on it share and which survives restarts. */
  sharedSecret(name: string, create: () => string): string {
    return readOrCreateSharedSecret(this.#database, name, create)
  }

  record(make: () => AuditEntry | string): void {
    if (this.#entryFactories.push(make) === 1) setImmediate(() => this.#serializeEntries())
    this.#timer ??= setTimeout(() => this.#writeEntries(), coalesceMs).unref()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#runJobs()
    this.#writeEntries()
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#reportUnrecorded()
    this.#guard.close(this.damage ? undefined : this.#checkpoint())
    this.#database.close()
    this.#processes.releaseLock()
  }

  /** One of the drivers does not checkpoint when it closes. `undefined` if no checkpoint was made. */
  #checkpoint(): 'complete' | 'partial' | undefined {
    try {
      this.#commit(() => this.#processes.unregister(), false)
      this.#guard.attempt(() => this.#guard.checkFiles())
      const result = this.#database
        .prepare<{ busy: number }>('pragma wal_checkpoint(truncate)')
        .get()
      return result?.busy === 0 ? 'complete' : 'partial'
    } catch {
      // Another process holds the lock; the last one to close checkpoints.
      return undefined
    }
  }

  #reportUnrecorded(): void {
    const count = this.#entries.length + this.#droppedCount
    if (!this.damage || count === 0) return
    this.#onDamage(
      new StorageError(`${count} audit entries were not recorded, because the ledger is damaged.`),
    )
  }

  #runJobs(): void {
    this.#isScheduled = false
    const jobs = this.#jobs
    if (jobs.length === 0) return
    this.#jobs = []
    const [first] = jobs
    const isAlone = jobs.length === 1 && !this.#isPurgeDue
    if (isAlone && first?.single && !first.durable) return this.#runAlone(first)
    // Execution events are consumed when they are written: a batch with them cannot be run again.
    if (jobs.some(({ single }) => single)) this.#runInSavepoints(jobs)
    else this.#runTogether(jobs)
  }

  /** Without savepoints. If a job throws, which is a bug, all are rolled back and run again with savepoints. */
  #runTogether(jobs: readonly Job[]): void {
    const values: unknown[] = []
    let hasJobThrown = false
    const runAll = () => {
      try {
        for (const { work } of jobs) values.push(work(this.#tables))
      } catch (error) {
        hasJobThrown = !(error instanceof DamageError)
        throw error
      }
      this.#purge()
    }
    try {
      this.#commit(
        runAll,
        jobs.some((job) => job.durable),
      )
    } catch (error) {
      if (hasJobThrown) return this.#runInSavepoints(jobs)
      const reason = toRejection(error)
      for (const job of jobs) job.reject(reason)
      return
    }
    for (const [index, { resolve }] of jobs.entries()) resolve(values[index])
  }

  #runInSavepoints(jobs: readonly Job[]): void {
    const settlements: (() => void)[] = []
    const durable = jobs.some((job) => job.durable)
    try {
      this.#commit(() => {
        for (const job of jobs) settlements.push(this.#runInSavepoint(job))
        this.#purge()
      }, durable)
    } catch (error) {
      const reason = toRejection(error)
      for (const job of jobs) job.reject(reason)
      return
    }
    for (const settle of settlements) settle()
  }

  /** Without a transaction: not confirmed in the witness. */
  #runAlone({ work, resolve, reject }: Job): void {
    try {
      this.#setDurability(false)
      resolve(this.#guard.attempt(() => work(this.#tables)))
      // Catch up in small steps, so that no call waits for many events at once.
      if (this.executions.pendingCount >= maxEventsBehind) setImmediate(() => this.#writeEntries())
    } catch (error) {
      this.#forget()
      reject(toRejection(error))
    }
  }

  /** A job that throws is rolled back alone. */
  #runInSavepoint({ work, resolve, reject }: Job): () => void {
    const entryCount = this.#entries.length
    const { change } = this.#seals
    this.#database.exec('savepoint job')
    try {
      const value = work(this.#tables)
      this.#database.exec('release job')
      return () => resolve(value)
    } catch (error) {
      // A damaged ledger rolls back the whole transaction.
      if (error instanceof DamageError) throw error
      this.#database.exec('rollback to job')
      this.#database.exec('release job')
      this.#entries.length = entryCount
      this.#seals.reset(change)
      this.#forget()
      return () => reject(error)
    }
  }

  /** Drops cached state after a rollback. */
  #forget(): void {
    this.#tables.forget()
    this.audit.forget()
    this.executions.forget()
  }

  #serializeEntries(): void {
    const factories = this.#entryFactories
    this.#entryFactories = []
    for (const make of factories) {
      const entry = make()
      this.#entries.push(typeof entry === 'string' ? entry : this.#serialize(entry))
    }
    const excess = this.#entries.length - maxPendingEntries
    if (excess <= 0) return
    this.#entries.splice(0, excess)
    this.#droppedCount += excess
  }

  /** Entries carry dates, not ledger time. */
  #serialize(entry: AuditEntry): string {
    const at = this.clock.toCalendar(entry.at)
    return JSON.stringify(at === entry.at ? entry : { ...entry, at })
  }

  /** Writes pending entries now. */
  flush(): void {
    this.#writeEntries()
  }

  #writeEntries(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#serializeEntries()
    if (this.#isClosed || this.damage) return
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
    this.#guard.attempt(() => {
      this.#guard.watchFiles()
      this.#setDurability(durable)
      this.#database.exec('begin immediate')
      try {
        work()
        this.clock.store()
        this.#guard.advance({ audit: this.#appendEntries(), events: this.executions.events.end })
        this.#database.exec('commit')
      } catch (error) {
        this.#entries.length = Math.min(pendingCount, this.#entries.length)
        this.#forget()
        this.#guard.forget()
        rollBack(this.#database)
        throw error
      }
      this.#guard.confirm(durable)
    })
    this.#entries = []
    this.#droppedCount = 0
    if (++this.#commitCount % commitsPerCheckpoint === 0) this.#checkpointNow()
  }

  /** Moves commits from the write-ahead log to the database file. Not done by SQLite, so that the guard knows when. */
  #checkpointNow(): void {
    try {
      this.#guard.attempt(() => {
        this.#guard.checkFiles()
        this.#database.prepare('pragma wal_checkpoint(passive)').get()
        this.#guard.confirmCheckpoint()
      })
    } catch (error) {
      if (!(error instanceof DamageError)) this.#options.onError(error)
    }
  }

  /** `full` syncs the write-ahead log with each commit, `normal` only at a checkpoint. */
  #setDurability(durable: boolean): void {
    if (durable === this.#isDurable) return
    this.#database.exec(`pragma synchronous = ${durable ? 'full' : 'normal'}`)
    this.#isDurable = durable
  }

  /** Returns the new end of the chain. */
  #appendEntries(): ChainEnd | undefined {
    if (this.#entries.length === 0) return undefined
    const at = this.clock.now()
    const gap = { event: 'lost', at, count: this.#droppedCount } satisfies AuditEntry
    const gaps = this.#droppedCount > 0 ? [this.#serialize(gap)] : []
    this.audit.append([...gaps, ...this.#entries], at)
    return this.audit.end
  }

  get #isPurgeDue(): boolean {
    return this.clock.now() - this.#purgedAt >= purgeIntervalMs
  }

  #purge(): void {
    // While the time is uncertain, nothing is old enough to be forgotten.
    if (!this.#isPurgeDue || this.clock.isSuspicious) return
    const now = this.clock.now()
    const { keepRunsMs, keepExecutionsMs } = this.#retention
    const hasMore = keepExecutionsMs !== undefined && this.#purgeExecutions(now - keepExecutionsMs)
    const runs = purgeRuns(this.#rows, now - keepRunsMs)
    const approvals = purgeApprovals(this.#rows, now - keepRunsMs)
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
    const entry: AuditEntry = { event: 'purged', at: this.clock.now(), first, count }
    this.#entries.push(this.#serialize(entry))
    return hasMore
  }
}

const toRejection = (error: unknown): StorageError =>
  error instanceof DamageError
    ? error
    : new StorageError('The ledger cannot be written', { cause: error })
