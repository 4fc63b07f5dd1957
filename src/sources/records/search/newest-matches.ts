import type { Scope } from '../model/scope.ts'
import type { MatchQuery, RecordStore } from '../record-store.ts'

/** One scope to search, with its searchable fields and filter conditions. */
export interface SearchTarget extends Pick<MatchQuery, 'fields' | 'conditions'> {
  readonly scope: Scope
}

export interface Match {
  readonly target: SearchTarget
  readonly arrival: number
}

interface Search {
  readonly words: readonly string[]
  readonly below: number
  readonly limit: number
}

const minBatchSize = 16
const batchGrowth = 4

/** Store queries between two yields. */
const queriesPerTurn = 16

/** How far one target has been searched. */
interface TargetProgress {
  readonly target: SearchTarget
  readonly arrivals: number[]
  /** Every match at or above this arrival number has been found. */
  below: number
  /** Size of the next batch; 0 when the target is exhausted. */
  next: number
}

/**
 * K-way merge: the newest matches over all targets, newest first. Each target is queried for its
 * share of the limit, and for more only while it could still hold a match newer than the oldest one
 * needed. Yields so that other work can run.
 */
export function* findNewest(
  store: RecordStore,
  targets: readonly SearchTarget[],
  { words, below, limit }: Search,
): Generator<undefined, readonly Match[]> {
  const share = Math.max(minBatchSize, Math.ceil((1.25 * limit) / Math.max(1, targets.length)))
  const progress = targets.map(
    (target): TargetProgress => ({ target, arrivals: [], below, next: Math.min(share, limit) }),
  )
  let queryCount = 0
  /** Reads the next batch of one target; returns whether it is time to yield. */
  const advance = (one: TargetProgress): boolean => {
    const { arrivals, resume } = store.match(one.target.scope, {
      words,
      fields: one.target.fields,
      conditions: one.target.conditions,
      below: one.below,
      limit: one.next,
    })
    one.arrivals.push(...arrivals)
    one.below = resume ?? 0
    // A short batch that can be resumed stopped at the store's scan limit: that was a long query.
    const isShort = arrivals.length < one.next
    const remaining = limit - one.arrivals.length
    const batchSize = isShort ? one.next : one.next * batchGrowth
    one.next = resume === undefined ? 0 : Math.min(remaining, batchSize)
    queryCount += 1
    return (isShort && resume !== undefined) || queryCount % queriesPerTurn === 0
  }
  for (const one of progress) if (advance(one)) yield
  for (let one = findNext(progress, limit); one; one = findNext(progress, limit))
    if (advance(one)) yield
  return progress
    .flatMap(({ target, arrivals }) => arrivals.map((arrival) => ({ target, arrival })))
    .sort((a, b) => b.arrival - a.arrival)
    .slice(0, limit)
}

/** The target that could hold the newest missing match; `undefined` when none can hold a needed one. */
function findNext(progress: readonly TargetProgress[], limit: number): TargetProgress | undefined {
  const oldest = findOldestNeeded(progress, limit)
  let best: TargetProgress | undefined
  for (const one of progress)
    if (one.next > 0 && one.below > oldest && (!best || one.below > best.below)) best = one
  return best
}

/** The oldest of the newest `limit` matches found so far; -1 while there are fewer. */
function findOldestNeeded(progress: readonly TargetProgress[], limit: number): number {
  const length = progress.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
  if (length < limit) return -1
  const all = new Float64Array(length)
  let at = 0
  for (const { arrivals } of progress) {
    all.set(arrivals, at)
    at += arrivals.length
  }
  return all.sort()[length - limit] ?? -1
}
