import type { Program } from './program.ts'
import type { Sliced, WorkLimit } from './work-limit.ts'

/**
 * Matches with a lazily built deterministic automaton (Thompson's simulation with cached states, as
 * RE2 does). The time is linear in the length of the text; `limit` stops or interrupts a long match.
 */
export class Automaton {
  readonly #program: Program
  readonly #classes: readonly RegExp[]
  readonly #usesWords: boolean
  readonly #isAnchored: boolean
  readonly #marks: Uint32Array
  #generation = 0
  readonly #symbols = new Map<string, SymbolClass>()
  readonly #asciiSymbols: (SymbolClass | undefined)[] = new Array(128).fill(undefined)
  readonly #otherSymbols = new Map<number, SymbolClass>()
  readonly #states = new Map<string, State>()
  #cachedTargets = 0
  #start: State

  constructor(program: Program) {
    this.#program = program
    // V8 interprets single characters, so that classes have exactly their ECMA-262 meaning.
    this.#classes = program.classes.map((source) => new RegExp(`^(?:${source})$`, 'u'))
    this.#usesWords = program.operations.some((one) => one === '\\b' || one === '\\B')
    this.#marks = new Uint32Array(program.operations.length)
    this.#isAnchored = contexts.every((next) =>
      ([word, other] as const).every((previous) => {
        const { characters, matches } = this.#close([program.start], previous, next)
        return characters.length === 0 && !matches
      }),
    )
    this.#start = toState([program.start], edge)
  }

  /** True when the pattern matches anywhere in the text, as `RegExp.prototype.test`. */
  test(text: string, limit: WorkLimit): boolean {
    return this.#advance(text, { state: this.#start, at: 0, canPause: false }, limit) === true
  }

  /** The same, with pauses. */
  *testInSlices(text: string, limit: WorkLimit): Sliced<boolean> {
    const position = { state: this.#start, at: 0, canPause: true }
    for (;;) {
      const result = this.#advance(text, position, limit)
      if (result !== undefined) return result
      yield
    }
  }

  /** Undefined when a pause is due: `position` then says where to continue. */
  #advance(text: string, position: Position, limit: WorkLimit): boolean | undefined {
    let { state } = position
    let steps = 0
    for (let { at } = position; at < text.length; at++) {
      if ((steps++ & 0xfff) === 0) limit.spend(0x400)
      if (limit.isPauseDue && position.canPause) {
        position.state = state
        position.at = at
        return undefined
      }
      let codePoint = text.charCodeAt(at)
      let next = codePoint < 128 ? state.ascii[codePoint] : undefined
      if (next === undefined) {
        if (codePoint >= 0xd800 && codePoint < 0xdc00) {
          codePoint = text.codePointAt(at) as number
          if (codePoint > 0xffff) at++
        }
        next = this.#find(state, codePoint, limit)
      }
      if (next === matched) return true
      if (next === dead) return false
      state = next
    }
    state.matchesAtEnd ??= this.#close(state.targets, state.previous, edge).matches
    return state.matchesAtEnd
  }

  #find(state: State, codePoint: number, limit: WorkLimit): State {
    const symbol =
      (codePoint < 128 ? this.#asciiSymbols[codePoint] : this.#otherSymbols.get(codePoint)) ??
      this.#toSymbol(codePoint, limit)
    const next = state.bySymbol[symbol.index] ?? this.#step(state, symbol, limit)
    state.bySymbol[symbol.index] = next
    if (codePoint < 128 && ++state.lookups > 8) {
      if (state.ascii === noTransitions) state.ascii = new Array(128).fill(undefined)
      state.ascii[codePoint] = next
    }
    return next
  }

  #step(state: State, symbol: SymbolClass, limit: WorkLimit): State {
    const { operations, next, argument, start } = this.#program
    const { characters, matches, visits } = this.#close(
      state.targets,
      state.previous,
      symbol.context,
    )
    limit.spend(8 + 4 * visits)
    if (matches) return matched
    const generation = ++this.#generation
    const targets: number[] = []
    const add = (instruction: number): void => {
      if (this.#marks[instruction] === generation) return
      this.#marks[instruction] = generation
      targets.push(instruction)
    }
    for (const instruction of characters)
      if (
        operations[instruction] === 'character' &&
        symbol.accepts[argument[instruction] as number]
      )
        add(next[instruction] as number)
    if (!this.#isAnchored) add(start)
    targets.sort((a, b) => a - b)
    return this.#cache(targets, this.#usesWords ? symbol.context : other)
  }

  /** Follows the instructions that consume nothing. */
  #close(targets: readonly number[], previous: Context, following: Context): Closure {
    const { operations, next, argument } = this.#program
    const generation = ++this.#generation
    const characters: number[] = []
    const stack = [...targets]
    let matches = false
    let visits = 0
    for (let one = stack.pop(); one !== undefined; one = stack.pop()) {
      if (this.#marks[one] === generation) continue
      this.#marks[one] = generation
      visits++
      const operation = operations[one]
      if (operation === 'character') characters.push(one)
      else if (operation === 'match') matches = true
      else if (operation === 'split') stack.push(argument[one] as number, next[one] as number)
      else if (holds[operation as keyof typeof holds](previous, following))
        stack.push(next[one] as number)
    }
    return { characters, matches, visits }
  }

  #cache(targets: readonly number[], previous: Context): State {
    if (targets.length === 0) return dead
    const key = `${previous}${targets.join()}`
    const cached = this.#states.get(key)
    if (cached) return cached
    this.#cachedTargets += targets.length + 32
    if (this.#cachedTargets > maxCachedTargets) {
      this.#states.clear()
      this.#cachedTargets = 0
      this.#start = toState([this.#program.start], edge)
    }
    const state = toState(targets, previous)
    this.#states.set(key, state)
    return state
  }

  /** Code points that no class distinguishes share one column of the transition table. */
  #toSymbol(codePoint: number, limit: WorkLimit): SymbolClass {
    const character = String.fromCodePoint(codePoint)
    const context = /\w/.test(character) ? word : other
    const accepts = this.#classes.map((one) => one.test(character))
    limit.spend(8 * accepts.length)
    const signature = `${this.#usesWords ? context : ''}${accepts.map(Number).join('')}`
    let symbol = this.#symbols.get(signature)
    if (!symbol) {
      symbol = { index: this.#symbols.size, accepts, context }
      this.#symbols.set(signature, symbol)
    }
    if (codePoint < 128) this.#asciiSymbols[codePoint] = symbol
    else {
      if (this.#otherSymbols.size >= maxCachedSymbols) this.#otherSymbols.clear()
      this.#otherSymbols.set(codePoint, symbol)
    }
    return symbol
  }
}

