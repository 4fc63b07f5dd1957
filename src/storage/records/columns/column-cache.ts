import { decodeTexts } from './column.ts'
import type { Dictionary, Texts } from './column-scan.ts'
import type { ColumnField, Values } from './packed-columns.ts'

/** One field of some records, as it is counted. */
export type LoadedColumn = Float64Array | Texts

/** Something that is asked for is in no column. */
export class NoColumn extends Error {}

const mostBytes = 64 * 1024 * 1024
const mostTexts = 65_535
const mostKnownTexts = 500_000

/** Columns that were read, for the next who asks; the oldest go first. */
export class ColumnCache {
  readonly #columns = new Map<string, LoadedColumn>()
  readonly #dictionaries = new Map<string, Dictionary>()
  readonly #crowded = new Set<string>()
  #bytes = 0
  #texts = 0

  has(key: string): boolean {
    return this.#columns.has(key)
  }

  get(key: string): LoadedColumn {
    const column = this.#columns.get(key)
    if (!column) throw new NoColumn()
    return column
  }

  keep(key: string, column: LoadedColumn): void {
    this.#columns.set(key, column)
    this.#bytes += sizeOf(column)
  }

  /** Before anything is looked up, so that nothing goes that was found a moment ago. */
  makeRoom(): void {
    for (const [key, column] of this.#columns) {
      if (this.#bytes <= mostBytes) return
      this.#columns.delete(key)
      this.#bytes -= sizeOf(column)
    }
  }

  get isFull(): boolean {
    return this.#texts > mostKnownTexts
  }

  /** A field that has more texts than there are numbers for: there is no use in reading more of it. */
  checkRoom(n: number, fields: readonly ColumnField[]): void {
    if (fields.some((field) => this.#crowded.has(`${n} ${field.n}`))) throw new NoColumn()
  }

  forget(): void {
    this.#columns.clear()
    this.#crowded.clear()
    this.#dictionaries.clear()
    this.#bytes = 0
    this.#texts = 0
  }

  decode(n: number, { n: field, type }: ColumnField, bytes: ArrayBuffer): LoadedColumn {
    if (bytes.byteLength === 0) throw new NoColumn()
    if (type !== 'string') return new Float64Array(bytes)
    const { codes, texts } = decodeTexts(bytes)
    const { codes: numbers, dictionary } = this.#toTexts(n, field, [null, ...texts])
    return { codes: codes.map((code) => numbers[code] ?? 0), dictionary }
  }

  fromValues(n: number, { n: field, type }: ColumnField, values: Values): LoadedColumn {
    return type === 'string'
      ? this.#toTexts(n, field, values as (string | null)[])
      : Float64Array.from(values, (value) => Number(value ?? Number.NaN))
  }

  /** The same text has the same number in the whole source. */
  #toTexts(n: number, field: number, values: readonly (string | null)[]): Texts {
    const name = `${n} ${field}`
    const known: Dictionary | undefined = this.#dictionaries.get(name)
    const dictionary: Dictionary = known ?? { numbers: new Map(), texts: [] }
    this.#dictionaries.set(name, dictionary)
    const { numbers, texts } = dictionary
    const codes = Uint16Array.from(values, (value) => {
      if (value === null) return 0
      const known = numbers.get(value)
      if (known !== undefined) return known
      if (texts.length >= mostTexts) {
        this.#crowded.add(name)
        throw new NoColumn()
      }
      this.#texts += 1
      numbers.set(value, texts.push(value))
      return texts.length
    })
    return { codes, dictionary }
  }
}

const sizeOf = (column: LoadedColumn): number =>
  'codes' in column ? column.codes.byteLength : column.byteLength
