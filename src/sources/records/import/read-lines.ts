import { isUtf8 } from 'node:buffer'
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import path from 'node:path'
import { isPlainObject } from '../../../capability/json.ts'
import { SetupError } from '../../../capability/setup-error.ts'
import { type CsvRow, CsvRows, findSeparator } from './csv-rows.ts'

/** One record of a file, or what is wrong with it; numbered as an editor does. */
export interface Line {
  readonly number: number
  /** As it was written; in an array nobody knows. */
  readonly text?: string
  readonly value?: unknown
  readonly fault?: string
  /** How much of the file is read. */
  readonly bytes: number
}

/** A value of a table has no type of its own: text, which the stream's fields say more about. */
export type ParseCell = (name: string, text: string) => unknown

/**
 * NDJSON, a JSON array, or a table with a header: by the name of the file. It waits for the disk, so it is
 * for threads and processes that have nothing else to do. Lines up to `after` are counted, not read.
 */
export function* readLines(file: string, toCell: ParseCell, after = 0): Generator<Line> {
  if (isTable(file)) yield* readCsv(file, toCell)
  else if (toKind(file) === '.json') yield* readJson(file, after)
  else yield* readNdjson(file, after)
}

/** Whether it has cells, which are text whatever they mean. */
export const isTable = (file: string): boolean => ['.csv', '.tsv'].includes(toKind(file))

const toKind = (file: string): string => path.extname(file).toLowerCase()

/** Piece by piece. The bytes are good until the next piece. */
export function* readChunks(file: string): Generator<Buffer> {
  const handle = openSync(file, 'r')
  try {
    const buffer = Buffer.allocUnsafe(chunkSize)
    for (let length = -1; length !== 0; ) {
      length = readSync(handle, buffer, 0, chunkSize, null)
      if (length > 0) yield buffer.subarray(0, length)
    }
  } finally {
    closeSync(handle)
  }
}

const chunkSize = 1024 * 1024
const longestLine = 16 * 1024 * 1024
const tooLong = 'it is longer than 16 MB'
/** Of a line that is too long, this much is set aside. */
const shownOfTooLong = 1000
/** What does not stand for a character is read as this one. */
const unreadable = '\ufffd'
const notUtf8 = 'it is not UTF-8, so some of its characters cannot be read: save the file as UTF-8'
const lineFeed = 10

/** Only a line feed ends a line: others that look like an end may stand in a text of JSON. */
function* readNdjson(file: string, after: number): Generator<Line> {
  let [number, bytes, rest] = [0, 0, Buffer.alloc(0)]
  for (const chunk of withLastEnd(readChunks(file))) {
    bytes += chunk.length
    const end = chunk.lastIndexOf(lineFeed)
    if (end === -1) {
      if (rest.length <= longestLine) rest = Buffer.concat([rest, chunk])
      continue
    }
    let isTooLong = rest.length + chunk.indexOf(lineFeed) > longestLine
    const lines = Buffer.concat([rest, chunk.subarray(0, end)])
    const isText = isUtf8(lines)
    const whole = lines.toString()
    rest = Buffer.from(chunk.subarray(end + 1))
    for (const line of (number === 0 ? whole.replace(/^\ufeff/, '') : whole).split('\n')) {
      number += 1
      if (isTooLong) yield { number, bytes, text: line.slice(0, shownOfTooLong), fault: tooLong }
      else if (!isText && line.includes(unreadable))
        yield { number, bytes, text: line, fault: notUtf8 }
      else if (line.trim() !== '') yield toJsonLine(number, bytes, line, number > after)
      // Only the first one began in a piece before this.
      isTooLong = false
    }
  }
}

function toJsonLine(number: number, bytes: number, line: string, isRead: boolean): Line {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  if (!isRead) return { number, bytes, text }
  try {
    return { number, bytes, text, value: JSON.parse(text) }
  } catch (error) {
    return { number, bytes, text, fault: `it is no JSON: ${(error as Error).message}` }
  }
}

/** Also where no line feed follows the last line. */
function* withLastEnd(chunks: Iterable<Buffer>): Generator<Buffer> {
  yield* chunks
  yield Buffer.of(lineFeed)
}