/** How far a match has come. */
interface Position {
  readonly canPause: boolean
  state: State
  at: number
}

/** A set of instructions and what preceded them: determines the rest of the match. */
interface State {
  readonly targets: readonly number[]
  readonly previous: Context
  /** The transitions by the index of the symbol, filled at first use. */
  readonly bySymbol: (State | undefined)[]
  /** The same by ASCII character, for states that are visited often. */
  ascii: (State | undefined)[]
  lookups: number
  matchesAtEnd: boolean | undefined
}

interface SymbolClass {
  readonly index: number
  /** By the index of the character class. */
  readonly accepts: readonly boolean[]
  readonly context: Context
}

interface Closure {
  readonly characters: readonly number[]
  readonly matches: boolean
  /** The number of instructions that were followed. */
  readonly visits: number
}

/** A neighbour of a position in the text: the end of the text, a word character, or another one. */
type Context = 0 | 1 | 2
const edge = 0
const word = 1
const other = 2
const contexts = [edge, word, other] as const

const holds = {
  '^': (previous: Context, _: Context) => previous === edge,
  $: (_: Context, next: Context) => next === edge,
  '\\b': (previous: Context, next: Context) => (previous === word) !== (next === word),
  '\\B': (previous: Context, next: Context) => (previous === word) === (next === word),
}

const noTransitions: (State | undefined)[] = []

const toState = (targets: readonly number[], previous: Context): State => ({
  targets,
  previous,
  bySymbol: [],
  ascii: noTransitions,
  lookups: 0,
  matchesAtEnd: undefined,
})

const matched = toState([], edge)
const dead = toState([], edge)

/** Bound the memory of one pattern to a few hundred kilobytes. */
const maxCachedTargets = 50_000
const maxCachedSymbols = 4096
