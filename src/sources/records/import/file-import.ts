import { createHash } from 'node:crypto'
import { type Fault, isFault } from '../../../capability/fault.ts'
import { SetupError } from '../../../capability/setup-error.ts'
import type { RecordSource } from '../model/stream.ts'
import type { ImportProgress, RecordEntry, WrittenBatch } from '../record-sink.ts'
import { belongsToOtherPart, type ExportPart } from './export-part.ts'
import { type Line, readChunks, readLines, toLineText } from './read-lines.ts'
import { createCellParser } from './to-cell.ts'
import { toRecordEntry } from './to-entry.ts'
import { type TypeMismatch, TypeMismatches } from './type-mismatches.ts'

/** The owner's view of a store, as far as imports need it. */
export interface ImportStore {
  /** The source with its present declaration. */
  find(n: number): RecordSource
  /** One transaction: the whole batch and the progress of its file, or neither. */
  write(
    source: RecordSource,
    entries: readonly RecordEntry[],
    progress: ImportProgress,
  ): WrittenBatch
}

/** The result of importing the next lines of a file. */
export interface LoadedLines {
  readonly counts: WrittenBatch
  readonly rejected: readonly RejectedLine[]
  /** Over all lines so far. */
  readonly mismatches: readonly TypeMismatch[]
  /** Lines that an earlier import of this file wrote. */
  readonly skipped: number
  /** Lines of another stream or connection. */
  readonly others: number
  /** The number of the last line read. */
  readonly lines: number
  readonly bytes: number
  readonly isEnd: boolean
}

export interface RejectedLine extends Fault {
  readonly line: number
  readonly text: string
}

export interface FileToImport {
  readonly file: string
  readonly digest: string
  /** Lines that an earlier import of this file wrote. */
  readonly after: number
  /** Restricts the import to one stream and connection of an export. */
  readonly part?: ExportPart | undefined
}

/** A batch is one commit: large enough to pay for it, small enough to lose little when interrupted. */
const maxBatchEntries = 2000
/** UTF-16 code units of the lines of a batch. */
const maxBatchLength = 4 * 1024 * 1024

/** The import of one file, batch by batch. */
export class FileImport {
  readonly #store: ImportStore
  readonly #source: number
  readonly #digest: string
  readonly #after: number
  readonly #part: ExportPart | undefined
  readonly #lines: Generator<Line>
  readonly #mismatches = new TypeMismatches()
  #lastLine: number

  constructor(
    store: ImportStore,
    { n, stream }: RecordSource,
    { file, digest, after, part }: FileToImport,
  ) {
    this.#store = store
    this.#source = n
    this.#digest = digest
    this.#after = after
    this.#part = part
    this.#lastLine = after
    this.#lines = readLines(file, createCellParser(stream), after)
  }

  /** One transaction: the next batch, and the line up to which the file is imported. */
  next(now: number): LoadedLines {
    const source = this.#store.find(this.#source)
    const at = new Date(now).toISOString()
    const entries: RecordEntry[] = []
    const rejected: RejectedLine[] = []
    let [skipped, others, length, bytes] = [0, 0, 0, 0]
    let isEnd = false
    while (entries.length < maxBatchEntries && length < maxBatchLength) {
      const { value: line, done } = this.#lines.next()
      if (done) {
        isEnd = true
        break
      }
      bytes = line.bytes
      if (line.number <= this.#after) {
        skipped += 1
        continue
      }
      this.#lastLine = line.number
      if (this.#part && belongsToOtherPart(this.#part, line.value)) {
        others += 1
        continue
      }
      length += line.text?.length ?? 0
      const entry = isFault(line) ? line : toRecordEntry(source.stream, line.value, at)
      if (isFault(entry))
        rejected.push({ line: line.number, fault: entry.fault, text: toLineText(line) })
      else {
        entries.push(entry)
        this.#mismatches.add(entry, line.number)
      }
    }
    const counts = this.#store.write(source, entries, {
      file: this.#digest,
      lines: this.#lastLine,
    })
    const mismatches = this.#mismatches.list(source.stream)
    return { counts, rejected, mismatches, skipped, others, lines: this.#lastLine, bytes, isEnd }
  }

  /** Closes the file if it was not read to its end. */
  close(): void {
    this.#lines.return(undefined)
  }
}

/** Identifies a file by its content: the same under any name. */
export function digestFile(file: string): { digest: string; size: number } {
  const hash = createHash('sha256')
  let size = 0
  try {
    for (const chunk of readChunks(file)) {
      hash.update(chunk)
      size += chunk.length
    }
  } catch (error) {
    throw new SetupError(`${file} cannot be read: ${(error as Error).message}`)
  }
  return { digest: hash.digest('hex'), size }
}
