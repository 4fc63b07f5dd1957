import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Fault, isFault } from '../../capability/fault.ts'
import { SetupError } from '../../capability/setup-error.ts'
import { StorageError } from '../../capability/storage-error.ts'
import type { FileToImport, LoadedLines } from '../../sources/records/import/file-import.ts'
import type { Connection, RecordSource, Stream } from '../../sources/records/model/stream.ts'
import type { RecordEntry, WrittenBatch } from '../../sources/records/record-sink.ts'
import type { BlobBinding, StoredBlob } from '../../sources/records/record-store.ts'
import { toLayout } from '../../storage/records/writing/fit-entries.ts'

/** The tasks of the writer thread, each with its input and its result. */
export interface Tasks {
  readonly write: TaskType<
    { source: number; entries: readonly RecordEntry[]; layout: string },
    WrittenBatch
  >
  readonly open: TaskType<{ stream: Stream; connection: Connection }, RecordSource>
  readonly storeBlob: TaskType<{ blob: StoredBlob; binding: BlobBinding }, void>
  readonly digest: TaskType<string, { digest: string; size: number }>
  readonly begin: TaskType<FileToImport & { id: number; source: number }, void>
  readonly load: TaskType<{ id: number; now: number }, LoadedLines>
  readonly end: TaskType<number, void>
}

interface TaskType<Input, Result> {
  readonly input: Input
  readonly result: Result
}

export interface Task {
  readonly name: keyof Tasks
  readonly input: unknown
}

/** An error is sent as its message: structured clone would lose its class. */
export type TaskResult = { readonly result: unknown } | (Fault & { readonly isSetup: boolean })

interface PendingTask {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/**
 * Writes records and reads import files on a worker thread, so that the event loop of the server never waits
 * for an index, the disk or the write lock.
 */
export class BackgroundWriter {
  readonly #file: string
  /** First in, first out: the thread answers in the order of the messages. */
  readonly #pending: PendingTask[] = []
  #worker: Worker | undefined
  #imports = 0

  constructor(file: string) {
    this.#file = file
  }

  /** One transaction: the whole batch or nothing. */
  write({ n, stream }: RecordSource, entries: readonly RecordEntry[]): Promise<WrittenBatch> {
    return this.#send('write', { source: n, entries, layout: toLayout(stream) })
  }

  open(stream: Stream, connection: Connection): Promise<RecordSource> {
    return this.#send('open', { stream, connection })
  }

  storeBlob(blob: StoredBlob, binding: BlobBinding): Promise<void> {
    return this.#send('storeBlob', { blob, binding })
  }

  /** Identifies a file by its content: the same under any name. */
  digest(file: string): Promise<{ digest: string; size: number }> {
    return this.#send('digest', file)
  }

  /** Imports a file; each step of the generator writes one batch. */
  async *load(
    { n }: RecordSource,
    file: FileToImport,
    now: () => number,
  ): AsyncGenerator<LoadedLines> {
    const id = ++this.#imports
    await this.#send('begin', { id, source: n, ...file })
    try {
      for (let isEnd = false; !isEnd; ) {
        const batch = await this.#send('load', { id, now: now() })
        yield batch
        isEnd = batch.isEnd
      }
    } finally {
      // If the thread has ended, so has the import, and its tasks were rejected with the reason.
      if (this.#worker) await this.#send('end', id).catch(() => {})
    }
  }

  #send<Name extends keyof Tasks>(
    name: Name,
    input: Tasks[Name]['input'],
  ): Promise<Tasks[Name]['result']> {
    return new Promise((resolve, reject) => {
      const worker = this.#openWorker()
      worker.ref()
      worker.postMessage({ name, input } satisfies Task)
      this.#pending.push({ resolve, reject })
    })
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    const exit = once(worker, 'exit')
    worker.ref()
    worker.postMessage(undefined)
    await exit
  }

  #openWorker(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(thread, { workerData: this.#file })
    worker
      .on('message', (result: TaskResult) => this.#settle(worker, result))
      .on('error', (error: Error) => this.#fail(worker, error))
      .on('exit', () => this.#fail(worker, new StorageError('The record writer thread has ended.')))
    this.#worker = worker
    return worker
  }

  #settle(worker: Worker, result: TaskResult): void {
    if (worker !== this.#worker) return
    const task = this.#pending.shift()
    if (this.#pending.length === 0) worker.unref()
    if (isFault(result)) {
      const ErrorClass = result.isSetup ? SetupError : StorageError
      task?.reject(new ErrorClass(result.fault))
    } else task?.resolve(result.result as never)
  }

  /** Rejects all pending tasks. The next task starts a new thread; late events of this one are ignored. */
  #fail(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    for (const { reject } of this.#pending.splice(0)) reject(error)
  }
}

/** Worker threads always run the build output, even when the rest runs from TypeScript sources. */
const thread = new URL(
  import.meta.url.endsWith('.ts')
    ? '../../../dist/runtime/records/writer-thread.js'
    : './writer-thread.js',
  import.meta.url,
)
