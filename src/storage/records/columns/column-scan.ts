import type { Scope } from '../../../sources/records/grants/scope.ts'
import { compare } from '../../../sources/records/model/compare.ts'
import type { Comparable } from '../../../sources/records/model/stream.ts'
import type {
  Condition,
  Grouping,
  Tally,
  TallyQuery,
} from '../../../sources/records/record-store.ts'
import { copyCodes, fillSlots, keepFitting, keepInRange, selectAll } from './column-loops.ts'
import { Tallies } from './tallies.ts'

/** Texts of one field in a source, and the numbers they go by; 0 is no text. */
export interface Dictionary {
  readonly numbers: Map<string, number>
  readonly texts: string[]
}

export interface Texts {
  readonly codes: Uint16Array
  readonly dictionary: Dictionary
}

/** Some records of a source, each field by itself. */
export interface Batch {
  readonly length: number
  /** Places of records that are something else by now. */
  readonly stale: readonly number[]
  numbers(field: number): Float64Array
  texts(field: number): Texts
}

/** Takes batch after batch, and has then what SQL would have grouped. */
export interface Scan {
  add(batch: Batch): void
  /** How many there are so far. */
  groups(): number
  result(): readonly Tally[]
}

export function createScan(scope: Scope, query: Omit<TallyQuery, 'after'>): Scan {
  const tests = toTests(scope, query.conditions)
  const grouping = query.distinct && query.field ? { field: query.field } : query.group
  const toSlots = grouping ? slotsBy(grouping) : allInOne()
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
      let count = selectAll(batch.length, batch.stale, rows)
      for (const test of tests) count = test(batch, rows, count)
      if (count === 0) return
      const most = toSlots.fill(batch, rows, count, slots)
      tallies.add({ rows, slots, count, most, values: field && batch.numbers(field.n) })
    },
    groups: () => tallies.size,
    result: () => tallies.result(toSlots.groupOf, query.distinct),
  }
}

const isSummed = (field: TallyQuery['field']): boolean =>
  field?.type === 'number' || field?.type === 'integer' || field?.type === 'boolean'

/** Leaves those that fit at the beginning of `rows`, and says how many. */
type Test = (batch: Batch, rows: Uint32Array, count: number) => number

/** What the grant says and what is asked, in one: all of it must fit. */
function toTests({ window }: Scope, conditions: readonly Condition[]): readonly Test[] {
  const tests: Test[] = []
  if (window) tests.push(inRange(window.field.n, window.from, below(window.to)))
  for (const { field, operator, value } of conditions)
    if (typeof value === 'number') {
      const from = operator === 'gte' || operator === 'eq' ? value : above(value)
      const to = operator === 'lte' || operator === 'eq' ? value : below(value)
      const isUp = operator === 'gte' || operator === 'gt'
      const isDown = operator === 'lte' || operator === 'lt'
      tests.push(inRange(field.n, isDown ? -Infinity : from, isUp ? Infinity : to))
    } else tests.push(amongTexts(field.n, operator, value))
  return tests
}

const inRange =
  (field: number, from: number, to: number): Test =>
  (batch, rows, count) =>
    keepInRange(batch.numbers(field), from, to, rows, count)

/** Each text is compared once, however many records have it. */
function amongTexts(field: number, operator: Condition['operator'], value: string): Test {
  // As it reads back from the file: half a character is none there.
  const wanted = Buffer.from(value).toString()
  const fits = fitting[operator]
  let verdicts = new Uint8Array(1)
  let judged = 0
  return (batch, rows, count) => {
    const { codes, dictionary } = batch.texts(field)
    const { texts } = dictionary
    if (verdicts.length <= texts.length) {
      const longer = new Uint8Array(2 * texts.length + 1)
      longer.set(verdicts.subarray(0, judged + 1))
      verdicts = longer
    }
    for (; judged < texts.length; judged++)
      verdicts[judged + 1] = fits(compare(texts[judged] ?? '', wanted)) ? 1 : 0
    return keepFitting(codes, verdicts, rows, count)
  }
}

const fitting: Readonly<Record<Condition['operator'], (order: number) => boolean>> = {
  eq: (order) => order === 0,
  gte: (order) => order >= 0,
  gt: (order) => order > 0,
  lte: (order) => order <= 0,
  lt: (order) => order < 0,
}

interface Slots {
  /** Writes the slot of each selected record, and returns the highest there is. */
  fill(batch: Batch, rows: Uint32Array, count: number, slots: Uint32Array): number
  groupOf(slot: number): Comparable | null
}

const allInOne = (): Slots => ({
  fill: (_, _rows, count, slots) => {
    slots.fill(0, 0, count)
    return 0
  },
  groupOf: () => null,
})

function slotsBy({ field, buckets }: Grouping): Slots {
  if (field.type === 'string') return byText(field.n)
  if (!buckets) return byValue(field.n)
  return {
    fill: (batch, rows, count, slots) => buckets.fill(batch.numbers(field.n), rows, count, slots),
    groupOf: (slot) => (slot === 0 ? null : buckets.timeIn(slot)),
  }
}

function byText(field: number): Slots {
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

function byValue(field: number): Slots {
  const numbers = new Map<number, number>()
  const values: number[] = []
  const slotOf = (value: number): number => {
    const known = numbers.get(value)
    if (known !== undefined) return known
    numbers.set(value, values.push(value))
    return values.length
  }
  return {
    fill: (batch, rows, count, slots) =>
      fillSlots(batch.numbers(field), slotOf, rows, count, slots),
    groupOf: (slot) => (slot === 0 ? null : (values[slot - 1] ?? null)),
  }
}

const bits = new DataView(new ArrayBuffer(8))

/** The next number there is. */
function above(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  bits.setFloat64(0, value)
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return bits.getFloat64(0)
}

const below = (value: number): number => -above(-value)
