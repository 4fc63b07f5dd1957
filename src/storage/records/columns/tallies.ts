import type { Comparable } from '../../../sources/records/model/stream.ts'
import type { Tally } from '../../../sources/records/record-store.ts'
import { addValues, cellsPerSlot, countSlots } from './column-loops.ts'

export interface Selection {
  readonly rows: Uint32Array
  /** The slot of each entry of `rows`. */
  readonly slots: Uint32Array
  readonly count: number
  readonly highestSlot: number
  /** Indexed by row; NaN is a missing value. */
  readonly values: Float64Array | undefined
}

/**
 * Count, sum, minimum and maximum per group, each group in a slot of flat arrays. Most slots may be unused:
 * the operating system backs untouched pages with no memory.
 */
export class Tallies {
  readonly #isSummed: boolean
  #counts = new Float64Array(0)
  #cells = new Float64Array(0)
  #usedSlots = new Uint32Array(0)
  #usedLength = 0

  constructor(isSummed: boolean) {
    this.#isSummed = isSummed
  }

  /** The number of groups. */
  get size(): number {
    return this.#usedLength
  }

  add({ rows, slots, count, highestSlot, values }: Selection): void {
    const length = Math.max(2 * this.#counts.length, highestSlot + 1)
    if (highestSlot >= this.#counts.length) {
      this.#counts = grow(this.#counts, length)
      this.#usedSlots = grow(this.#usedSlots, length)
    }
    this.#usedLength = countSlots(slots, count, this.#counts, this.#usedSlots, this.#usedLength)
    if (!values) return
    const cells = this.#counts.length * cellsPerSlot
    if (cells > this.#cells.length) this.#cells = grow(this.#cells, cells)
    addValues(values, rows, slots, count, this.#cells)
  }

  result(groupOf: (slot: number) => Comparable | null, isDistinct: boolean): Tally[] {
    return Array.from(this.#usedSlots.subarray(0, this.#usedLength), (slot) => {
      const group = groupOf(slot)
      const count = this.#counts[slot] ?? 0
      const at = slot * cellsPerSlot
      const valueCount = this.#cells[at] ?? 0
      const isValued = valueCount > 0
      return {
        group,
        count,
        valueCount: isDistinct && group !== null ? count : valueCount,
        sum: this.#isSummed ? (this.#cells[at + 1] ?? 0) + (this.#cells[at + 2] ?? 0) : 0,
        min: isValued ? (this.#cells[at + 3] ?? null) : null,
        max: isValued ? (this.#cells[at + 4] ?? null) : null,
      }
    })
  }
}

function grow<T extends Float64Array | Uint32Array>(values: T, length: number): T {
  const larger = new (values.constructor as new (length: number) => T)(length)
  larger.set(values)
  return larger
}
