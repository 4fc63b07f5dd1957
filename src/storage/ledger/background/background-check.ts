import { Worker } from 'node:worker_threads'
import { CheckingError, DamageError, StorageError } from '../../../capability/storage-error.ts'

export interface CheckTask {
  readonly file: string
  /** False for a file that is as it was closed: only its keys are read. */
  readonly checksRows: boolean
}

export type CheckMessage =
  | { readonly kind: 'keys'; readonly hashes: Float64Array }
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'sound' }
  | { readonly kind: 'damaged'; readonly message: string }
  /** The check could not be made. */
  | { readonly kind: 'failed'; readonly message: string }

export interface CheckListener {
  /** Hashes of the keys of runs. */
  readonly onKeys: (hashes: Float64Array) => void
  readonly onSound: () => void
  readonly onDamage: (damage: DamageError) => void
  /** The check is made again after a while. */
  readonly onFailure: (error: StorageError) => void
}

/** The first answers of a starting server come before the check: both use the processor. */
const startDelayMs = 250
const retryMs = 5000

/**
 * Checks the rows of a large ledger on a worker thread, with a connection and a snapshot of its own, and reads its
 * keys: both take time in proportion to the number of rows.
 */
export class BackgroundCheck {
  readonly #task: CheckTask
  readonly #listener: CheckListener
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #startedAt: number
  #share = 0

  constructor(task: CheckTask, listener: CheckListener, now: () => number) {
    this.#task = task
    this.#listener = listener
    this.#now = now
    this.#startedAt = now()
    this.#startAfter(startDelayMs)
  }

  /** Why the ledger must not be used before the check is complete. */
  get delay(): CheckingError {
    const percent = Math.floor(this.#share * 100)
    const elapsedMs = this.#now() - this.#startedAt
    const leftMs = this.#share > 0 ? (elapsedMs * (1 - this.#share)) / this.#share : 0
    const estimate = percent > 0 ? `, about ${Math.ceil(leftMs / 1000)} s are left` : ''
    return new CheckingError(
      `The ledger was not closed properly, and its rows are being checked: ${percent} % are done${estimate}.`,
      Math.max(1000, Math.ceil(leftMs)),
    )
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #startAfter(delayMs: number): void {
    this.#timer = setTimeout(() => this.#start(), delayMs).unref()
  }

  #start(): void {
    this.#startedAt = this.#now()
    this.#share = 0
    const worker = new Worker(thread, { workerData: this.#task })
    worker.unref()
    this.#worker = worker
    worker
      .on('message', (message: CheckMessage) => this.#receive(worker, message))
      .on('error', (error: Error) => this.#fail(worker, error.message))
      .on('exit', () => this.#fail(worker, 'its thread has ended'))
  }

  #receive(worker: Worker, message: CheckMessage): void {
    if (worker !== this.#worker) return
    switch (message.kind) {
      case 'keys':
        return this.#listener.onKeys(message.hashes)
      case 'progress':
        this.#share = message.share
        return
      case 'sound':
        this.#worker = undefined
        return this.#listener.onSound()
      case 'damaged':
        this.#worker = undefined
        return this.#listener.onDamage(new DamageError(message.message))
      case 'failed':
        return this.#fail(worker, message.message)
    }
  }

  #fail(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    this.#listener.onFailure(
      new StorageError(`The ledger ${this.#task.file} could not be checked: ${reason}`),
    )
    this.#startAfter(retryMs)
  }
}

/** Worker threads always run the build output, even when the rest runs from TypeScript sources. */
const thread = new URL(
  import.meta.url.endsWith('.ts')
    ? '../../../../dist/storage/ledger/background/check-thread.js'
    : './check-thread.js',
  import.meta.url,
)
