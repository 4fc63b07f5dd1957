import type { MatchQuery, RecordStore } from './record-store.ts'
import type { Scope } from './scope.ts'

/** Where to look, and for what besides words. */
export interface Place extends Pick<MatchQuery, 'fields' | 'conditions'> {
  readonly scope: Scope
}

export interface Match {
  readonly place: Place
  readonly arrival: number
}

interface Search {
  readonly words: readonly string[]
  readonly below: number
  readonly limit: number
}

const fewest = 16
const growth = 4

interface Seam {
  readonly place: Place
  readonly arrivals: number[]
  /** How many to ask for next; 0 when there are no more. */
  next: number
}

/**
 * The newest matches over all places, newest first. Each place is asked for its share, and for more only
 * while its oldest match so far is newer than the last one that is needed.
 */
export function findNewest(
  store: RecordStore,
  places: readonly Place[],
  { words, below, limit }: Search,
): readonly Match[] {
  const share = Math.max(fewest, Math.ceil((1.25 * limit) / Math.max(1, places.length)))
  const seams = places.map((place): Seam => ({ place, arrivals: [], next: Math.min(share, limit) }))
  const dig = (seam: Seam): void => {
    const found = store.match(seam.place.scope, {
      words,
      fields: seam.place.fields,
      conditions: seam.place.conditions,
      below: seam.arrivals.at(-1) ?? below,
      limit: seam.next,
    })
    seam.arrivals.push(...found)
    const left = limit - seam.arrivals.length
    seam.next = found.length < seam.next ? 0 : Math.min(left, seam.next * growth)
  }
  for (const seam of seams) dig(seam)
  for (let seam = findPromising(seams, limit); seam; seam = findPromising(seams, limit)) dig(seam)
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
    if (seam.next > 0 && oldest(seam) > last && (!best || oldest(seam) > oldest(best))) best = seam
  return best
}

const oldest = ({ arrivals }: Seam): number => arrivals.at(-1) ?? 0

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
