import { type CheckingError, DamageError } from '../../../capability/storage-error.ts'
import { readDataVersion } from '../../sqlite/data-version.ts'
import { openSqlite, type Sqlite } from '../../sqlite/sqlite.ts'
import type { LedgerFile, OpenedFile } from '../open-ledger-file.ts'
import type { RowSeals } from '../seals/row-seals.ts'
import { checkLedger } from './check-ledger.ts'
import { FileWatch, toClosedStamp, uncheckedStamp } from './file-watch.ts'
import { type ChainPositions, StateRow } from './ledger-state.ts'
import { readWitness, Witness } from './witness.ts'

/** How often the files are compared while commits are made. */
const watchIntervalMs = 50

export interface GuardOptions {
  readonly file: string
  readonly now: () => number
  /** Whether the files have to be compared before every commit. */
  readonly watchesClosely: () => boolean
  /** Called once, when damage is found. */
  readonly onDamage: (damage: DamageError) => void
}

/** A commit of this process, and the text of the state that it has left. */
export interface LedgerCommit {
  readonly record: string
  readonly order: number
}

const noCommit: LedgerCommit = { record: '', order: 0 }

/**
 * Refuses to use a damaged ledger. Every commit advances the state in the database, and every commit that is on
 * disk is confirmed in the witness before it is acknowledged.
 */
export class DamageGuard {
  readonly #options: GuardOptions
  readonly #witnessFile: string | undefined
  readonly #opened: OpenedFile
  readonly #database: Sqlite
  readonly #seals: RowSeals
  readonly #state: StateRow
  /** The state after the open transaction. */
  #record = ''
  /** The latest transaction that was committed. */
  #latest = noCommit
  /** The latest one in the witness. */
  #confirmed = noCommit
  #witness: Witness | undefined
  #files: FileWatch | undefined
  #watchedAt = 0
  #damage: DamageError | undefined
  #isChecked: boolean
  /** Why the ledger must not be used yet. */
  #findDelay: () => CheckingError | undefined = () => undefined

