import { compare } from '../../../sources/records/model/compare.ts'
import type { Scope } from '../../../sources/records/model/scope.ts'
import type { Comparable } from '../../../sources/records/model/stream.ts'
import type {
  Condition,
  Grouping,
  Tally,
  TallyQuery,
} from '../../../sources/records/record-store.ts'
import { copyCodes, fillSlots, keepInRange, keepMatching, selectAll } from './column-loops.ts'
import { Tallies } from './tallies.ts'

/** The distinct texts of one field of a source. The code of `texts[0]` is 1; 0 is a missing value. */
export interface Dictionary {
  readonly codes: Map<string, number>
  readonly texts: string[]
}

export interface Texts {
  readonly codes: Uint16Array
  readonly dictionary: Dictionary
}

/** Some records of a source, field by field. */
export interface Batch {
  readonly length: number
  /** Rows that must not be counted, ascending. */
  readonly excludedRows: readonly number[]
  numbers(field: number): Float64Array
  texts(field: number): Texts
}

/** A filter and `group by` over batches, with the result that SQL would give. */
export interface Scan {
  add(batch: Batch): void
  /** The number of groups so far. */
  groups(): number
  result(): readonly Tally[]
}

export function createScan(scope: Scope, query: Omit<TallyQuery, 'after'>): Scan {
  const filters = toFilters(scope, query.conditions)
  const grouping = query.distinct && query.field ? { field: query.field } : query.group
  const slotMap = grouping ? slotsBy(grouping) : singleSlot()
  const field = query.distinct ? undefined : query.field
  const tallies = new Tallies(isSummed(field))
  let rows = new Uint32Array(0)
  let slots = new Uint32Array(0)
  return {
    add(batch) {
      if (rows.length < batch.length) {
        rows = new Uint32Array(batch.length)
        slots = new Uint32Array(batch.length)
      }
      let count = selectAll(batch.length, batch.excludedRows, rows)
      for (const filter of filters) count = filter(batch, rows, count)
      if (count === 0) return
      const highestSlot = slotMap.fill(batch, rows, count, slots)
      tallies.add({ rows, slots, count, highestSlot, values: field && batch.numbers(field.n) })
    },
    groups: () => tallies.size,
    result: () => tallies.result(slotMap.groupOf, query.distinct),
  }
}

const isSummed = (field: TallyQuery['field']): boolean =>
  field?.type === 'number' || field?.type === 'integer' || field?.type === 'boolean'

/** Moves the matching rows to the beginning of `rows` and returns their number. */
type Filter = (batch: Batch, rows: Uint32Array, count: number) => number

/** The time range of the grant and the conditions of the query. */
function toFilters({ window }: Scope, conditions: readonly Condition[]): readonly Filter[] {
  const filters: Filter[] = []
  if (window) filters.push(inRange(window.field.n, window.from, below(window.to)))
  for (const { field, operator, value } of conditions)
    if (typeof value === 'number') {
      const from = operator === 'gte' || operator === 'eq' ? value : above(value)
      const to = operator === 'lte' || operator === 'eq' ? value : below(value)
      const isLower = operator === 'gte' || operator === 'gt'
      const isUpper = operator === 'lte' || operator === 'lt'
      filters.push(inRange(field.n, isUpper ? -Infinity : from, isLower ? Infinity : to))
    } else filters.push(matchingText(field.n, operator, value))
  return filters
}

const inRange =
  (field: number, from: number, to: number): Filter =>
  (batch, rows, count) =>
    keepInRange(batch.numbers(field), from, to, rows, count)

/** Compares each text of the dictionary once, however many records have it. */
function matchingText(field: number, operator: Condition['operator'], value: string): Filter {
  // The file is UTF-8: an unpaired surrogate reads back as U+FFFD.
  const operand = Buffer.from(value).toString()
  const matches = comparisons[operator]
  let verdicts = new Uint8Array(1)
  let comparedCount = 0
  return (batch, rows, count) => {
    const { codes, dictionary } = batch.texts(field)
    const { texts } = dictionary
    if (verdicts.length <= texts.length) {
      const larger = new Uint8Array(2 * texts.length + 1)
      larger.set(verdicts.subarray(0, comparedCount + 1))
      verdicts = larger
    }
    for (; comparedCount < texts.length; comparedCount++)
      verdicts[comparedCount + 1] = matches(compare(texts[comparedCount] ?? '', operand)) ? 1 : 0
    return keepMatching(codes, verdicts, rows, count)
  }
}

const comparisons: Readonly<Record<Condition['operator'], (order: number) => boolean>> = {
  eq: (order) => order === 0,
  gte: (order) => order >= 0,
  gt: (order) => order > 0,
  lte: (order) => order <= 0,
  lt: (order) => order < 0,
}

/** Maps records to slots, one per group. */
interface SlotMap {
  /** Writes the slot of each selected record and returns the highest possible one. */
  fill(batch: Batch, rows: Uint32Array, count: number, slots: Uint32Array): number
  groupOf(slot: number): Comparable | null
}

const singleSlot = (): SlotMap => ({
  fill: (_, _rows, count, slots) => {
    slots.fill(0, 0, count)
    return 0
  },
  groupOf: () => null,
})

function slotsBy({ field, buckets }: Grouping): SlotMap {
  if (field.type === 'string') return byText(field.n)
  if (!buckets) return byValue(field.n)
  return {
    fill: (batch, rows, count, slots) => buckets.fill(batch.numbers(field.n), rows, count, slots),
    groupOf: (slot) => (slot === 0 ? null : buckets.representativeTime(slot)),
  }
}

function byText(field: number): SlotMap {
  let texts: readonly string[] = []
  return {
    fill(batch, rows, count, slots) {
      const { codes, dictionary } = batch.texts(field)
      texts = dictionary.texts
      copyCodes(codes, rows, count, slots)
      return texts.length
    },
    groupOf: (slot) => texts[slot - 1] ?? null,
  }
}

function byValue(field: number): SlotMap {
  const slotByValue = new Map<number, number>()
  const values: number[] = []
  const slotOf = (value: number): number => {
    const slot = slotByValue.get(value)
    if (slot !== undefined) return slot
    slotByValue.set(value, values.push(value))
    return values.length
  }
  return {
    fill: (batch, rows, count, slots) =>
      fillSlots(batch.numbers(field), slotOf, rows, count, slots),
    groupOf: (slot) => (slot === 0 ? null : (values[slot - 1] ?? null)),
  }
}

const bits = new DataView(new ArrayBuffer(8))

/** The next larger double (nextafter): turns `> value` into `>= above(value)`. */
function above(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  bits.setFloat64(0, value)
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return bits.getFloat64(0)
}

const below = (value: number): number => -above(-value)
