import { isUtf8 } from 'node:buffer'
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import path from 'node:path'
import type { Fault } from '../../../capability/fault.ts'
import { SetupError } from '../../../capability/setup-error.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { type CsvRow, CsvRows, findSeparator } from './csv-rows.ts'

/** One record of a file, or the fault of its line. */
export type Line = ParsedLine | FaultyLine

interface FileLine {
  /** Counted from 1, as in an editor. */
  readonly number: number
  /** The line as written; absent for elements of a JSON array. */
  readonly text?: string
  /** Bytes of the file read so far, for progress. */
  readonly bytes: number
}

interface ParsedLine extends FileLine {
  readonly value?: unknown
}

interface FaultyLine extends FileLine, Fault {
  readonly value?: undefined
}

/** The line as written, or the JSON of an array element. */
export const toLineText = ({ text, value }: Line): string => text ?? JSON.stringify(value)

/** Converts a CSV cell, which is untyped text, by its column. */
export type ParseCell = (name: string, text: string) => unknown

/**
 * Reads NDJSON, a JSON array, or CSV/TSV with a header, by file extension. Uses synchronous I/O: only
 * for worker threads and command-line processes. Lines up to `after` are counted, but not parsed.
 */
export function* readLines(file: string, toCell: ParseCell, after = 0): Generator<Line> {
  if (isTable(file)) yield* readCsv(file, toCell)
  else if (toExtension(file) === '.json') yield* readJson(file, after)
  else yield* readNdjson(file, after)
}

/** CSV or TSV, by file extension. */
export const isTable = (file: string): boolean => ['.csv', '.tsv'].includes(toExtension(file))

const toExtension = (file: string): string => path.extname(file).toLowerCase()

/** The buffer is reused: a chunk is valid only until the next one. */
export function* readChunks(file: string): Generator<Buffer> {
  const handle = openSync(file, 'r')
  try {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    for (let length = -1; length !== 0; ) {
      length = readSync(handle, buffer, 0, chunkBytes, null)
      if (length > 0) yield buffer.subarray(0, length)
    }
  } finally {
    closeSync(handle)
  }
}

const chunkBytes = 1024 * 1024
const maxLineBytes = 16 * 1024 * 1024
const tooLong = 'the line is longer than 16 MB'
/** Characters kept of a line that is too long. */
const keptOfTooLong = 1000
/** U+FFFD, the replacement character for invalid UTF-8. */
const replacement = '\ufffd'
const notUtf8 = 'the line is not valid UTF-8: save the file as UTF-8'
const lineFeed = 10

