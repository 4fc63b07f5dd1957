import { isFault } from '../../capability/fault.ts'
import { DamageError, StorageError } from '../../capability/storage-error.ts'
import type { AuditEntry, Ledger, LedgerReader, LedgerWriter } from '../../governance/ledger.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { BackgroundCheck, type CheckListener } from './background/background-check.ts'
import type { ChainEnd } from './chain/chain-block.ts'
import { ChainTable } from './chain/chain-table.ts'
import { DamageGuard } from './damage/damage-guard.ts'
import { guardReader } from './damage/guarded-reader.ts'
import { readKeyHashes, SeenKeys } from './damage/seen-keys.ts'
import { ExecutionTable } from './execution-table.ts'
import { JobQueue, type Work } from './jobs/job-queue.ts'
import { type SyncFile, WriteAheadLog } from './jobs/write-ahead-log.ts'
import { rollBack, unusable } from './ledger-schema.ts'
import { LedgerTables } from './ledger-tables.ts'
import { type LedgerFile, openLedgerFile } from './open-ledger-file.ts'
import { PendingEntries } from './pending-entries.ts'
import { ProcessRegistry, type ServerProcess } from './processes/process-registry.ts'
import { maxPurgedRows, purgeApprovals } from './purge-ledger.ts'
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
  /** Brings the write-ahead log to the disk. Default: `fdatasync` in the thread pool. */
  readonly syncFile?: SyncFile
}

/** Delay before audit entries without a waiting caller are written, so that many share a commit. */
const coalesceMs = 50
const retryMs = 1000
/** Events after which the table of executions is updated from the chain. */
const maxEventsBehind = 256
const purgeIntervalMs = 60_000

