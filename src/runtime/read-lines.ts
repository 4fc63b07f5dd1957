import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../capability/setup-error.ts'
import { type CsvRow, CsvRows } from './csv-rows.ts'

/** One record of a file, or what is wrong with it; numbered as an editor does. */
export interface Line {
  readonly number: number
  readonly text: string
  readonly value?: unknown
  readonly fault?: string
  /** How much of the file is read. */
  readonly bytes: number
}

/** A value of a table has no type of its own: text, which the stream's fields say more about. */
export type Cell = (name: string, text: string) => unknown

/** NDJSON, a JSON array, or CSV with a header: by the name of the file. */
export async function* readLines(file: string, toCell: Cell): AsyncGenerator<Line> {
  const kind = path.extname(file).toLowerCase()
  if (kind === '.csv') yield* readCsv(file, toCell)
  else if (kind === '.json') yield* readJson(file)
  else yield* readNdjson(file)
}

export type JsonLine = Omit<Line, 'value'> & { readonly json: string }

/** The same, some at a time and as JSON text: lines that are JSON already are left for others to parse. */
export async function* readJsonLines(
  file: string,
  toCell: Cell,
): AsyncGenerator<readonly JsonLine[]> {
  if (!['.csv', '.json'].includes(path.extname(file).toLowerCase()))
    for await (const lines of readTexts(file))
      yield lines.map((line) => ({ ...line, json: line.text }))
  else
    for await (const { value, ...line } of readLines(file, toCell))
      yield [{ ...line, json: line.fault === undefined ? JSON.stringify(value) : line.text }]
}

async function* readNdjson(file: string): AsyncGenerator<Line> {
  for await (const lines of readTexts(file))
    for (const line of lines)
      yield line.fault === undefined ? { ...line, ...parse(line.text) } : line
}

const chunkSize = 256 * 1024
const longestLine = 16 * 1024 * 1024
const tooLong = 'it is longer than 16 MB'
/** Of a line that is too long, this much is set aside. */
const shownOfTooLong = 1000

/** Only a line feed ends a line: others that look like an end may stand in a text of JSON. */
async function* readTexts(file: string): AsyncGenerator<readonly Omit<Line, 'value'>[]> {
  let [number, bytes, rest] = [0, 0, '']
  const decoder = new TextDecoder()
  async function* chunks(): AsyncGenerator<string> {
    for await (const chunk of createReadStream(file, { highWaterMark: chunkSize })) {
      bytes += chunk.length
      yield decoder.decode(chunk, { stream: true })
    }
    yield `${decoder.decode()}\n`
  }
  for await (const chunk of chunks()) {
    if (!chunk.includes('\n')) {
      if (rest.length <= longestLine) rest += chunk
      continue
    }
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    const first = number + 1
    number += lines.length
    yield lines
      .map((line, at) => ({ number: first + at, bytes, ...toText(line) }))
      .filter(({ text }) => text.trim() !== '')
  }
}

function toText(line: string): Pick<Line, 'text' | 'fault'> {
  if (line.length > longestLine) return { text: line.slice(0, shownOfTooLong), fault: tooLong }
  return { text: line.endsWith('\r') ? line.slice(0, -1) : line }
}

function parse(text: string): { value: unknown } | { fault: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` }
  }
}

/** An array is parsed as a whole, and no text is longer than that. */
const largestArray = 500 * 1024 * 1024

async function* readJson(file: string): AsyncGenerator<Line> {
  const { size, isArray } = await lookAt(file)
  if (size > largestArray) {
    if (!isArray) return yield* readNdjson(file)
    throw new SetupError(
      `${file} is larger than 500 MB, too large for one JSON array. Write it as NDJSON: one record in each line.`,
    )
  }
  const text = await readFile(file, 'utf8')
  const whole = parse(text)
  if ('fault' in whole || !Array.isArray(whole.value)) {
    // Many call a file of lines `.json`.
    if (text.trimStart().startsWith('[')) throw new SetupError(`${file} is no JSON array`)
    return yield* readNdjson(file)
  }
  for (const [index, value] of whole.value.entries())
    yield {
      number: index + 1,
      text: JSON.stringify(value),
      value,
      bytes: Math.round((text.length * (index + 1)) / whole.value.length),
    }
}

async function lookAt(file: string): Promise<{ size: number; isArray: boolean }> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1024), 0, 1024, 0)
    const beginning = buffer.toString('utf8', 0, bytesRead)
    return { size, isArray: beginning.trimStart().startsWith('[') }
  } finally {
    await handle.close()
  }
}

/** A row as a record: by the names in the first one. */
async function* readCsv(file: string, toCell: Cell): AsyncGenerator<Line> {
  let names: readonly string[] | undefined
  for await (const { rows, bytes } of readRows(file))
    for (const row of rows)
      if (names) yield { ...toLine(names, row, toCell), bytes }
      else if (row.fault === undefined) names = row.cells
      else throw new SetupError(`${file} has no header that can be read: ${row.fault}`)
}

async function* readRows(
  file: string,
): AsyncGenerator<{ readonly rows: readonly CsvRow[]; readonly bytes: number }> {
  const table = new CsvRows(longestLine)
  const decoder = new TextDecoder()
  let bytes = 0
  for await (const chunk of createReadStream(file, { highWaterMark: chunkSize })) {
    bytes += chunk.length
    yield { rows: table.take(decoder.decode(chunk, { stream: true })), bytes }
  }
  yield { rows: table.take(decoder.decode()), bytes }
  yield { rows: table.end(), bytes }
}

function toLine(
  names: readonly string[],
  { number, text, cells, fault }: CsvRow,
  toCell: Cell,
): Omit<Line, 'bytes'> {
  if (fault !== undefined) return { number, text, fault }
  if (cells.length !== names.length)
    return { number, text, fault: `it has ${cells.length} cells, not ${names.length}` }
  // A column without a name, as of row numbers, is no field.
  const entries = cells.flatMap((cell, index): [string, unknown][] => {
    const name = names[index] ?? ''
    return cell === '' || name === '' ? [] : [[name, toCell(name, cell)]]
  })
  return { number, text, value: Object.fromEntries(entries) }
}

/** What tells one file from another, whatever it is called. */
export async function digestFile(file: string): Promise<{ digest: string; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(file)) {
    hash.update(chunk)
    size += chunk.length
  }
  return { digest: hash.digest('hex'), size }
}