/** Splits at LF only: U+2028 and other line separators are legal inside JSON strings. */
function* readNdjson(file: string, after: number): Generator<Line> {
  let [number, bytes, rest] = [0, 0, Buffer.alloc(0)]
  for (const chunk of withFinalLineFeed(readChunks(file))) {
    bytes += chunk.length
    const end = chunk.lastIndexOf(lineFeed)
    if (end === -1) {
      if (rest.length <= maxLineBytes) rest = Buffer.concat([rest, chunk])
      continue
    }
    let isTooLong = rest.length + chunk.indexOf(lineFeed) > maxLineBytes
    const lines = Buffer.concat([rest, chunk.subarray(0, end)])
    const isText = isUtf8(lines)
    const text = lines.toString()
    rest = Buffer.from(chunk.subarray(end + 1))
    for (const line of (number === 0 ? text.replace(/^\ufeff/, '') : text).split('\n')) {
      number += 1
      if (isTooLong) yield { number, bytes, text: line.slice(0, keptOfTooLong), fault: tooLong }
      else if (!isText && line.includes(replacement))
        yield { number, bytes, text: line, fault: notUtf8 }
      else if (line.trim() !== '') yield toJsonLine(number, bytes, line, number > after)
      // Only the first line of a chunk can continue from earlier chunks.
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
    return { number, bytes, text, fault: `not valid JSON: ${(error as Error).message}` }
  }
}

/** Terminates the last line, which may lack a line feed. */
function* withFinalLineFeed(chunks: Iterable<Buffer>): Generator<Buffer> {
  yield* chunks
  yield Buffer.of(lineFeed)
}

/** A JSON array is parsed at once; V8 strings cannot be much longer than this. */
const maxArrayBytes = 500 * 1024 * 1024

function* readJson(file: string, after: number): Generator<Line> {
  const { size, isArray } = inspect(file)
  if (size > maxArrayBytes) {
    if (!isArray) return yield* readNdjson(file, after)
    throw new SetupError(
      `${file} is larger than 500 MB, too large for one JSON array. Write it as NDJSON: one record in each line.`,
    )
  }
  const content = readFileSync(file)
  const text = content.toString().replace(/^\ufeff/, '')
  const values = parseJson(text)
  if (!Array.isArray(values)) {
    if (text.trimStart().startsWith('[')) throw new SetupError(`${file} is not a valid JSON array`)
    if (isPlainObject(values) && text.trim().includes('\n')) throw toWrappedError(file, values)
    // NDJSON files are often named `.json`.
    return yield* readNdjson(file, after)
  }
  if (!isUtf8(content)) throw new SetupError(`${file} is not valid UTF-8. Save it as UTF-8.`)
  for (const [index, value] of values.entries())
    yield { number: index + 1, value, bytes: Math.round((size * (index + 1)) / values.length) }
}

/** One clear error: read line by line, a pretty-printed object would give a fault per line. */
function toWrappedError(file: string, values: Readonly<Record<string, unknown>>): SetupError {
  const [name] = Object.entries(values).find(([, value]) => Array.isArray(value)) ?? []
  const hint =
    name === undefined
      ? ''
      : ` Its property ${JSON.stringify(name)} is an array: save that as a separate file.`
  return new SetupError(`${file} is one JSON object, not an array of records.${hint}`)
}

function inspect(file: string): { size: number; isArray: boolean } {
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const start = Buffer.alloc(1024)
    const length = readSync(handle, start, 0, start.length, 0)
    return { size, isArray: start.toString('utf8', 0, length).trimStart().startsWith('[') }
  } finally {
    closeSync(handle)
  }
}

/** Turns rows into records with the names of the header row. */
function* readCsv(file: string, toCell: ParseCell): Generator<Line> {
  let names: readonly string[] | undefined
  for (const { rows, bytes } of readRows(file))
    for (const row of rows)
      if (names) yield toLine(names, row, toCell, bytes)
      else names = toNames(file, row)
}

function toNames(file: string, { cells, fault }: CsvRow): readonly string[] {
  if (fault !== undefined) throw new SetupError(`${file} has no readable header row: ${fault}`)
  const duplicate = cells.find((name, at) => name !== '' && cells.indexOf(name) !== at)
  if (duplicate !== undefined)
    throw new SetupError(
      `${file} has two columns named ${JSON.stringify(duplicate)}. Rename one of them.`,
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
  const markInvalid = (rows: readonly CsvRow[]) =>
    isText ? rows : rows.map((row) => (row.text.includes(replacement) ? withUtf8Fault(row) : row))
  for (const chunk of readChunks(file)) {
    bytes += chunk.length
    isText &&= canDecode(strict, chunk)
    const text = decoder.decode(chunk, { stream: true })
    table ??= new CsvRows(maxLineBytes, findSeparator(text))
    yield { rows: markInvalid(table.parse(text)), bytes }
  }
  const rest = decoder.decode()
  isText &&= rest === ''
  if (table) yield { rows: markInvalid([...table.parse(rest), ...table.end()]), bytes }
}

const withUtf8Fault = (row: CsvRow): CsvRow => ({ ...row, fault: row.fault ?? notUtf8 })

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
  bytes: number,
): Line {
  if (fault !== undefined) return { number, bytes, text, fault }
  if (cells.length !== names.length)
    return {
      number,
      bytes,
      text,
      fault: `the row has ${cells.length} cells, but the header has ${names.length}`,
    }
  // Columns without a name, such as row numbers, are skipped.
  const entries = cells.flatMap((cell, index): [string, unknown][] => {
    const name = names[index] ?? ''
    return cell === '' || name === '' ? [] : [[name, toCell(name, cell)]]
  })
  return { number, bytes, text, value: Object.fromEntries(entries) }
}