  constructor({ database, seals, witness, damage }: LedgerFile, options: GuardOptions) {
    this.#options = options
    this.#witnessFile = witness?.file
    this.#opened = witness ?? {
      stamp: uncheckedStamp,
      dataVersion: 0,
      rows: 'unknown',
      isLarge: false,
    }
    this.#isChecked = this.#opened.rows === 'sound'
    this.#database = database
    this.#seals = seals
    this.#state = new StateRow(database, seals)
    if (damage) this.report(damage)
  }

  get damage(): DamageError | undefined {
    return this.#damage
  }

  get generation(): number {
    return this.#state.generation
  }

  /** Refuses all work while the rows are being checked. */
  suspend(findDelay: () => CheckingError): void {
    this.#findDelay = findDelay
  }

  /** All rows were found sound. */
  resume(): void {
    this.#isChecked = true
    this.#findDelay = () => undefined
  }

  /** Why work is refused now. */
  get refusal(): DamageError | CheckingError | undefined {
    return this.#damage ?? this.#findDelay()
  }

  /** Takes a slot of the witness. Runs inside a transaction, which keeps other processes out. */
  openWitness(owner: string, isDead: (owner: string) => boolean): void {
    if (this.#witnessFile === undefined) return
    const reading = readWitness(this.#witnessFile, this.#seals)
    const owners = reading.kind === 'records' ? reading.owners : []
    this.#witness = new Witness(this.#witnessFile, this.#seals, { owner, owners, isDead })
  }

  /** Runs work on the database; damage that it finds is final until the operator has repaired the store. */
  attempt<T>(work: () => T): T {
    const { refusal } = this
    if (refusal) throw refusal
    try {
      return work()
    } catch (error) {
      throw error instanceof DamageError ? this.report(error) : error
    }
  }

  report(error: DamageError): DamageError {
    if (this.#damage) return this.#damage
    const { file, onDamage } = this.#options
    this.#damage = new DamageError(
      `The ledger ${file} is damaged: ${error.message}. Side effects are refused, and reads continue. Run "drawbridge store check", then "drawbridge store restore" or "drawbridge store repair", and restart.`,
    )
    onDamage(this.#damage)
    return this.#damage
  }

  /** Compares the files with what this process has written, now and then. Runs before a transaction. */
  watchFiles(): void {
    const { now, watchesClosely } = this.#options
    const time = now()
    if (Math.abs(time - this.#watchedAt) < watchIntervalMs && !watchesClosely()) return
    this.#watchedAt = time
    this.checkFiles()
  }

  /** The same at once. Runs before a checkpoint, which changes the file. */
  checkFiles(): void {
    if (!this.#files) return
    const stamp = this.#files.findChange()
    if (stamp === undefined) return
    if (!this.#isWitnessed(stamp)) this.verify()
    this.#files.remember()
  }

  /** Checks the whole database, with a connection of its own that has no cached pages. */
  verify(): void {
    const { file } = this.#options
    if (this.#witnessFile === undefined) return
    const witness = readWitness(this.#witnessFile, this.#seals)
    const database = openSqlite(file)
    try {
      database.exec('pragma busy_timeout = 5000')
      checkLedger(database, this.#seals, witness)
    } finally {
      database.close()
    }
  }

  /** Runs at the end of each transaction. */
  advance(chains: ChainPositions): void {
    this.#record = this.#state.advance(chains)
  }

  /** A transaction was committed, but may not be on disk. */
  complete(): void {
    this.#state.confirm()
    this.#seals.reset(0n)
    this.#latest = { record: this.#record, order: this.#latest.order + 1 }
    if (this.#witnessFile === undefined) return
    this.#files ??= new FileWatch(this.#options.file, this.#witnessFile, this.#opened.stamp)
  }

  get latest(): LedgerCommit {
    return this.#latest
  }

  /** This commit, and so all before it, would survive a power failure. */
  confirm(commit: LedgerCommit): void {
    if (this.#files && commit.order > this.#confirmed.order)
      this.#confirm(commit, this.#files.stamp)
  }

  /** This process has written the database file: tells the other processes. */
  confirmCheckpoint(isComplete: boolean): void {
    if (!this.#files) return
    this.#files.remember()
    // Only a complete checkpoint has brought the latest commit to the disk.
    this.#confirm(isComplete ? this.#latest : this.#confirmed, this.#files.stamp)
  }

  #confirm(commit: LedgerCommit, stamp: string): void {
    if (commit === noCommit) return
    this.#witness?.confirm(commit.record, stamp)
    this.#confirmed = commit
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.#state.forget()
    this.#seals.reset(0n)
  }

  /** After the last checkpoint, if there was one; `complete` when it copied all commits to the database file. */
  close(checkpoint: 'complete' | 'partial' | undefined): void {
    if (this.#files && checkpoint && !this.#damage) {
      this.#files.remember()
      const { stamp } = this.#files
      if (checkpoint === 'complete')
        this.#confirm(this.#latest, this.#hasUsedItAlone() ? toClosedStamp(stamp) : stamp)
      // The last commit of this process may not be on disk.
      else this.#confirm(this.#confirmed, stamp)
    }
    this.#witness?.close()
  }

  /** Then the file contains what was checked, and the commits of this process. */
  #hasUsedItAlone(): boolean {
    return this.#isChecked && readDataVersion(this.#database) === this.#opened.dataVersion
  }

  /** Another process has made a checkpoint, and its witness record says so. */
  #isWitnessed(stamp: string): boolean {
    const reading = readWitness(this.#witnessFile ?? '', this.#seals)
    const stamps = [stamp, toClosedStamp(stamp)]
    return reading.kind === 'records' && stamps.some((one) => reading.stamps.has(one))
  }
}
