import { CheckingError, DamageError, StorageError } from '../../../capability/storage-error.ts'
import type { LedgerWriter } from '../../../governance/ledger.ts'

export type Work<T> = (writer: LedgerWriter) => T

/** The database as the queue uses it. */
export interface JobStore {
  readonly writer: LedgerWriter
  /** Whether the next transaction has old rows to delete. */
  isPurgeDue(): boolean
  /** Runs the work in one transaction, with all pending audit entries. Throws when nothing was committed. */
  commit(work: () => void): void
  /** Runs a single statement without a transaction. */
  runAlone<T>(work: Work<T>): T
  /** Runs work inside a transaction; if it throws, only this work is rolled back. */
  runInSavepoint<T>(work: Work<T>): T
  /** Resolves when all commits so far are on disk and confirmed; `undefined` for a store in memory. */
  flush(): Promise<void> | undefined
}

interface Job {
  /** True for a single statement, which needs no explicit transaction. */
  readonly single: boolean
  /** True when it must survive a power failure, not only a crash of this process. */
  readonly durable: boolean
  /** Absent for one that waits only for the flush. */
  readonly work?: Work<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** Of the work, which is done before its commit is on disk. */
  result?: { readonly value: unknown } | { readonly error: unknown }
}

/**
 * Group commit: jobs that arrive together share one transaction and one flush. While a flush runs, the next
 * durable jobs gather, so that a batch is everybody who waits.
 */
export class JobQueue {
  readonly #store: JobStore
  #jobs: Job[] = []
  #isScheduled = false
  #flush: Promise<void> | undefined

  constructor(store: JobStore) {
    this.#store = store
  }

  add<T>(work: Work<T>, options: Pick<Job, 'durable' | 'single'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#push({ work, ...options, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  /** Resolves when all commits so far, also those of other processes, are on disk. */
  flushed(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#push({ durable: true, single: false, resolve: () => resolve(), reject })
    })
  }

  #push(job: Job): void {
    this.#jobs.push(job)
    if (!this.#flush || !job.durable) this.#schedule()
  }

  /** Runs all jobs that were added before, and waits for their flush. */
  async drain(): Promise<void> {
    while (this.#flush || this.#jobs.length > 0) {
      if (this.#flush) await this.#flush
      else this.#run()
    }
  }

  /** After all jobs of this turn of the event loop have arrived. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#run())
  }

  #run(): void {
    this.#isScheduled = false
    const jobs = this.#take()
    const [first] = jobs
    if (!first) return
    if (jobs.length === 1 && first.single && !first.durable && !this.#store.isPurgeDue())
      return this.#runAlone(first)
    try {
      if (jobs.some(({ work }) => work)) this.#commit(jobs)
    } catch (error) {
      for (const job of jobs) job.reject(toRejection(error))
      return
    }
    const durable = jobs.filter((job) => job.durable)
    const flush = durable.length > 0 ? this.#store.flush() : undefined
    for (const job of jobs) if (!flush || !job.durable) settle(job)
    if (flush) this.#flush = this.#acknowledge(durable, flush)
  }

  /** Durable jobs wait while a flush runs: it began before their commit. */
  #take(): Job[] {
    const jobs = this.#jobs
    this.#jobs = this.#flush ? jobs.filter(({ durable }) => durable) : []
    return this.#flush ? jobs.filter(({ durable }) => !durable) : jobs
  }

  #runAlone(job: Job): void {
    try {
      job.resolve(job.work && this.#store.runAlone(job.work))
    } catch (error) {
      job.reject(toRejection(error))
    }
  }

  #commit(jobs: readonly Job[]): void {
    // Execution events are consumed when they are written: a batch with them cannot be run again.
    if (jobs.some(({ single }) => single)) this.#commitInSavepoints(jobs)
    else this.#commitTogether(jobs)
  }

  /** Without savepoints. If a job throws, which is a bug, all are rolled back and run again with savepoints. */
  #commitTogether(jobs: readonly Job[]): void {
    const { writer } = this.#store
    let hasJobThrown = false
    try {
      this.#store.commit(() => {
        try {
          for (const job of jobs) job.result = { value: job.work?.(writer) }
        } catch (error) {
          hasJobThrown = !stopsBatch(error)
          throw error
        }
      })
    } catch (error) {
      if (!hasJobThrown) throw error
      this.#commitInSavepoints(jobs)
    }
  }

  #commitInSavepoints(jobs: readonly Job[]): void {
    this.#store.commit(() => {
      for (const job of jobs)
        try {
          job.result = { value: job.work && this.#store.runInSavepoint(job.work) }
        } catch (error) {
          if (stopsBatch(error)) throw error
          job.result = { error }
        }
    })
  }

  async #acknowledge(jobs: readonly Job[], flush: Promise<void>): Promise<void> {
    try {
      await flush
      for (const job of jobs) settle(job)
    } catch (error) {
      for (const job of jobs) job.reject(toRejection(error))
    }
    this.#flush = undefined
    // The jobs of callers who continue now arrive before this one runs.
    if (this.#jobs.length > 0) this.#schedule()
  }
}

function settle({ result, resolve, reject }: Job): void {
  if (result && 'error' in result) reject(result.error)
  else resolve(result?.value)
}

/** A ledger that is damaged, or must be checked first, rolls back the whole transaction. */
const stopsBatch = (error: unknown): error is StorageError =>
  error instanceof DamageError || error instanceof CheckingError

const toRejection = (error: unknown): StorageError =>
  stopsBatch(error) ? error : new StorageError('The ledger cannot be written', { cause: error })
