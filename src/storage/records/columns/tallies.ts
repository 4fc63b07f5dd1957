import type { Comparable } from '../../../sources/records/model/stream.ts'
import type { Tally } from '../../../sources/records/record-store.ts'
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

/**
 * Counts, sums and extremes of many groups, each in a slot of its own. There may be many more slots
 * than are used: memory that nobody has written to costs next to nothing.
 */
export class Tallies {
  readonly #isSummed: boolean
  #counts = new Float64Array(0)
  #cells = new Float64Array(0)
  #used = new Uint32Array(0)
  #usedLength = 0

  constructor(isSummed: boolean) {
    this.#isSummed = isSummed
  }

  /** How many groups there are. */
  get size(): number {
    return this.#usedLength
  }

  add({ rows, slots, count, most, values }: Selection): void {
    const length = Math.max(2 * this.#counts.length, most + 1)
    if (most >= this.#counts.length) {
      this.#counts = toLonger(this.#counts, length)
      this.#used = toLonger(this.#used, length)
    }
    this.#usedLength = countSlots(slots, count, this.#counts, this.#used, this.#usedLength)
    if (!values) return
    const cells = this.#counts.length * width
    if (cells > this.#cells.length) this.#cells = toLonger(this.#cells, cells)
    addValues(values, rows, slots, count, this.#cells)
  }

  result(groupOf: (slot: number) => Comparable | null, isDistinct: boolean): Tally[] {
    return Array.from(this.#used.subarray(0, this.#usedLength), (slot) => {
      const group = groupOf(slot)
      const count = this.#counts[slot] ?? 0
      const at = slot * width
      const valued = this.#cells[at] ?? 0
      const isValued = valued > 0
      return {
        group,
        count,
        valued: isDistinct && group !== null ? count : valued,
        sum: this.#isSummed ? (this.#cells[at + 1] ?? 0) + (this.#cells[at + 2] ?? 0) : 0,
        min: isValued ? (this.#cells[at + 3] ?? null) : null,
        max: isValued ? (this.#cells[at + 4] ?? null) : null,
      }
    })
  }
}

function toLonger<T extends Float64Array | Uint32Array>(values: T, length: number): T {
  const longer = new (values.constructor as new (length: number) => T)(length)
  longer.set(values)
  return longer
}
