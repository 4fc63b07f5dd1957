import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LedgerError } from '../governance/ledger.ts'
import type { RecordSource } from '../sources/records/model.ts'
import type { Entry } from '../sources/records/to-entry.ts'
import { toLayout } from './fit-entries.ts'
import type { Place } from './record-writer.ts'
import type { Written } from './write-batch.ts'

export interface Task {
  readonly source: number
  /** Ready to be written, or lines of JSON, one record each. */
  readonly content: readonly Entry[] | string
  /** What entries were made for. */
  readonly layout?: string
  /** When they arrive, in milliseconds. */
  readonly now: number
  readonly place?: Place | undefined
}

export interface Loaded {
  readonly written: Written
  /** What is wrong with which line; the rest is written. */
  readonly faults: readonly (readonly [line: number, fault: string])[]
}

export type TaskResult = Loaded | { readonly failure: string }

interface Waiting {
  readonly resolve: (loaded: Loaded) => void
  readonly reject: (error: Error) => void
}

/** Batches are written on another thread: whoever serves does not wait for an index or the disk. */
export class BackgroundWriter {
  readonly #file: string
  /** In the order in which they were handed over, which is the order of the answers. */
  readonly #waiting: Waiting[] = []
  #worker: Worker | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** One transaction: all of a batch or nothing. */
  async write({ n, stream }: RecordSource, entries: readonly Entry[]): Promise<Written> {
    const layout = toLayout(stream)
    const { written } = await this.#hand({ source: n, content: entries, layout, now: 0 })
    return written
  }

  /** The same for lines of JSON, and how far their file has come. */
  load(
    { n }: RecordSource,
    lines: string,
    { now, place }: Pick<Task, 'now' | 'place'>,
  ): Promise<Loaded> {
    return this.#hand({ source: n, content: lines, now, place })
  }

  #hand(task: Task): Promise<Loaded> {
    return new Promise((resolve, reject) => {
      const worker = this.#open()
      worker.ref()
      worker.postMessage(task)
      this.#waiting.push({ resolve, reject })
    })
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    const gone = once(worker, 'exit')
    worker.ref()
    worker.postMessage(undefined)
    await gone
  }

  #open(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(thread, { workerData: this.#file })
    worker
      .on('message', (result: TaskResult) => this.#answer(worker, result))
      .on('error', (error: Error) => this.#fail(worker, error))
      .on('exit', () => this.#fail(worker, new LedgerError('The writing of records has ended.')))
    this.#worker = worker
    return worker
  }

  #answer(worker: Worker, result: TaskResult): void {
    if (worker !== this.#worker) return
    const waiting = this.#waiting.shift()
    if (this.#waiting.length === 0) worker.unref()
    if ('written' in result) waiting?.resolve(result)
    else waiting?.reject(new LedgerError(result.failure))
  }

  /** The next batch begins on a new thread; what is left of the former one concerns nobody. */
  #fail(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/** Threads run what is built, also where the rest runs from its sources. */
const thread = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/storage/writer-thread.js' : './writer-thread.js',
  import.meta.url,
)
