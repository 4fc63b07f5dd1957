import { writeFile } from 'node:fs/promises'
import { SetupError } from '../capability/setup-error.ts'
import type { RecordSource, Stream } from '../sources/records/model.ts'
import { type Entry, toEntry } from '../sources/records/to-entry.ts'
import type { RecordWriter, Written } from '../storage/record-writer.ts'
import { digestFile, readLines } from './read-lines.ts'

export interface ImportOptions {
  readonly writer: RecordWriter
  readonly source: RecordSource
  readonly file: string
  readonly now: () => number
  readonly onProgress: (share: number, lines: number) => void
  readonly onRejected: (line: number, fault: string) => void
}

export interface Imported extends Written {
  readonly rejected: number
  /** Where the lines lie that could not be taken. */
  readonly aside?: string
  /** Lines of the same file that an earlier import had taken already. */
  readonly skipped: number
}

/** Small enough that nobody waits for a turn, large enough that a commit is worth it. */
const batchSize = 200

/** Batch by batch: what is acknowledged is in the store, and a second run goes on behind it. */
export async function importRecords(options: ImportOptions): Promise<Imported> {
  const { writer, source, file, now, onProgress, onRejected } = options
  const { digest, size } = await digestFile(file).catch((error: Error) => {
    throw new SetupError(`${file} cannot be read: ${error.message}`)
  })
  const done = writer.linesOf(source, digest)
  const totals = { added: 0, changed: 0, removed: 0, same: 0, rejected: 0, skipped: 0 }
  const rejected: string[] = []
  let batch: Entry[] = []
  let reached = done
  const flush = async (bytes: number) => {
    const written = writer.write(source, batch, { file: digest, lines: reached })
    for (const key of ['added', 'changed', 'removed', 'same'] as const) totals[key] += written[key]
    batch = []
    onProgress(size === 0 ? 1 : bytes / size, reached)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const toCell = toCellOf(source.stream)
  for await (const { number, text, value, fault, bytes } of readLines(file, toCell)) {
    if (number <= done) {
      totals.skipped += 1
      continue
    }
    const entry = fault ?? toEntry(source.stream, value, new Date(now()).toISOString())
    reached = number
    if (typeof entry === 'string') {
      onRejected(number, entry)
      rejected.push(text)
    } else batch.push(entry)
    if (batch.length >= batchSize) await flush(bytes)
  }
  await flush(size)
  if (rejected.length === 0) return totals
  const aside = `${file}.rejected`
  await writeFile(aside, `${rejected.join('\n')}\n`)
  return { ...totals, rejected: rejected.length, aside }
}

/** What a cell of a table means is said by its field. */
function toCellOf({ fields }: Stream): (name: string, text: string) => unknown {
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  return (name, text) => {
    switch (types.get(name)) {
      case 'number':
      case 'integer':
        return Number.isNaN(Number(text)) ? text : Number(text)
      case 'boolean':
        return text === 'true' ? true : text === 'false' ? false : text
      default:
        return text
    }
  }
}
