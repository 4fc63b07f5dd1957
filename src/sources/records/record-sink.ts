import type { Connection, RecordSource, Stream } from './model/stream.ts'
import type { RecordContent } from './model/to-content.ts'
import type { BlobBinding, StoredBlob } from './record-store.ts'

/** The write port for the owner's records. */
export interface RecordSink {
  readonly sources: readonly RecordSource[]
  readonly streams: readonly Stream[]
  open(stream: Stream, connection: Connection): Promise<RecordSource>
  /** Atomic and durable: resolves when the batch is on disk. */
  write(source: RecordSource, entries: readonly RecordEntry[]): Promise<WrittenBatch>
  storeBlob(blob: StoredBlob, binding: BlobBinding): Promise<void>
}

/** A validated record, ready to be written. */
export interface RecordEntry {
  readonly key: string
  readonly emittedAt: string
  /** `undefined` for a deletion. */
  readonly content?: RecordContent
}

/** Counts of the records of one batch. */
export interface WrittenBatch {
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly same: number
}

/** How much of a file is imported with a batch. */
export interface ImportProgress {
  /** The digest of the file, so that an interrupted import can be resumed under any file name. */
  readonly file: string
  readonly lines: number
}
