import type { Scope } from '../grants/scope.ts'
import type { MatchQuery, RecordStore } from '../record-store.ts'

/** Where to look, and for what besides words. */
export interface SearchPlace extends Pick<MatchQuery, 'fields' | 'conditions'> {
  readonly scope: Scope
}

export interface Match {
  readonly place: SearchPlace
  readonly arrival: number
}

interface Search {
  readonly words: readonly string[]
  readonly below: number
  readonly limit: number
}

const fewest = 16
const growth = 4

/** Places that are asked before others have a turn. */
const placesAtOnce = 16

interface Seam {
  readonly place: SearchPlace
  readonly arrivals: number[]
  /** All matches from this number on are known. */
  below: number
  /** How many to ask for next; 0 when there are no more. */
  next: number
}

/**
 * The newest matches over all places, newest first. Each place is asked for its share, and for more only
 * while what is known of it ends before the last match that is needed. Pauses wherever others may have a
 * turn.
 */
export function* findNewest(
  store: RecordStore,
  places: readonly SearchPlace[],
  { words, below, limit }: Search,
): Generator<undefined, readonly Match[]> {
  const share = Math.max(fewest, Math.ceil((1.25 * limit) / Math.max(1, places.length)))
  const seams = places.map(
    (place): Seam => ({ place, arrivals: [], below, next: Math.min(share, limit) }),
  )
  let asked = 0
  /** Whether that was enough work for one turn. */
  const dig = (seam: Seam): boolean => {
    const { arrivals, resume } = store.match(seam.place.scope, {
      words,
      fields: seam.place.fields,
      conditions: seam.place.conditions,
      below: seam.below,
      limit: seam.next,
    })
    seam.arrivals.push(...arrivals)
    seam.below = resume ?? 0
    const isLong = arrivals.length < seam.next
    const left = limit - seam.arrivals.length
    const wanted = isLong ? seam.next : seam.next * growth
    seam.next = resume === undefined ? 0 : Math.min(left, wanted)
    asked += 1
    return (isLong && resume !== undefined) || asked % placesAtOnce === 0
  }
  for (const seam of seams) if (dig(seam)) yield
  for (let seam = findPromising(seams, limit); seam; seam = findPromising(seams, limit))
    if (dig(seam)) yield
  return seams
    .flatMap(({ place, arrivals }) => arrivals.map((arrival) => ({ place, arrival })))
    .sort((a, b) => b.arrival - a.arrival)
    .slice(0, limit)
}

/** The place that must have the next newest match, if there is one that can have any that is needed. */
function findPromising(seams: readonly Seam[], limit: number): Seam | undefined {
  const last = findLast(seams, limit)
  let best: Seam | undefined
  for (const seam of seams)
    if (seam.next > 0 && seam.below > last && (!best || seam.below > best.below)) best = seam
  return best
}

/** Nothing older than this can be among so many newest. */
function findLast(seams: readonly Seam[], limit: number): number {
  const length = seams.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
  if (length < limit) return -1
  const all = new Float64Array(length)
  let at = 0
  for (const { arrivals } of seams) {
    all.set(arrivals, at)
    at += arrivals.length
  }
  return all.sort()[length - limit] ?? -1
}
