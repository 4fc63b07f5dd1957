import type { PatternNode } from './parse-pattern.ts'

/** Glushkov's construction: one position per character of the pattern, and which may follow which. */
export interface Positions {
  readonly follow: readonly (readonly number[])[]
  /** Edges that exist twice, as `from * count + to`: `(a+)+` repeats in two ways. */
  readonly twice: ReadonlySet<number>
  /** Positions after which the match can end. */
  readonly canEnd: ReadonlySet<number>
  /** True when one character can be at both positions. */
  overlap(a: number, b: number): boolean
}

interface Piece {
  readonly first: readonly number[]
  readonly last: readonly number[]
  readonly isNullable: boolean
}

/** Larger counts are treated as unbounded, so that the number of positions stays small. */
const maxUnrolled = 8
const maxPositions = 120

export function toPositions(root: PatternNode, flags: string): Positions {
  const classes: (string | undefined)[] = []
  const edges: [number, number][] = []

  const add = (source: string | undefined): Piece => {
    if (classes.length >= maxPositions) throw new Error('too large to decide')
    classes.push(source)
    const position = [classes.length - 1]
    return { first: position, last: position, isNullable: false }
  }
  const connect = (from: readonly number[], to: readonly number[]): void => {
    for (const a of from) for (const b of to) edges.push([a, b])
  }
  const join = (a: Piece, b: Piece): Piece => {
    connect(a.last, b.first)
    return {
      first: a.isNullable ? [...a.first, ...b.first] : a.first,
      last: b.isNullable ? [...a.last, ...b.last] : b.last,
      isNullable: a.isNullable && b.isNullable,
    }
  }
  const build = (node: PatternNode): Piece => {
    switch (node.kind) {
      case 'character':
        return add(node.source)
      case 'assertion':
        // Consumes nothing, but can fail: what precedes it is not the end of the match.
        return node.source === '^' ? empty : add(undefined)
      case 'sequence':
        return node.nodes.map(build).reduce(join, empty)
      case 'choice': {
        const pieces = node.nodes.map(build)
        return {
          first: pieces.flatMap(({ first }) => first),
          last: pieces.flatMap(({ last }) => last),
          isNullable: pieces.some(({ isNullable }) => isNullable),
        }
      }
      case 'repeat':
        return buildRepeat(node)
      case 'lookahead':
        return empty
    }
  }
  const buildRepeat = ({ node, min, max }: Extract<PatternNode, { kind: 'repeat' }>): Piece => {
    if (max > maxUnrolled) {
      const piece = build(node)
      if (max > min) connect(piece.last, piece.first)
      return min === 0 ? { ...piece, isNullable: true } : piece
    }
    let pieces = empty
    for (let copy = 0; copy < max; copy++) {
      const piece = build(node)
      pieces = join(pieces, copy < min ? piece : { ...piece, isNullable: true })
    }
    return pieces
  }

  const whole = build(root)
  const count = classes.length
  const keys = edges.map(([a, b]) => a * count + b)
  const unique = new Set(keys)
  const samples = classes.map((source) => source !== undefined && toSamples(source, flags))
  return {
    follow: classes.map((_, from) =>
      [...unique].filter((key) => Math.floor(key / count) === from).map((key) => key % count),
    ),
    twice: new Set(keys.filter((key, index) => keys.indexOf(key) !== index)),
    canEnd: new Set(whole.last),
    overlap: (a, b) => {
      const [left, right] = [samples[a], samples[b]]
      return Boolean(left && right && left.some((accepted, index) => accepted && right[index]))
    },
  }
}

const empty: Piece = { first: [], last: [], isNullable: true }

/** Two classes overlap when they accept one of these: ASCII, and some letters, marks and symbols. */
const sampleCharacters = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...'\u00a0éßıſÅСжα中あ한א०٣\u0301\u200d\u2028😀𝒜',
]

function toSamples(source: string, flags: string): readonly boolean[] {
  const pattern = new RegExp(`^(?:${source})$`, flags)
  return sampleCharacters.map((character) => pattern.test(character))
}
