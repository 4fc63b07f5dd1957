import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { SetupError } from '../../../capability/setup-error.ts'
import { LedgerError } from '../../../governance/ledger.ts'
import type { RecordEntry } from '../../../sources/records/import/to-entry.ts'
import type { Connection, RecordSource, Stream } from '../../../sources/records/model/stream.ts'
import type { KeptBlob, StoreBinding } from '../../../sources/records/record-store.ts'
import type { FileToImport, LoadedLines } from './file-import.ts'
import { toLayout } from './fit-entries.ts'
import type { WrittenBatch } from './write-batch.ts'

/** What the thread does, and what it is told for that. */
export interface Tasks {
  readonly write: Job<
    { source: number; entries: readonly RecordEntry[]; layout: string },
    WrittenBatch
  >
  readonly open: Job<{ stream: Stream; connection: Connection }, RecordSource>
  readonly keep: Job<{ blob: KeptBlob; binding: StoreBinding }, void>
  readonly digest: Job<string, { digest: string; size: number }>
  readonly begin: Job<FileToImport & { id: number; source: number }, void>
  readonly load: Job<{ id: number; now: number }, LoadedLines>
  readonly end: Job<number, void>
}

interface Job<Given, Result> {
  readonly given: Given
  readonly result: Result
}

export interface Task {
  readonly name: keyof Tasks
  readonly given: unknown
}

export type TaskResult =
  | { readonly result: unknown }
  | { readonly failure: string; readonly isSetup: boolean }

interface Waiting {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/**
 * Whatever an owner puts in is written on another thread, and files are read there: whoever serves does
 * not wait for an index, the disk or somebody else who writes.
 */
export class BackgroundWriter {
  readonly #file: string
  /** In the order in which they were handed over, which is the order of the answers. */
  readonly #waiting: Waiting[] = []
  #worker: Worker | undefined
  #imports = 0

  constructor(file: string) {
    this.#file = file
  }

  /** One transaction: all of a batch or nothing. */
  write({ n, stream }: RecordSource, entries: readonly RecordEntry[]): Promise<WrittenBatch> {
    return this.#hand('write', { source: n, entries, layout: toLayout(stream) })
  }

  open(stream: Stream, connection: Connection): Promise<RecordSource> {
    return this.#hand('open', { stream, connection })
  }

  keep(blob: KeptBlob, binding: StoreBinding): Promise<void> {
    return this.#hand('keep', { blob, binding })
  }

  /** What tells one file from another, whatever it is called. */
  digest(file: string): Promise<{ digest: string; size: number }> {
    return this.#hand('digest', file)
  }

  /** A file behind its first lines, a batch whenever the next one is asked for. */
  async *load(
    { n }: RecordSource,
    file: FileToImport,
    now: () => number,
  ): AsyncGenerator<LoadedLines> {
    const id = ++this.#imports
    await this.#hand('begin', { id, source: n, ...file })
    try {
      for (let isEnd = false; !isEnd; ) {
        const loaded = await this.#hand('load', { id, now: now() })
        yield loaded
        isEnd = loaded.isEnd
      }
    } finally {
      // Where the thread has ended there is nothing to end, and why it has is being told.
      if (this.#worker) await this.#hand('end', id).catch(() => {})
    }
  }

  #hand<Name extends keyof Tasks>(
    name: Name,
    given: Tasks[Name]['given'],
  ): Promise<Tasks[Name]['result']> {
    return new Promise((resolve, reject) => {
      const worker = this.#open()
      worker.ref()
      worker.postMessage({ name, given } satisfies Task)
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
    if ('result' in result) waiting?.resolve(result.result as never)
    else {
      const Kind = result.isSetup ? SetupError : LedgerError
      waiting?.reject(new Kind(result.failure))
    }
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
  import.meta.url.endsWith('.ts')
    ? '../../../../dist/storage/records/writing/writer-thread.js'
    : './writer-thread.js',
  import.meta.url,
)
