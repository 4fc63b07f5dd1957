import { decodeTexts } from './column.ts'
import type { Dictionary, Texts } from './column-scan.ts'
import type { ColumnField, Values } from './packed-columns.ts'

/** A column in memory. */
export type LoadedColumn = Float64Array | Texts

/** Thrown when columns cannot answer a query; the records are counted row by row then. */
export class ColumnUnavailable extends Error {}

const maxCachedBytes = 64 * 1024 * 1024
/** Codes are uint16, and 0 is a missing value. */
const maxTextsPerField = 65_535
const maxCachedTexts = 500_000

/** Decoded columns; the oldest are evicted first (FIFO). */
export class ColumnCache {
  readonly #columns = new Map<string, LoadedColumn>()
  readonly #dictionaries = new Map<string, Dictionary>()
  /** Fields with more distinct texts than there are codes. */
  readonly #overflowingFields = new Set<string>()
  #bytes = 0
  #texts = 0

  has(key: string): boolean {
    return this.#columns.has(key)
  }

  get(key: string): LoadedColumn {
    const column = this.#columns.get(key)
    if (!column) throw new ColumnUnavailable()
    return column
  }

  set(key: string, column: LoadedColumn): void {
    this.#columns.set(key, column)
    this.#bytes += sizeOf(column)
  }

  /** Called before a query, so that no column that the query uses is evicted. */
  evict(): void {
    for (const [key, column] of this.#columns) {
      if (this.#bytes <= maxCachedBytes) return
      this.#columns.delete(key)
      this.#bytes -= sizeOf(column)
    }
  }

  get isFull(): boolean {
    return this.#texts > maxCachedTexts
  }

  /** Throws for fields that overflowed before, instead of reading them in vain. */
  checkCapacity(n: number, fields: readonly ColumnField[]): void {
    if (fields.some((field) => this.#overflowingFields.has(`${n} ${field.n}`)))
      throw new ColumnUnavailable()
  }

  clear(): void {
    this.#columns.clear()
    this.#overflowingFields.clear()
    this.#dictionaries.clear()
    this.#bytes = 0
    this.#texts = 0
  }

  decode(n: number, { n: field, type }: ColumnField, bytes: ArrayBuffer): LoadedColumn {
    if (bytes.byteLength === 0) throw new ColumnUnavailable()
    if (type !== 'string') return new Float64Array(bytes)
    const { codes, texts } = decodeTexts(bytes)
    const { codes: sourceCodes, dictionary } = this.#toTexts(n, field, [null, ...texts])
    return { codes: codes.map((code) => sourceCodes[code] ?? 0), dictionary }
  }

  fromValues(n: number, { n: field, type }: ColumnField, values: Values): LoadedColumn {
    return type === 'string'
      ? this.#toTexts(n, field, values as (string | null)[])
      : Float64Array.from(values, (value) => Number(value ?? Number.NaN))
  }

  /** Encodes with one dictionary per field of a source, so that codes are comparable across segments. */
  #toTexts(n: number, field: number, values: readonly (string | null)[]): Texts {
    const key = `${n} ${field}`
    const cached: Dictionary | undefined = this.#dictionaries.get(key)
    const dictionary: Dictionary = cached ?? { codes: new Map(), texts: [] }
    this.#dictionaries.set(key, dictionary)
    const { codes: codeByText, texts } = dictionary
    const codes = Uint16Array.from(values, (value) => {
      if (value === null) return 0
      const code = codeByText.get(value)
      if (code !== undefined) return code
      if (texts.length >= maxTextsPerField) {
        this.#overflowingFields.add(key)
        throw new ColumnUnavailable()
      }
      this.#texts += 1
      codeByText.set(value, texts.push(value))
      return texts.length
    })
    return { codes, dictionary }
  }
}

const sizeOf = (column: LoadedColumn): number =>
  'codes' in column ? column.codes.byteLength : column.byteLength
