import { DamageError } from '../../../capability/storage-error.ts'
import { openSqlite, type Sqlite } from '../../sqlite/sqlite.ts'
import { type LedgerFile, type OpenedFile, readDataVersion } from '../open-ledger-file.ts'
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
  /** Called once, when damage is found. */
  readonly onDamage: (damage: DamageError) => void
}

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
  #record = ''
  /** The latest record in the witness. */
  #confirmed = ''
  #witness: Witness | undefined
  #files: FileWatch | undefined
  #watchedAt = 0
  #damage: DamageError | undefined

  constructor({ database, seals, witness, damage }: LedgerFile, options: GuardOptions) {
    this.#options = options
    this.#witnessFile = witness?.file
    this.#opened = witness ?? { stamp: uncheckedStamp, dataVersion: 0, isChecked: false }
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

  /** Takes a slot of the witness. Runs inside a transaction, which keeps other processes out. */
  openWitness(owner: string, isDead: (owner: string) => boolean): void {
    if (this.#witnessFile === undefined) return
    const reading = readWitness(this.#witnessFile, this.#seals)
    const owners = reading.kind === 'records' ? reading.owners : []
    this.#witness = new Witness(this.#witnessFile, this.#seals, { owner, owners, isDead })
  }

  /** Runs work on the database; damage that it finds is final until the operator has repaired the store. */
  attempt<T>(work: () => T): T {
    if (this.#damage) throw this.#damage
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
    const now = this.#options.now()
    if (Math.abs(now - this.#watchedAt) < watchIntervalMs) return
    this.#watchedAt = now
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

  /** A transaction was committed; `isOnDisk` when it survives a power failure. */
  confirm(isOnDisk: boolean): void {
    this.#state.confirm()
    this.#seals.reset(0n)
    if (this.#witnessFile === undefined) return
    this.#files ??= new FileWatch(this.#options.file, this.#witnessFile, this.#opened.stamp)
    if (isOnDisk) this.#confirm(this.#files.stamp)
  }

  /** This process has written the database file: tells the other processes. */
  confirmCheckpoint(): void {
    this.#files?.remember()
    if (this.#files) this.#confirm(this.#files.stamp)
  }

  #confirm(stamp: string): void {
    if (this.#record === '') return
    this.#witness?.confirm(this.#record, stamp)
    this.#confirmed = this.#record
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
      const isComplete = checkpoint === 'complete'
      // The last commit of this process is on disk only then.
      if (!isComplete) this.#record = this.#confirmed
      const { stamp } = this.#files
      this.#confirm(isComplete && this.#hasUsedItAlone() ? toClosedStamp(stamp) : stamp)
    }
    this.#witness?.close()
  }

  /** Then the file contains what was checked, and the commits of this process. */
  #hasUsedItAlone(): boolean {
    const { isChecked, dataVersion } = this.#opened
    return isChecked && readDataVersion(this.#database) === dataVersion
  }

  /** Another process has made a checkpoint, and its witness record says so. */
  #isWitnessed(stamp: string): boolean {
    const reading = readWitness(this.#witnessFile ?? '', this.#seals)
    const stamps = [stamp, toClosedStamp(stamp)]
    return reading.kind === 'records' && stamps.some((one) => reading.stamps.has(one))
  }
}
