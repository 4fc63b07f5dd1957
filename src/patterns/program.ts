import type { Assertion, PatternNode } from './parse-pattern.ts'
import { UnsupportedPattern } from './parse-pattern.ts'

/** Thompson's construction: instructions of a nondeterministic automaton, in four parallel arrays. */
export interface Program {
  readonly operations: readonly Operation[]
  /** The next instruction; for `split`, the first of two. */
  readonly next: readonly number[]
  /** The second target of a `split`, or the index of the character class of a `character`. */
  readonly argument: readonly number[]
  readonly start: number
  /** The source of each distinct character class. */
  readonly classes: readonly string[]
}

export type Operation = 'character' | 'split' | 'match' | Assertion

/** Bounds memory, and the time of one step; `{1,5000}` is within it. */
const maxInstructions = 12_000

export function toProgram(root: PatternNode): Program {
  const operations: Operation[] = []
  const next: number[] = []
  const argument: number[] = []
  const classIndexes = new Map<string, number>()

  const emit = (operation: Operation, target: number, value = 0): number => {
    if (operations.length >= maxInstructions)
      throw new UnsupportedPattern(
        `expands to more than ${maxInstructions} steps; use maxLength or maxItems for large counts`,
      )
    operations.push(operation)
    next.push(target)
    argument.push(value)
    return operations.length - 1
  }

  /** Compiles back to front: the instruction that follows is known. */
  const compile = (node: PatternNode, following: number): number => {
    switch (node.kind) {
      case 'character': {
        const index = classIndexes.get(node.source) ?? classIndexes.size
        classIndexes.set(node.source, index)
        return emit('character', following, index)
      }
      case 'assertion':
        return emit(node.source, following)
      case 'sequence':
        return node.nodes.reduceRight((target, part) => compile(part, target), following)
      case 'choice':
        return node.nodes
          .map((part) => compile(part, following))
          .reduceRight((second, first) => emit('split', first, second))
      case 'repeat':
        return compileRepeat(node, following)
      case 'lookahead':
        throw new UnsupportedPattern(
          'contains a lookahead that is not at its start, directly after ^',
        )
    }
  }

  const compileRepeat = (
    { node, min, max }: Extract<PatternNode, { kind: 'repeat' }>,
    following: number,
  ): number => {
    let target = following
    let copies = min
    if (max === Infinity) {
      const loop = emit('split', 0, following)
      const body = compile(node, loop)
      next[loop] = body
      target = min > 0 ? body : loop
      copies = Math.max(0, min - 1)
    } else {
      for (let count = min; count < max; count++)
        target = emit('split', compile(node, target), following)
    }
    for (let count = 0; count < copies; count++) {
      const before = operations.length
      target = compile(node, target)
      if (operations.length === before) break // An empty group: repeating it changes nothing.
    }
    return target
  }

  const start = compile(root, emit('match', 0))
  return { operations, next, argument, start, classes: [...classIndexes.keys()] }
}
