/** A row of a table, numbered by the line it begins in. */
export interface CsvRow {
  readonly number: number
  /** As it was written. */
  readonly text: string
  readonly cells: readonly string[]
  readonly fault?: string
}

/** Where in a cell the reading is. */
type Place = 'start' | 'bare' | 'quoted' | 'behind quote'

const isLineEnd = (token: string): boolean => token === '\n' || token === '\r\n' || token === '\r'

/** Where numbers are written with a comma, tables are not; a tab is what spreadsheets copy. */
const tokens = {
  ',': /\r\n|[",\r\n]|[^",\r\n]+/g,
  ';': /\r\n|[";\r\n]|[^";\r\n]+/g,
  '\t': /\r\n|["\t\r\n]|[^"\t\r\n]+/g,
}

export type Separator = keyof typeof tokens

/** A comma, unless the names in the first line have only another one between them. */
export function findSeparator(beginning: string): Separator {
  const names = beginning.replace(/"[^"]*"/g, '').split(/[\r\n]/, 1)[0] ?? ''
  return ([',', ';', '\t'] as const).find((one) => names.includes(one)) ?? ','
}

/** RFC 4180, piece by piece: each character is looked at once, and a quote opens only a cell. */
export class CsvRows {
  readonly #longest: number
  readonly #separator: Separator
  #rows: CsvRow[] = []
  #place: Place = 'start'
  #cells: string[] = []
  #cell = ''
  #text = ''
  #fault: string | undefined
  #line = 1
  #firstLine = 1
  /** Where the last quote was opened. */
  #quoteLine = 1
  #heldBack = ''

  constructor(longest: number, separator: Separator) {
    this.#longest = longest
    this.#separator = separator
  }

  /** The rows that end in this piece. */
  take(piece: string): readonly CsvRow[] {
    const whole = this.#heldBack + piece
    // The line feed that belongs to it may come with the next piece.
    this.#heldBack = whole.endsWith('\r') ? '\r' : ''
    this.#read(this.#heldBack === '' ? whole : whole.slice(0, -1))
    return this.#handOver()
  }

  /** The last row, where no line end follows it. */
  end(): readonly CsvRow[] {
    this.#read(this.#heldBack)
    if (this.#place === 'quoted')
      this.#fault ??= `the quote opened in line ${this.#quoteLine} is never closed: everything from there to the end of the file, line ${this.#lastLine}, is in this row`
    this.#endRow()
    return this.#handOver()
  }

  get #lastLine(): number {
    return /[\r\n]$/.test(this.#text) ? this.#line - 1 : this.#line
  }

  #handOver(): readonly CsvRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  #read(text: string): void {
    for (const token of text.match(tokens[this.#separator]) ?? []) this.#step(token)
  }

  #step(token: string): void {
    if (isLineEnd(token)) this.#line += 1
    if (this.#place === 'quoted') this.#stepQuoted(token)
    else if (isLineEnd(token)) return this.#endRow()
    else if (token === this.#separator) this.#endCell()
    else this.#stepWithin(token)
    this.#keep(token)
  }

  #stepQuoted(token: string): void {
    if (token === '"') this.#place = 'behind quote'
    else this.#cell += token
  }

  #stepWithin(token: string): void {
    const isQuote = token === '"'
    if (isQuote && this.#place === 'start') {
      this.#place = 'quoted'
      this.#quoteLine = this.#line
      return
    }
    if (this.#place === 'behind quote' && !isQuote)
      this.#fault ??= 'something follows a quote that closes a cell'
    this.#place = this.#place === 'behind quote' && isQuote ? 'quoted' : 'bare'
    this.#cell += token
  }

  #keep(token: string): void {
    if (this.#text.length <= this.#longest) this.#text += token
    if (this.#text.length <= this.#longest) return
    this.#fault =
      this.#place === 'quoted'
        ? `it is too long: the quote opened in line ${this.#quoteLine} is not closed`
        : 'it is too long'
    // Whatever it was, the next line is a new row.
    this.#place = 'bare'
    this.#cells = []
    this.#cell = ''
  }

  #endCell(): void {
    this.#cells.push(this.#cell)
    this.#cell = ''
    this.#place = 'start'
  }

  #endRow(): void {
    this.#endCell()
    if (this.#text.trim() !== '')
      this.#rows.push({
        number: this.#firstLine,
        text: this.#text,
        cells: this.#cells,
        ...(this.#fault !== undefined && { fault: this.#fault }),
      })
    this.#cells = []
    this.#text = ''
    this.#fault = undefined
    this.#firstLine = this.#line
  }
}
