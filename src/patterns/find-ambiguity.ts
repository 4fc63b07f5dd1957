import { type PatternNode, parsePattern } from './parse-pattern.ts'
import { type Positions, toPositions } from './positions.ts'

/** How the time of a backtracking engine can grow with the length of the text. */
export type Growth = 'exponential' | 'polynomial'

/**
 * Finds regular expressions on which V8 can take very long (ReDoS): those in which one text can pass
 * through the same loop, or through several loops, in more than one way. Undefined for patterns that
 * are safe, or too large to decide.
 */
export function findAmbiguity({ source, flags }: RegExp): Growth | undefined {
  try {
    const root = parsePattern(source)
    const classFlags = flags.replace(/[gymd]/g, '')
    const growths = [
      toGrowth(toPositions(isAnchored(root) ? root : withAnyStart(root), classFlags)),
      ...listLookaheads(root).map((node) => toGrowth(toPositions(node, classFlags))),
    ]
    return growths.find((one) => one === 'exponential') ?? growths.find((one) => one !== undefined)
  } catch {
    return undefined
  }
}

/** The engine tries every start: the same as a loop over any characters before the pattern. */
const withAnyStart = (root: PatternNode): PatternNode => {
  const any: PatternNode = { kind: 'character', source: '[^]' }
  return { kind: 'sequence', nodes: [{ kind: 'repeat', node: any, min: 0, max: Infinity }, root] }
}

function isAnchored(node: PatternNode): boolean {
  switch (node.kind) {
    case 'assertion':
      return node.source === '^'
    case 'sequence':
      return node.nodes[0] !== undefined && isAnchored(node.nodes[0])
    case 'choice':
      return node.nodes.every(isAnchored)
    case 'character':
    case 'repeat':
    case 'lookahead':
      return false
  }
}

function listLookaheads(node: PatternNode): readonly PatternNode[] {
  switch (node.kind) {
    case 'sequence':
    case 'choice':
      return node.nodes.flatMap(listLookaheads)
    case 'repeat':
      return listLookaheads(node.node)
    case 'lookahead':
      return [node.node, ...listLookaheads(node.node)]
    case 'character':
    case 'assertion':
      return []
  }
}

function toGrowth(positions: Positions): Growth | undefined {
  const { follow, twice, canEnd } = positions
  const count = follow.length
  const reach = follow.map((_, from) => reachable([from], (one) => follow[one] ?? []))
  // A loop that can end the match at once never backtracks.
  const inLoop = follow.flatMap((_, one) => (reach[one]?.has(one) && !canEnd.has(one) ? [one] : []))
  const isTwice = inLoop.some((from) =>
    (follow[from] ?? []).some((to) => twice.has(from * count + to) && reach[to]?.has(from)),
  )
  if (isTwice || inLoop.some((one) => hasTwoPaths(positions, one))) return 'exponential'
  const isPolynomial = inLoop.some((first) =>
    inLoop.some(
      (second) =>
        first !== second && reach[first]?.has(second) && sharesText(positions, first, second),
    ),
  )
  return isPolynomial ? 'polynomial' : undefined
}

/** True when some text leads from a position back to itself in two ways (EDA). */
function hasTwoPaths({ follow, overlap }: Positions, start: number): boolean {
  const count = follow.length
  const next = (pair: number): number[] =>
    (follow[Math.floor(pair / count)] ?? []).flatMap((a) =>
      (follow[pair % count] ?? []).flatMap((b) => (overlap(a, b) ? [a * count + b] : [])),
    )
  const home = start * count + start
  const pairs = reachable([home], next)
  return [...pairs].some(
    (pair) => Math.floor(pair / count) !== pair % count && reachable([pair], next, home).has(home),
  )
}

/** True when some text loops at `first`, leads from `first` to `second`, and loops there (IDA). */
function sharesText({ follow, overlap }: Positions, first: number, second: number): boolean {
  const count = follow.length
  const toKey = (a: number, b: number, c: number): number => (a * count + b) * count + c
  const goal = toKey(first, second, second)
  const next = (key: number): number[] => {
    const [a, b, c] = [
      Math.floor(key / count / count),
      Math.floor(key / count) % count,
      key % count,
    ]
    const steps: number[] = []
    for (const nextA of follow[a] ?? [])
      for (const nextB of follow[b] ?? [])
        if (overlap(nextA, nextB))
          for (const nextC of follow[c] ?? [])
            if (overlap(nextA, nextC) && overlap(nextB, nextC))
              steps.push(toKey(nextA, nextB, nextC))
    return steps
  }
  return reachable([toKey(first, first, second)], next, goal).has(goal)
}

/** Bounds the time: an undecided pattern counts as safe. */
const maxVisits = 20_000

function reachable(
  starts: readonly number[],
  next: (one: number) => readonly number[],
  goal?: number,
): ReadonlySet<number> {
  const found = new Set<number>()
  const stack = [...starts]
  for (let one = stack.pop(); one !== undefined; one = stack.pop())
    for (const step of next(one)) {
      if (found.has(step) || found.size > maxVisits) continue
      found.add(step)
      if (step === goal) return found
      stack.push(step)
    }
  return found
}
