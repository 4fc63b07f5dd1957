/** A regular expression as a tree. Single characters stay source text: V8 interprets these. */
export type PatternNode =
  | { readonly kind: 'character'; readonly source: string }
  | { readonly kind: 'assertion'; readonly source: Assertion }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly nodes: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly node: PatternNode
      readonly min: number
      readonly max: number
    }
  | { readonly kind: 'lookahead'; readonly node: PatternNode; readonly negative: boolean }

export type Assertion = '^' | '$' | '\\b' | '\\B'

/** A construct that no automaton can match, such as a backreference. */
export class UnsupportedPattern extends Error {}

/** Parses the ECMA-262 syntax of a pattern that `new RegExp` has already accepted. */
export function parsePattern(source: string): PatternNode {
  const parser = new Parser(source)
  return parser.parseChoice()
}

class Parser {
  readonly #source: string
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  parseChoice(): PatternNode {
    if (++this.#depth > maxDepth)
      throw new UnsupportedPattern(`nests groups deeper than ${maxDepth}`)
    const nodes = [this.#parseSequence()]
    while (this.#take('|')) nodes.push(this.#parseSequence())
    this.#depth--
    return nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'choice', nodes }
  }

  #parseSequence(): PatternNode {
    const nodes: PatternNode[] = []
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] as string))
      nodes.push(this.#parseQuantifiers(this.#parseAtom()))
    return nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'sequence', nodes }
  }

  #parseQuantifiers(node: PatternNode): PatternNode {
    const [text, sign, min, comma, max] = this.#match(quantifier) ?? []
    if (text === undefined) return node
    const lower = sign === undefined ? Number(min) : sign === '+' ? 1 : 0
    const upper = sign === undefined ? toUpper(lower, comma, max) : sign === '?' ? 1 : Infinity
    return { kind: 'repeat', node, min: lower, max: upper }
  }

  #parseAtom(): PatternNode {
    if (this.#take('(')) return this.#parseGroup()
    const assertion = this.#match(/\^|\$|\\[bB]/y)
    if (assertion) return { kind: 'assertion', source: assertion[0] as Assertion }
    if (this.#match(/\\(?:[1-9]|k<)/y)) throw new UnsupportedPattern('contains a backreference')
    const [text = ''] = this.#match(character) ?? []
    return { kind: 'character', source: text }
  }

  #parseGroup(): PatternNode {
    const [prefix = ''] = this.#match(/\?(?:[:=!]|<[=!]|<[^>]*>)/y) ?? []
    if (prefix === '' && this.#source[this.#at] === '?')
      throw new UnsupportedPattern('contains a group with modifiers')
    if (prefix === '?<=' || prefix === '?<!') throw new UnsupportedPattern('contains a lookbehind')
    const node = this.parseChoice()
    this.#take(')')
    return prefix === '?=' || prefix === '?!'
      ? { kind: 'lookahead', node, negative: prefix === '?!' }
      : node
  }

  #take(text: string): boolean {
    const isNext = this.#source.startsWith(text, this.#at)
    if (isNext) this.#at += text.length
    return isNext
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (match) this.#at = pattern.lastIndex
    return match
  }
}

const maxDepth = 200

const quantifier = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y

const toUpper = (lower: number, comma: string | undefined, max: string | undefined): number =>
  comma === '' ? lower : max === '' ? Infinity : Number(max)

/** One character: a class, an escape (a surrogate pair is one character), or itself. */
const character =
  /\[(?:[^\]\\]|\\.)*\]|\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)|./suy
