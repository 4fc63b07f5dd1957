import { segmentLength } from './column.ts'

// Tight loops over typed arrays, nothing else, so that V8 compiles them by on-stack replacement.

const identity = Uint32Array.from({ length: segmentLength }, (_, row) => row)

/** Selects every row but the excluded ones, which are ascending. */
export function selectAll(
  length: number,
  excludedRows: readonly number[],
  rows: Uint32Array,
): number {
  if (excludedRows.length === 0 && length <= identity.length) {
    rows.set(identity.subarray(0, length))
    return length
  }
  let count = 0
  let next = 0
  for (let row = 0; row < length; row++)
    if (row === excludedRows[next]) next++
    else rows[count++] = row
  return count
}

/** Keeps rows with a value in the range, both ends included. NaN, a missing value, is in no range. */
export function keepInRange(
  values: Float64Array,
  from: number,
  to: number,
  rows: Uint32Array,
  count: number,
): number {
  let keptCount = 0
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number
    const value = values[row] as number
    if (value >= from && value <= to) rows[keptCount++] = row
  }
  return keptCount
}

/** Keeps rows whose dictionary code is marked with 1. */
export function keepMatching(
  codes: Uint16Array,
  verdicts: Uint8Array,
  rows: Uint32Array,
  count: number,
): number {
  let keptCount = 0
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number
    if (verdicts[codes[row] as number] === 1) rows[keptCount++] = row
  }
  return keptCount
}

export function copyCodes(
  codes: Uint16Array,
  rows: Uint32Array,
  count: number,
  slots: Uint32Array,
): void {
  for (let at = 0; at < count; at++) slots[at] = codes[rows[at] as number] as number
}

/** Writes the slot of each row and returns the highest. Slot 0 is for rows without a value. */
export function fillSlots(
  values: Float64Array,
  slotOf: (value: number) => number,
  rows: Uint32Array,
  count: number,
  slots: Uint32Array,
): number {
  let highest = 0
  for (let at = 0; at < count; at++) {
    const value = values[rows[at] as number] as number
    const slot = Number.isNaN(value) ? 0 : slotOf(value)
    slots[at] = slot
    if (slot > highest) highest = slot
  }
  return highest
}

/** Counts rows per slot, appends each new slot to `usedSlots`, and returns the length of that. */
export function countSlots(
  slots: Uint32Array,
  count: number,
  counts: Float64Array,
  usedSlots: Uint32Array,
  usedLength: number,
): number {
  let length = usedLength
  for (let at = 0; at < count; at++) {
    const slot = slots[at] as number
    const rowCount = counts[slot] as number
    if (rowCount === 0) usedSlots[length++] = slot
    counts[slot] = rowCount + 1
  }
  return length
}

/** Cells per slot: number of values, sum, compensation, minimum, maximum. */
export const cellsPerSlot = 5

/** Neumaier compensated summation: the rounding error of each addition is collected separately. */
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
    const cell = (slots[at] as number) * cellsPerSlot
    const valueCount = cells[cell] as number
    cells[cell] = valueCount + 1
    const sum = cells[cell + 1] as number
    const next = sum + value
    cells[cell + 1] = next
    const error = Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
    cells[cell + 2] = (cells[cell + 2] as number) + error
    if (valueCount === 0 || value < (cells[cell + 3] as number)) cells[cell + 3] = value
    if (valueCount === 0 || value > (cells[cell + 4] as number)) cells[cell + 4] = value
  }
}
