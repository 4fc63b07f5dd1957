import type { Comparable } from '../sources/records/model.ts'
import type { Tally } from '../sources/records/record-store.ts'
import { addValues, countSlots, width } from './column-loops.ts'

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
  #cells = new Float64Array(0)

  constructor(isSummed: boolean) {
    this.#isSummed = isSummed
  }

  add({ rows, slots, count, most, values }: Selection): void {
    if (most >= this.#counts.length) this.#grow(Math.max(2 * this.#counts.length, most + 1))
    countSlots(slots, count, this.#counts)
    if (values) addValues(values, rows, slots, count, this.#cells)
  }

  result(groupOf: (slot: number) => Comparable | null, isDistinct: boolean): Tally[] {
    const tallies: Tally[] = []
    this.#counts.forEach((count, slot) => {
      if (count === 0) return
      const group = groupOf(slot)
      const at = slot * width
      const [valued = 0, sum = 0, lost = 0, min = 0, max = 0] = this.#cells.subarray(at, at + width)
      tallies.push({
        group,
        count,
        valued: isDistinct && group !== null ? count : valued,
        sum: this.#isSummed ? sum + lost : 0,
        min: valued > 0 ? min : null,
        max: valued > 0 ? max : null,
      })
    })
    return tallies
  }

  #grow(length: number): void {
    const counts = new Float64Array(length)
    counts.set(this.#counts)
    const cells = new Float64Array(length * width)
    for (let at = 0; at < cells.length; at += width) {
      cells[at + 3] = Infinity
      cells[at + 4] = -Infinity
    }
    cells.set(this.#cells)
    this.#counts = counts
    this.#cells = cells
  }
}
