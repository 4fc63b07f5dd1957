import { segmentLength } from './column.ts'

// Loops over columns, and nothing besides: an engine that has compiled one while it runs can stay in it.

const inOrder = Uint32Array.from({ length: segmentLength }, (_, row) => row)

/** All places but those left out, which are in order. */
export function selectAll(length: number, leftOut: readonly number[], rows: Uint32Array): number {
  if (leftOut.length === 0 && length <= inOrder.length) {
    rows.set(inOrder.subarray(0, length))
    return length
  }
  let count = 0
  let next = 0
  for (let row = 0; row < length; row++)
    if (row === leftOut[next]) next++
    else rows[count++] = row
  return count
}

/** Those that have a value from one number to another; what is missing is NaN, and nowhere. */
export function keepInRange(
  values: Float64Array,
  from: number,
  to: number,
  rows: Uint32Array,
  count: number,
): number {
  let kept = 0
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number
    const value = values[row] as number
    if (value >= from && value <= to) rows[kept++] = row
  }
  return kept
}

/** Those whose code fits. */
export function keepFitting(
  codes: Uint16Array,
  fits: Uint8Array,
  rows: Uint32Array,
  count: number,
): number {
  let kept = 0
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number
    if (fits[codes[row] as number] === 1) rows[kept++] = row
  }
  return kept
}

export function copyCodes(
  codes: Uint16Array,
  rows: Uint32Array,
  count: number,
  slots: Uint32Array,
): void {
  for (let at = 0; at < count; at++) slots[at] = codes[rows[at] as number] as number
}

/** Slot 0 is of those without a value. Returns the highest. */
export function fillSlots(
  values: Float64Array,
  slotOf: (value: number) => number,
  rows: Uint32Array,
  count: number,
  slots: Uint32Array,
): number {
  let most = 0
  for (let at = 0; at < count; at++) {
    const value = values[rows[at] as number] as number
    const slot = Number.isNaN(value) ? 0 : slotOf(value)
    slots[at] = slot
    if (slot > most) most = slot
  }
  return most
}

/** Writes down each slot that nothing was in before, and returns how many of those there are now. */
export function countSlots(
  slots: Uint32Array,
  count: number,
  counts: Float64Array,
  used: Uint32Array,
  usedBefore: number,
): number {
  let length = usedBefore
  for (let at = 0; at < count; at++) {
    const slot = slots[at] as number
    const before = counts[slot] as number
    if (before === 0) used[length++] = slot
    counts[slot] = before + 1
  }
  return length
}

/** Of each slot: how many values, their sum, what it has lost, the least and the greatest. */
export const width = 5

/** What a sum loses of a small number beside a large one is kept, and added in the end. */
export function addValues(
  values: Float64Array,
  rows: Uint32Array,
  slots: Uint32Array,
  count: number,
  cells: Float64Array,
): void {
  for (let at = 0; at < count; at++) {
    const value = values[rows[at] as number] as number
    if (Number.isNaN(value)) continue
    const cell = (slots[at] as number) * width
    const valued = cells[cell] as number
    cells[cell] = valued + 1
    const sum = cells[cell + 1] as number
    const next = sum + value
    cells[cell + 1] = next
    const loss = Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
    cells[cell + 2] = (cells[cell + 2] as number) + loss
    if (valued === 0 || value < (cells[cell + 3] as number)) cells[cell + 3] = value
    if (valued === 0 || value > (cells[cell + 4] as number)) cells[cell + 4] = value
  }
}
