import { createHash } from 'node:crypto'
import { SetupError } from '../../../capability/setup-error.ts'
import { type ExportPart, isOfOther } from '../../../sources/records/import/export-part.ts'
import { type Line, readChunks, readLines } from '../../../sources/records/import/read-lines.ts'
import { toCellOf } from '../../../sources/records/import/to-cell.ts'
import { type RecordEntry, toRecordEntry } from '../../../sources/records/import/to-entry.ts'
import {
  type TypeMismatch,
  TypeMismatches,
} from '../../../sources/records/import/type-mismatches.ts'
import type { RecordSource } from '../../../sources/records/model/stream.ts'
import type { RecordWriter } from './record-writer.ts'
import type { WrittenBatch } from './write-batch.ts'

/** What has become of the next lines of a file. */
export interface LoadedLines {
  readonly written: WrittenBatch
  readonly rejected: readonly Rejected[]
  /** Of all lines so far. */
  readonly misfits: readonly TypeMismatch[]
  /** Lines that were taken before, and are not looked at. */
  readonly skipped: number
  /** Lines that say that they are of another stream or connection. */
  readonly others: number
  /** How far it has come. */
  readonly lines: number
  readonly bytes: number
  readonly isEnd: boolean
}

export interface Rejected {
  readonly line: number
  readonly fault: string
  readonly text: string
}

export interface FileToImport {
  readonly file: string
  readonly digest: string
  /** Lines that were taken before. */
  readonly after: number
  /** What of it, where not all is meant. */
  readonly part?: ExportPart | undefined
}

/** Large enough that a commit is worth it, small enough that an interrupted one is no loss. */
const batchSize = 2000
const batchLength = 4 * 1024 * 1024

/** One file on its way into the store, batch by batch. */
export class FileImport {
  readonly #writer: RecordWriter
  readonly #source: number
  readonly #digest: string
  readonly #after: number
  readonly #part: ExportPart | undefined
  readonly #lines: Generator<Line>
  readonly #misfits = new TypeMismatches()
  #reached: number

  constructor(
    writer: RecordWriter,
    { n, stream }: RecordSource,
    { file, digest, after, part }: FileToImport,
  ) {
    this.#writer = writer
    this.#source = n
    this.#digest = digest
    this.#after = after
    this.#part = part
    this.#reached = after
    this.#lines = readLines(file, toCellOf(stream), after)
  }

  /** One transaction: the next batch and how far the file has come with it, or neither. */
  next(now: number): LoadedLines {
    const source = this.#writer.find(this.#source)
    const at = new Date(now).toISOString()
    const entries: RecordEntry[] = []
    const rejected: Rejected[] = []
    let [skipped, others, length, bytes] = [0, 0, 0, 0]
    let isEnd = false
    while (entries.length < batchSize && length < batchLength) {
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
      this.#reached = line.number
      if (this.#part && isOfOther(this.#part, line.value)) {
        others += 1
        continue
      }
      length += line.text?.length ?? 0
      const entry = line.fault ?? toRecordEntry(source.stream, line.value, at)
      if (typeof entry === 'string') rejected.push(toRejected(line, entry))
      else {
        entries.push(entry)
        this.#misfits.add(entry, line.number)
      }
    }
    const written = this.#writer.write(source, entries, {
      file: this.#digest,
      lines: this.#reached,
    })
    const misfits = this.#misfits.list(source.stream)
    return { written, rejected, misfits, skipped, others, lines: this.#reached, bytes, isEnd }
  }

  /** Where it has not come to its end. */
  close(): void {
    this.#lines.return(undefined)
  }
}

const toRejected = ({ number, text, value }: Line, fault: string): Rejected => ({
  line: number,
  fault,
  text: text ?? JSON.stringify(value),
})

/** What tells one file from another, whatever it is called. */
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