/** An array is parsed as a whole, and no text is longer than that. */
const largestArray = 500 * 1024 * 1024

function* readJson(file: string, after: number): Generator<Line> {
  const { size, isArray } = lookAt(file)
  if (size > largestArray) {
    if (!isArray) return yield* readNdjson(file, after)
    throw new SetupError(
      `${file} is larger than 500 MB, too large for one JSON array. Write it as NDJSON: one record in each line.`,
    )
  }
  const content = readFileSync(file)
  const text = content.toString().replace(/^\ufeff/, '')
  const values = parse(text)
  if (!Array.isArray(values)) {
    if (text.trimStart().startsWith('[')) throw new SetupError(`${file} is no JSON array`)
    if (isPlainObject(values) && text.trim().includes('\n')) throw toWrapped(file, values)
    // Many call a file of lines `.json`.
    return yield* readNdjson(file, after)
  }
  if (!isUtf8(content))
    throw new SetupError(
      `${file} is not UTF-8, so some of its characters cannot be read. Save it as UTF-8.`,
    )
  for (const [index, value] of values.entries())
    yield { number: index + 1, value, bytes: Math.round((size * (index + 1)) / values.length) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Line by line it would be a pile of faults, and none of them says what it is. */
function toWrapped(file: string, values: Readonly<Record<string, unknown>>): SetupError {
  const [name] = Object.entries(values).find(([, value]) => Array.isArray(value)) ?? []
  const where =
    name === undefined
      ? ''
      : ` Its ${JSON.stringify(name)} is one: write that to a file of its own.`
  return new SetupError(`${file} is one JSON object, not an array of records.${where}`)
}

function lookAt(file: string): { size: number; isArray: boolean } {
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const beginning = Buffer.alloc(1024)
    const length = readSync(handle, beginning, 0, beginning.length, 0)
    return { size, isArray: beginning.toString('utf8', 0, length).trimStart().startsWith('[') }
  } finally {
    closeSync(handle)
  }
}

/** A row as a record: by the names in the first one. */
function* readCsv(file: string, toCell: ParseCell): Generator<Line> {
  let names: readonly string[] | undefined
  for (const { rows, bytes } of readRows(file))
    for (const row of rows)
      if (names) yield { ...toLine(names, row, toCell), bytes }
      else names = toNames(file, row)
}

function toNames(file: string, { cells, fault }: CsvRow): readonly string[] {
  if (fault !== undefined) throw new SetupError(`${file} has no header that can be read: ${fault}`)
  const twice = cells.find((name, at) => name !== '' && cells.indexOf(name) !== at)
  if (twice !== undefined)
    throw new SetupError(
      `${file} has two columns that are called ${JSON.stringify(twice)}. Give one of them another name.`,
    )
  return cells
}

function* readRows(
  file: string,
): Generator<{ readonly rows: readonly CsvRow[]; readonly bytes: number }> {
  const decoder = new TextDecoder()
  const strict = new TextDecoder('utf-8', { fatal: true })
  let [bytes, isText] = [0, true]
  let table: CsvRows | undefined
  const toReadable = (rows: readonly CsvRow[]) =>
    isText ? rows : rows.map((row) => (row.text.includes(unreadable) ? toUnreadable(row) : row))
  for (const chunk of readChunks(file)) {
    bytes += chunk.length
    isText &&= canDecode(strict, chunk)
    const text = decoder.decode(chunk, { stream: true })
    table ??= new CsvRows(longestLine, findSeparator(text))
    yield { rows: toReadable(table.take(text)), bytes }
  }
  const rest = decoder.decode()
  isText &&= rest === ''
  if (table) yield { rows: toReadable([...table.take(rest), ...table.end()]), bytes }
}

const toUnreadable = (row: CsvRow): CsvRow => ({ ...row, fault: row.fault ?? notUtf8 })

function canDecode(strict: InstanceType<typeof TextDecoder>, chunk: Buffer): boolean {
  try {
    strict.decode(chunk, { stream: true })
    return true
  } catch {
    return false
  }
}

function toLine(
  names: readonly string[],
  { number, text, cells, fault }: CsvRow,
  toCell: ParseCell,
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
