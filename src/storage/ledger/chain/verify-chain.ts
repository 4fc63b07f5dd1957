import { type ChainBlock, type ChainEnd, splitLine, toHash, toLineDigest } from './chain-block.ts'
import type { ChainGap, ChainMarks } from './chain-marks.ts'

/** The first record at which verification fails. */
export interface ChainBreak {
  readonly number: number
  readonly reason: string
}

/** The end of a chain as it was at some time, kept outside the database. */
export interface ChainPin {
  readonly count: number
  readonly head: string
  /** The generation of the ledger at that time. */
  readonly generation: number
  /** Where the pin was found, for messages. */
  readonly source: string
}

/** A record that starts a new generation: what was written after it in earlier ones may be lost. */
export interface Restart {
  readonly number: number
  readonly generation: number
}

export interface ChainVerification {
  /** Number of records up to the end or the first break, with purged ones. */
  readonly count: number
  /** Number of records at the beginning that an earlier version wrote without a key. */
  readonly unsealed?: number
  /** Ranges that `store repair` recorded as lost: first record and the one after the last. */
  readonly lost?: readonly (readonly [first: number, next: number])[]
  /** Restores and repairs, and how many records of earlier generations are not here, as far as pins tell. */
  readonly restarts?: readonly (Restart & { readonly missing: number })[]
  readonly broken?: ChainBreak
}

interface Chain {
  readonly marks: ChainMarks
  blocks(from: number): Iterable<ChainBlock>
  hasValidSeal(block: ChainBlock): boolean
}

/** Recomputes a chain from its beginning, and compares it with pins. */
export function verifyChain(
  chain: Chain,
  pins: readonly ChainPin[],
  restarts: readonly Restart[],
): ChainVerification {
  const { anchor, sealedFrom, gaps } = chain.marks
  if (!sealedFrom) return brokenAt(0, 'the mark of the first sealed record is missing')
  if (!sealedFrom.isValid)
    return brokenAt(
      sealedFrom.next,
      'the seal of the first sealed record does not match: the key file was replaced, or the mark was changed',
    )
  if (!anchor.isValid)
    return brokenAt(anchor.next, 'the mark of purged records was replaced; records may be deleted')
  const walk = new ChainWalk(chain, new Set(pins.map(({ count }) => count)))
  const broken = walk.run() ?? findDisagreement(walk, pins, restarts)
  const unsealed = Math.max(0, sealedFrom.next - anchor.next)
  return {
    count: Math.min(walk.next, broken?.number ?? walk.next),
    ...(unsealed > 0 && { unsealed }),
    ...(gaps.length > 0 && { lost: gaps.map(({ first, next }) => [first, next] as const) }),
    ...(restarts.length > 0 && { restarts: restarts.map((one) => countMissing(one, pins)) }),
    ...(broken && { broken }),
  }
}

const countMissing = (restart: Restart, pins: readonly ChainPin[]) => ({
  ...restart,
  missing: pins
    .filter((pin) => isSuperseded(pin, restart))
    .reduce((most, { count }) => Math.max(most, count - restart.number), 0),
})

/** A pin beyond a restart tells about records that the restore or repair has left behind. */
const isSuperseded = (pin: ChainPin, restart: Restart): boolean =>
  restart.generation > pin.generation && restart.number < pin.count

const brokenAt = (number: number, reason: string): ChainVerification => ({
  count: number,
  broken: { number, reason },
})

class ChainWalk {
  readonly #chain: Chain
  readonly #pinned: ReadonlySet<number>
  /** Heads at the counts of pins. */
  readonly heads = new Map<number, string>()
  readonly start: number
  #head: string
  next: number

  constructor(chain: Chain, pinned: ReadonlySet<number>) {
    const { next, head } = chain.marks.anchor
    this.#chain = chain
    this.#pinned = pinned
    this.start = next
    this.next = next
    this.#head = head
    this.#remember()
  }

  run(): ChainBreak | undefined {
    const { sealedFrom, gaps } = this.#chain.marks
    const gapsByFirst = new Map(gaps.map((gap) => [gap.first, gap]))
    const sealed = sealedFrom as ChainEnd
    for (const block of this.#chain.blocks(0)) {
      const gap = gapsByFirst.get(this.next)
      if (gap && block.first === gap.next) {
        if (!gap.isValid) return this.#break('the mark of lost records was changed')
        this.next = gap.next
      }
      if (block.first !== this.next) return this.#break('records are missing here')
      if (this.next === sealed.next && this.#head !== sealed.head && !gap)
        return this.#break('the records before this one were changed')
      if (block.first < sealed.next !== (block.seal === undefined))
        return this.#break('this record has no seal')
      const broken = this.#checkLines(block, gap)
      if (broken) return broken
      if (block.seal !== undefined && !this.#chain.hasValidSeal(block))
        return {
          number: block.first,
          reason: 'this record, or one of the same commit, was written without the key',
        }
    }
    const gap = gapsByFirst.get(this.next)
    return this.next < sealed.next && !gap
      ? this.#break('records are missing at the end')
      : undefined
  }

  /** The predecessor of the record after a gap is lost, so the mark has the digest of the whole line. */
  #checkLines({ lines, count, head }: ChainBlock, gap?: ChainGap): ChainBreak | undefined {
    for (const [index, line] of lines.entries()) {
      const [stored, text] = splitLine(line)
      const isAfterGap = index === 0 && gap !== undefined
      const isIntact = isAfterGap
        ? gap.digest === toLineDigest(line)
        : stored === toHash(this.#head, text)
      if (!isIntact) return this.#break('this record was changed')
      this.#head = stored
      this.next++
      this.#remember()
    }
    if (lines.length === count && this.#head === head) return undefined
    return { number: this.next - 1, reason: 'this record was changed' }
  }

  #remember(): void {
    if (this.#pinned.has(this.next)) this.heads.set(this.next, this.#head)
  }

  #break(reason: string): ChainBreak {
    return { number: this.next, reason }
  }
}

/** The earliest record that a pin contradicts. */
function findDisagreement(
  walk: ChainWalk,
  pins: readonly ChainPin[],
  restarts: readonly Restart[],
): ChainBreak | undefined {
  const breaks = pins.flatMap((pin): ChainBreak[] => {
    const { count, head, source } = pin
    if (count < walk.start || restarts.some((restart) => isSuperseded(pin, restart))) return []
    if (count > walk.next)
      return [
        {
          number: walk.next,
          reason: `${count - walk.next} records are missing at the end, says ${source}`,
        },
      ]
    const present = walk.heads.get(count)
    if (present === undefined || present === head) return []
    return [
      {
        number: Math.max(0, count - 1),
        reason: `this record, or one before it, was changed, says ${source}`,
      },
    ]
  })
  return breaks.sort((a, b) => a.number - b.number)[0]
}
