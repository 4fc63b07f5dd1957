/** A CSV row, numbered by the line it starts on. */
export interface CsvRow {
  readonly number: number
  /** The row as written in the file. */
  readonly text: string
  readonly cells: readonly string[]
  readonly fault: string | undefined
}

/** Parser state within a cell. */
type State = 'start' | 'bare' | 'quoted' | 'after quote'

const isLineEnd = (token: string): boolean => token === '\n' || token === '\r\n' || token === '\r'

/** Semicolons are used in locales with a decimal comma; tabs come from spreadsheets. */
const tokens = {
  ',': /\r\n|[",\r\n]|[^",\r\n]+/g,
  ';': /\r\n|[";\r\n]|[^";\r\n]+/g,
  '\t': /\r\n|["\t\r\n]|[^"\t\r\n]+/g,
}

export type Separator = keyof typeof tokens

/** The first of comma, semicolon and tab that occurs in the header line. */
export function findSeparator(text: string): Separator {
  const header = text.replace(/"[^"]*"/g, '').split(/[\r\n]/, 1)[0] ?? ''
  return ([',', ';', '\t'] as const).find((one) => header.includes(one)) ?? ','
}

/** Streaming RFC 4180 parser: scans each character once; a quote is special only at the start of a cell. */
export class CsvRows {
  readonly #maxLength: number
  readonly #separator: Separator
  #rows: CsvRow[] = []
  #state: State = 'start'
  #cells: string[] = []
  #cell = ''
  #text = ''
  #fault: string | undefined
  #line = 1
  #firstLine = 1
  /** Line of the last opening quote. */
  #quoteLine = 1
  #pendingReturn = ''

  constructor(maxLength: number, separator: Separator) {
    this.#maxLength = maxLength
    this.#separator = separator
  }

  /** Parses a chunk and returns the rows that end in it. */
  parse(chunk: string): readonly CsvRow[] {
    const text = this.#pendingReturn + chunk
    // Hold back a trailing CR: its LF may come with the next chunk.
    this.#pendingReturn = text.endsWith('\r') ? '\r' : ''
    this.#read(this.#pendingReturn === '' ? text : text.slice(0, -1))
    return this.#takeRows()
  }

  /** Returns the last row, which may lack a line ending. */
  end(): readonly CsvRow[] {
    this.#read(this.#pendingReturn)
    if (this.#state === 'quoted')
      this.#fault ??= `the quote opened in line ${this.#quoteLine} is never closed: this row includes everything up to the end of the file, line ${this.#lastLine}`
    this.#endRow()
    return this.#takeRows()
  }

  get #lastLine(): number {
    return /[\r\n]$/.test(this.#text) ? this.#line - 1 : this.#line
  }

  #takeRows(): readonly CsvRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  #read(text: string): void {
    for (const token of text.match(tokens[this.#separator]) ?? []) this.#step(token)
  }

  #step(token: string): void {
    if (isLineEnd(token)) this.#line += 1
    if (this.#state === 'quoted') this.#stepQuoted(token)
    else if (isLineEnd(token)) return this.#endRow()
    else if (token === this.#separator) this.#endCell()
    else this.#stepUnquoted(token)
    this.#keep(token)
  }

  #stepQuoted(token: string): void {
    if (token === '"') this.#state = 'after quote'
    else this.#cell += token
  }

  #stepUnquoted(token: string): void {
    const isQuote = token === '"'
    if (isQuote && this.#state === 'start') {
      this.#state = 'quoted'
      this.#quoteLine = this.#line
      return
    }
    if (this.#state === 'after quote' && !isQuote)
      this.#fault ??= 'there is text after the closing quote of a cell'
    this.#state = this.#state === 'after quote' && isQuote ? 'quoted' : 'bare'
    this.#cell += token
  }

  #keep(token: string): void {
    if (this.#text.length <= this.#maxLength) this.#text += token
    if (this.#text.length <= this.#maxLength) return
    this.#fault =
      this.#state === 'quoted'
        ? `the row is too long: the quote opened in line ${this.#quoteLine} is not closed`
        : 'the row is too long'
    // Recover at the next line: treat it as a new row.
    this.#state = 'bare'
    this.#cells = []
    this.#cell = ''
  }

  #endCell(): void {
    this.#cells.push(this.#cell)
    this.#cell = ''
    this.#state = 'start'
  }

  #endRow(): void {
    this.#endCell()
    if (this.#text.trim() !== '')
      this.#rows.push({
        number: this.#firstLine,
        text: this.#text,
        cells: this.#cells,
        fault: this.#fault,
      })
    this.#cells = []
    this.#text = ''
    this.#fault = undefined
    this.#firstLine = this.#line
  }
}
