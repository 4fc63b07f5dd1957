/** A value in a JSON text with comments and trailing commas, and its place there. */
export interface JsoncNode {
  readonly start: number
  readonly end: number
  readonly value: unknown
  /** The members of an object, in the order of the text. */
  readonly members?: readonly JsoncMember[]
}

export interface JsoncMember {
  readonly key: string
  /** Start of the key. */
  readonly start: number
  readonly node: JsoncNode
  /** End of the comma after the value, if there is one. */
  readonly commaEnd: number | undefined
}

/** Parses JSON as editors write it. Throws a `SyntaxError` with line and column. */
export function parseJsonc(text: string): JsoncNode {
  const reader = new JsoncReader(text)
  const node = reader.value(0)
  reader.end()
  return node
}

const bom = '\uFEFF'
const trivia = /(?:[ \t\r\n]|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/y
const scalar = /"(?:[^"\\\n\r]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y
const maxDepth = 200

class JsoncReader {
  readonly #text: string
  #position: number

  constructor(text: string) {
    this.#text = text
    this.#position = text.startsWith(bom) ? 1 : 0
    this.#skipTrivia()
  }

  value(depth: number): JsoncNode {
    if (depth > maxDepth) throw this.#fault('too many nested values')
    const next = this.#text[this.#position]
    return next === '{' ? this.#object(depth) : next === '[' ? this.#array(depth) : this.#scalar()
  }

  end(): void {
    this.#skipTrivia()
    if (this.#position < this.#text.length) throw this.#fault('unexpected text after the value')
  }

  #object(depth: number): JsoncNode {
    const start = this.#position
    const members: JsoncMember[] = []
    this.#skip('{')
    while (!this.#skip('}')) {
      if (members.length > 0 && members.at(-1)?.commaEnd === undefined)
        throw this.#fault('expected a comma or }')
      const key = this.#scalar()
      if (typeof key.value !== 'string') throw this.#fault('expected a key in quotes')
      this.#skipTrivia()
      if (!this.#skip(':')) throw this.#fault('expected a colon')
      const node = this.value(depth + 1)
      members.push({ key: key.value, start: key.start, node, commaEnd: this.#commaEnd() })
    }
    const value = Object.fromEntries(members.map(({ key, node }) => [key, node.value]))
    return { start, end: this.#lastEnd, value, members }
  }

  #array(depth: number): JsoncNode {
    const start = this.#position
    const items: unknown[] = []
    let needsComma = false
    this.#skip('[')
    while (!this.#skip(']')) {
      if (needsComma) throw this.#fault('expected a comma or ]')
      items.push(this.value(depth + 1).value)
      needsComma = this.#commaEnd() === undefined
    }
    return { start, end: this.#lastEnd, value: items }
  }

  #scalar(): JsoncNode {
    const start = this.#position
    scalar.lastIndex = start
    const [token] = scalar.exec(this.#text) ?? []
    if (token === undefined) throw this.#fault('expected a value')
    try {
      const value: unknown = JSON.parse(token)
      this.#position += token.length
      return { start, end: this.#position, value }
    } catch {
      throw this.#fault(`invalid value ${token.slice(0, 20)}`)
    }
  }

  #commaEnd(): number | undefined {
    this.#skipTrivia()
    return this.#skip(',') ? this.#lastEnd : undefined
  }

  /** End of the last punctuation mark; the position itself is after the comments that follow. */
  #lastEnd = 0

  #skip(mark: string): boolean {
    if (this.#text[this.#position] !== mark) return false
    this.#position += 1
    this.#lastEnd = this.#position
    this.#skipTrivia()
    return true
  }

  #skipTrivia(): void {
    trivia.lastIndex = this.#position
    this.#position += trivia.exec(this.#text)?.[0].length ?? 0
  }

  #fault(problem: string): SyntaxError {
    const lines = this.#text.slice(0, this.#position).split('\n')
    return new SyntaxError(
      `${problem} in line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`,
    )
  }
}
