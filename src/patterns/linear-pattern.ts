import { Automaton } from './automaton.ts'
import { type PatternNode, parsePattern, UnsupportedPattern } from './parse-pattern.ts'
import { type Program, toProgram } from './program.ts'
import { toUnicodePattern } from './to-unicode-pattern.ts'
import type { Sliced, WorkLimit } from './work-limit.ts'

/** A regular expression whose matching time is linear in the length of the text. */
export interface LinearPattern {
  test(text: string, limit: WorkLimit): boolean
  testInSlices(text: string, limit: WorkLimit): Sliced<boolean>
}

/**
 * Compiles an ECMA-262 pattern with the `u` flag, as JSON Schema requires. Throws a SyntaxError for
 * invalid patterns, and UnsupportedPattern for those that no automaton can match.
 */
export function toLinearPattern(source: string): LinearPattern {
  const parts = toParts(source).map(({ program, negative }) => ({
    automaton: new Automaton(program),
    negative,
  }))
  return {
    test: (text, limit) =>
      parts.every(({ automaton, negative }) => automaton.test(text, limit) !== negative),
    *testInSlices(text, limit) {
      for (const { automaton, negative } of parts)
        if ((yield* automaton.testInSlices(text, limit)) === negative) return false
      return true
    },
  }
}

/** Why the pattern cannot be served, if so: the end of a sentence about it. */
export function findPatternFault(source: string): string | undefined {
  try {
    toParts(source)
    return undefined
  } catch (error) {
    return error instanceof UnsupportedPattern
      ? `${error.message}, which cannot be matched in linear time`
      : (findSyntaxFault(toUnicodePattern(source)) ?? 'is not a valid regular expression')
  }
}

/** Why the pattern is not valid with the `u` flag, if so: the end of a sentence about it. */
export function findSyntaxFault(source: string): string | undefined {
  const fault = tryCompile(source, 'u')
  if (fault === undefined) return undefined
  const faultWithoutFlag = tryCompile(source, '')
  return faultWithoutFlag === undefined
    ? `is not valid in Unicode mode, in which JSON Schema reads it: ${fault}`
    : `is not a valid regular expression: ${faultWithoutFlag}`
}

/** V8's message without the pattern. */
function tryCompile(source: string, flags: string): string | undefined {
  try {
    new RegExp(source, flags)
    return undefined
  } catch (error) {
    return (error as Error).message.split(': ').at(-1)
  }
}

interface Part {
  readonly program: Program
  /** The text must not match. */
  readonly negative: boolean
}

function toParts(original: string): readonly Part[] {
  const source = toUnicodePattern(original)
  new RegExp(source, 'u')
  return splitLookaheads(parsePattern(source)).map(({ node, negative }) => ({
    program: toProgram(node),
    negative,
  }))
}

interface Condition {
  readonly node: PatternNode
  readonly negative: boolean
}

/** `^(?=A)(?!B)C` matches what `^A` and `^C` match and `^B` does not: three linear tests. */
function splitLookaheads(root: PatternNode): readonly Condition[] {
  const [start, ...others] = root.kind === 'sequence' ? root.nodes : [root]
  if (start?.kind !== 'assertion' || start.source !== '^') return [{ node: root, negative: false }]
  const conditions: Condition[] = []
  for (let first = others[0]; first?.kind === 'lookahead'; first = others[0]) {
    conditions.push({ node: toSequence(start, first.node), negative: first.negative })
    others.shift()
  }
  return [...conditions, { node: toSequence(start, ...others), negative: false }]
}

const toSequence = (...nodes: readonly PatternNode[]): PatternNode => ({ kind: 'sequence', nodes })
