import { appendFile, writeFile } from 'node:fs/promises'
import { SetupError } from '../capability/setup-error.ts'
import type { RecordSource, Stream } from '../sources/records/model.ts'
import type { BackgroundWriter } from '../storage/background-writer.ts'
import type { RecordWriter } from '../storage/record-writer.ts'
import type { Written } from '../storage/write-batch.ts'
import { digestFile, type JsonLine, readJsonLines } from './read-lines.ts'

export interface ImportOptions {
  readonly writer: Pick<RecordWriter, 'linesOf'>
  readonly background: BackgroundWriter
  readonly source: RecordSource
  readonly file: string
  /** From its first line, whatever an earlier import has taken. */
  readonly again?: boolean | undefined
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

/** Large enough that a commit is worth it, small enough that an interrupted one is no loss. */
const batchSize = 2000
const linesAtOnce = 500

/** Batch by batch: what is acknowledged is in the store, and a second run goes on behind it. */
export async function importRecords(options: ImportOptions): Promise<Imported> {
  const { writer, background, source, file, again, now, onProgress, onRejected } = options
  const { digest, size } = await digestFile(file).catch((error: Error) => {
    throw new SetupError(`${file} cannot be read: ${error.message}`)
  })
  const done = again ? 0 : writer.linesOf(source, digest)
  const totals = { added: 0, changed: 0, removed: 0, same: 0, rejected: 0, skipped: 0 }
  const aside = `${file}.rejected`
  let rejected: string[] = []
  const reject = ({ number, text }: JsonLine, fault: string) => {
    onRejected(number, fault)
    rejected.push(text)
    totals.rejected += 1
  }
  // A second run goes on behind what the first one has set aside.
  let put = done > 0 ? appendFile : writeFile
  const setAside = async () => {
    if (rejected.length === 0) return
    const text = `${rejected.join('\n')}\n`
    rejected = []
    await put(aside, text)
    put = appendFile
  }
  let batch: JsonLine[] = []
  let reached = done
  let writing: Promise<void> | undefined
  /** The next batch is read while the last one is written. */
  const flush = async (bytes: number) => {
    const [lines, place] = [batch, { file: digest, lines: reached }]
    batch = []
    await writing
    const text = lines.map(({ json }) => json).join('\n')
    writing = background
      .load(source, text, { now: now(), place })
      .then(async ({ written, faults }) => {
        for (const key of ['added', 'changed', 'removed', 'same'] as const)
          totals[key] += written[key]
        for (const [index, fault] of faults) {
          const line = lines[index]
          if (line) reject(line, fault)
        }
        await setAside()
        onProgress(size === 0 ? 1 : bytes / size, place.lines)
      })
    // Whoever waits for it is told; it must not go unheard until then.
    writing.catch(() => {})
  }
  for await (const lines of readJsonLines(file, toCellOf(source.stream)))
    for (const line of lines) {
      const { number, bytes, fault } = line
      if (number <= done) {
        totals.skipped += 1
        continue
      }
      reached = number
      if (fault !== undefined) reject(line, fault)
      else batch.push(line)
      if (batch.length >= batchSize) await flush(bytes)
      // Lines that are here already come one after the other, and let nobody in between.
      if (number % linesAtOnce === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  await flush(size)
  await writing
  return totals.rejected === 0 ? totals : { ...totals, aside }
}

/** What a cell of a table means is said by its field. */
function toCellOf({ fields }: Stream): (name: string, text: string) => unknown {
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  return (name, text) => {
    switch (types.get(name)) {
      case 'number':
      case 'integer':
        return toNumber(text) ?? text
      case 'boolean':
        return text === 'true' ? true : text === 'false' ? false : text
      default:
        return text
    }
  }
}

/** Of what JSON would call one; anything else stays the text it is. */
function toNumber(text: string): number | undefined {
  if (!/^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}