/** The ledger in one SQLite file that several processes may share. */
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
  readonly #jobs: JobQueue
  readonly #entries: PendingEntries
  readonly #seenKeys: SeenKeys
  #check: BackgroundCheck | undefined
  #retention: Pick<LedgerOptions, 'keepRunsMs' | 'keepExecutionsMs'>
  /** Absent until the first commit. */
  #log: WriteAheadLog | undefined
  #timer: NodeJS.Timeout | undefined
  #purgedAt = 0
  #closing: Promise<void> | undefined
  #isClosed = false

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#retention = options
    const { file, process, clocks } = options
    const ledgerFile = openLedgerFile(file, options.checksRows)
    const seenKeys = new SeenKeys(options.keepRunsMs, clocks.steadyMs)
    this.#seenKeys = seenKeys
    this.#database = ledgerFile.database
    this.#seals = ledgerFile.seals
    this.#rows = openSealedRows(this.#database, this.#seals)
    const onDamage = this.#onDamage
    this.#guard = new DamageGuard(ledgerFile, {
      file,
      now: clocks.steadyMs,
      // A key that is not known here can be missed only if the file was changed.
      watchesClosely: () => !seenKeys.isComplete,
      onDamage,
    })
    const { bootId } = clocks
    const processes = new ProcessRegistry(this.#database, { file, process, bootId })
    this.#processes = processes
    this.secret = ledgerFile.secret
    const chainKey = toChainKey(this.secret)
    this.audit = new ChainTable(this.#database, 'audit', chainKey)
    this.executions = new ExecutionTable(this.#database, processes, chainKey)
    this.#entries = new PendingEntries((time) => this.clock.toCalendar(time))
    this.#tables = new LedgerTables({
      database: this.#database,
      rows: this.#rows,
      processes,
      seenKeys,
      onMissingKey: () => this.#guard.verify(),
      append: (entry) => this.#entries.add(entry),
    })
    this.#jobs = new JobQueue({
      writer: this.#tables,
      isPurgeDue: () => this.#isPurgeDue,
      runAlone: (work) => this.#runAlone(work),
      commit: (work) =>
        this.#commit(() => {
          work()
          this.#purge()
        }),
      runInSavepoint: (work) => this.#runInSavepoint(work),
      flush: () => this.#log?.flush(),
    })
    this.read = guardReader(this.#tables, this.#guard)
    this.clock = new LedgerClock(this.damage ? undefined : this.#database, clocks, {
      record: (entry) => this.record(() => entry),
      warn: (message) => this.#warn(message),
    })
    if (this.damage) return
    try {
      this.#start(ledgerFile)
    } catch (error) {
      processes.releaseLock()
      if (error instanceof DamageError) return
      this.#database.close()
      throw unusable(file, error)
    }
  }

  #start({ database, witness }: LedgerFile): void {
    const { checksRows = true } = this.#options
    if (checksRows && witness?.isLarge) this.#startCheck(witness.rows === 'due')
    else {
      if (checksRows) for (const hashes of readKeyHashes(database)) this.#seenKeys.addHashes(hashes)
      this.#seenKeys.complete()
    }
    if (!this.#guard.refusal) this.#register()
  }

  /** Reads the keys in the background; checks the rows too, if they are due. Nothing is written before. */
  #startCheck(checksRows: boolean): void {
    const { file, clocks } = this.#options
    const listener: CheckListener = {
      onKeys: (hashes) => this.#seenKeys.addHashes(hashes),
      onSound: () => {
        this.#seenKeys.complete()
        if (checksRows) this.#finishCheck()
      },
      onDamage: (damage) => this.#guard.report(damage),
      onFailure: this.#options.onError,
    }
    const check = new BackgroundCheck({ file, checksRows }, listener, clocks.steadyMs)
    this.#check = check
    if (!checksRows) return
    this.#guard.suspend(() => check.delay)
    this.#database.exec('pragma query_only = 1')
    this.#warn(
      `The ledger ${file} was not closed properly, or was changed since. Its rows are checked in the background; until then, calls that need it are refused with ledger_checking.`,
    )
  }

  #finishCheck(): void {
    const { file, onError } = this.#options
    const check = this.#check
    if (this.#closing || !check) return
    try {
      this.#database.exec('pragma query_only = 0')
      this.#guard.resume()
      this.#register()
    } catch (error) {
      if (error instanceof DamageError) return
      // Nothing can be written now, for example because the disk is full.
      this.#guard.suspend(() => check.delay)
      onError(error)
      setTimeout(() => this.#finishCheck(), retryMs).unref()
      return
    }
    this.#warn(`All rows of the ledger ${file} were checked and are sound.`)
    this.#writeEntries()
  }

  #warn(message: string): void {
    queueMicrotask(() => this.#options.onWarning(message))
  }

  /** The first commit of this process. SQLite flushes it, with the directory entry of a new log. */
  #register(): void {
    const database = this.#database
    const guard = this.#guard
    database.exec('pragma synchronous = full')
    this.#commit(() => {
      this.#processes.register()
      guard.openWitness(this.#options.process.processId, (id) => this.#processes.isOrphan(id))
    })
    guard.attempt(() => guard.confirm(guard.latest))
    database.exec('pragma busy_timeout = 5000')
    this.#log = new WriteAheadLog({ ...this.#options, database, guard })
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
    return this.#addJob(work, { durable: true, single: false })
  }

  flushed(): Promise<void> {
    const refusal = this.#refusal
    return refusal ? Promise.reject(refusal) : this.#jobs.flushed()
  }

  /** Like `write`, for a single statement. */
  append(work: () => void, durable: boolean): Promise<void> {
    this.#timer ??= setTimeout(() => this.#writeEntries(), coalesceMs).unref()
    return this.#addJob(work, { durable, single: true })
  }

  #addJob<T>(work: Work<T>, options: { durable: boolean; single: boolean }): Promise<T> {
    const refusal = this.#refusal
    return refusal ? Promise.reject(refusal) : this.#jobs.add(work, options)
  }

  get #refusal(): StorageError | undefined {
    return this.#closing ? new StorageError('The ledger is closed') : this.#guard.refusal
  }

  /** A secret of this file, which all processes on it share and which survives restarts. */
  sharedSecret(name: string, create: () => string): string {
    return readOrCreateSharedSecret(this.#database, name, create)
  }

  record(make: () => AuditEntry | string): void {
    this.#entries.addLater(make)
    this.#timer ??= setTimeout(() => this.#writeEntries(), coalesceMs).unref()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#check?.close()
    await this.#jobs.drain()
    this.#writeEntries()
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#reportUnrecorded()
    const checkpoint = this.#guard.refusal ? undefined : this.#emptyLog()
    this.#log?.close()
    this.#guard.close(checkpoint)
    this.#database.close()
    this.#processes.releaseLock()
  }

  /** `undefined` if no checkpoint was made. */
  #emptyLog(): 'complete' | 'partial' | undefined {
    try {
      this.#commit(() => this.#processes.unregister())
      return this.#log?.empty()
    } catch {
      // Another process holds the lock; the last one to close checkpoints.
      return undefined
    }
  }

  #reportUnrecorded(): void {
    const { unwrittenCount: count } = this.#entries
    if (!this.#guard.refusal || count === 0) return
    const reason = this.damage ? 'is damaged' : 'was still being checked'
    this.#onDamage(
      new StorageError(`${count} audit entries were not recorded, because the ledger ${reason}.`),
    )
  }

  /** Not confirmed in the witness. */
  #runAlone<T>(work: Work<T>): T {
    try {
      const result = this.#guard.attempt(() => {
        // Another process may hold the lock. If a statement failed then, one of the drivers would leave it active,
        // and refuse all later commits.
        this.#database.exec('begin immediate')
        const value = work(this.#tables)
        this.#database.exec('commit')
        return value
      })
      // Catch up in small steps, so that no call waits for many events at once.
      if (this.executions.pendingCount >= maxEventsBehind) setImmediate(() => this.#writeEntries())
      return result
    } catch (error) {
      rollBack(this.#database)
      this.#forget()
      throw error
    }
  }

  #runInSavepoint<T>(work: Work<T>): T {
    const { count } = this.#entries
    const { change } = this.#seals
    this.#database.exec('savepoint job')
    try {
      const result = work(this.#tables)
      this.#tables.writeCharges()
      this.#database.exec('release job')
      return result
    } catch (error) {
      if (error instanceof DamageError) throw error
      this.#database.exec('rollback to job')
      this.#database.exec('release job')
      this.#entries.truncate(count)
      this.#seals.reset(change)
      this.#forget()
      throw error
    }
  }

  /** Drops cached state after a rollback. */
  #forget(): void {
    this.#tables.forget()
    this.audit.forget()
    this.executions.forget()
  }

  /** Writes pending entries now. */
  flush(): void {
    this.#writeEntries()
  }

  #writeEntries(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#entries.serialize()
    if (this.#isClosed || this.#guard.refusal) return
    try {
      if (this.#entries.count > 0) this.#commit(() => {})
      if (this.executions.pendingCount > 0) this.#commit(() => this.executions.catchUp())
    } catch (error) {
      // The entries stay pending. Calls with side effects fail meanwhile, because their writes do.
      this.#options.onError(error)
      this.#timer = setTimeout(() => this.#writeEntries(), retryMs).unref()
    }
  }

  /** One transaction with the work and all pending audit entries. It is not on disk yet. */
  #commit(work: () => void): void {
    this.#entries.serialize()
    const { count } = this.#entries
    this.#guard.attempt(() => {
      this.#guard.watchFiles()
      this.#database.exec('begin immediate')
      try {
        this.#tables.refresh()
        work()
        this.#tables.writeCharges()
        this.clock.store()
        this.#guard.advance({ audit: this.#appendEntries(), events: this.executions.events.end })
        this.#database.exec('commit')
      } catch (error) {
        this.#entries.truncate(count)
        this.#forget()
        this.#guard.forget()
        rollBack(this.#database)
        throw error
      }
      this.#guard.complete()
      this.#tables.complete()
    })
    this.#entries.clear()
    this.#log?.checkpointIfDue()
  }

  /** Returns the new end of the chain. */
  #appendEntries(): ChainEnd | undefined {
    if (this.#entries.unwrittenCount === 0) return undefined
    const at = this.clock.now()
    this.audit.append(this.#entries.toLines(at), at)
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
    const runs = this.#tables.purgeRuns(now - keepRunsMs)
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
    this.#entries.add(entry)
    return hasMore
  }
}
