import type { Comparable } from '../sources/records/model.ts'
import type { Tally } from '../sources/records/record-store.ts'

export interface Selection {
  readonly rows: Uint32Array
  /** By place in `rows`. */
  readonly slots: Uint32Array
  readonly count: number
  /** The highest slot there is. */
  readonly most: number
  /** By row; NaN is missing. */
  readonly values: Float64Array | undefined
}

/** Counts, sums and extremes of many groups, each in a slot of its own. */
export class Tallies {
  readonly #isSummed: boolean
  #counts = new Float64Array(0)
  #valued = new Float64Array(0)
  #sums = new Float64Array(0)
  #lost = new Float64Array(0)
  #least = new Float64Array(0)
  #greatest = new Float64Array(0)

  constructor(isSummed: boolean) {
    this.#isSummed = isSummed
  }

  add({ rows, slots, count, most, values }: Selection): void {
    if (most >= this.#counts.length) this.#grow(Math.max(2 * this.#counts.length, most + 1))
    const counts = this.#counts
    for (let at = 0; at < count; at++) (counts[slots[at] as number] as number)++
    if (values) this.#addValues(rows, slots, count, values)
  }

  /** What a sum loses of a small number beside a large one is kept and added in the end. */
  #addValues(rows: Uint32Array, slots: Uint32Array, count: number, values: Float64Array): void {
    const [valued, sums, lost] = [this.#valued, this.#sums, this.#lost]
    const [least, greatest] = [this.#least, this.#greatest]
    for (let at = 0; at < count; at++) {
      const value = values[rows[at] as number] as number
      if (Number.isNaN(value)) continue
      const slot = slots[at] as number
      valued[slot] = (valued[slot] as number) + 1
      const sum = sums[slot] as number
      const next = sum + value
      sums[slot] = next
      const loss = Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
      lost[slot] = (lost[slot] as number) + loss
      if (value < (least[slot] as number)) least[slot] = value
      if (value > (greatest[slot] as number)) greatest[slot] = value
    }
  }

  result(groupOf: (slot: number) => Comparable | null, isDistinct: boolean): Tally[] {
    const tallies: Tally[] = []
    for (let slot = 0; slot < this.#counts.length; slot++) {
      const count = this.#counts[slot] as number
      if (count === 0) continue
      const group = groupOf(slot)
      const valued = isDistinct ? (group === null ? 0 : count) : (this.#valued[slot] as number)
      const hasExtremes = valued > 0 && !isDistinct
      tallies.push({
        group,
        count,
        valued,
        sum: this.#isSummed ? (this.#sums[slot] as number) + (this.#lost[slot] as number) : 0,
        min: hasExtremes ? (this.#least[slot] as number) : null,
        max: hasExtremes ? (this.#greatest[slot] as number) : null,
      })
    }
    return tallies
  }

  #grow(length: number): void {
    const grown = (old: Float64Array, filling = 0) => {
      const wider = new Float64Array(length).fill(filling)
      wider.set(old)
      return wider
    }
    this.#counts = grown(this.#counts)
    this.#valued = grown(this.#valued)
    this.#sums = grown(this.#sums)
    this.#lost = grown(this.#lost)
    this.#least = grown(this.#least, Infinity)
    this.#greatest = grown(this.#greatest, -Infinity)
  }
}
