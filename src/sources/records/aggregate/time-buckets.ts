import type { TimeBuckets } from '../record-store.ts'

export const granularities = ['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Granularity = (typeof granularities)[number]

const minute = 60_000
const quarterHour = 15 * minute
const day = 24 * 60 * minute

/** Width of the steps that never span two buckets: offsets are taken to be multiples of 15 minutes. */
export const toStepMs = (granularity: Granularity): number =>
  granularity === 'minute' ? minute : quarterHour

/** Time buckets that can be sorted and named. */
export interface Buckets extends TimeBuckets {
  /** Increases with time; equal for all times in a bucket. */
  ordinalAt(time: number): number
  nameAt(time: number): string
}

/** `undefined` for an unknown time zone. */
export function createBuckets(granularity: Granularity, timeZone: string): Buckets | undefined {
  const offsets = findOffsets(timeZone)
  if (!offsets) return undefined
  const offsetAt = offsets.at
  const { width, tableLength } =
    grids[granularity === 'minute' || granularity === 'hour' ? granularity : 'day']
  const step = toStepMs(granularity)
  const toOrdinal = ordinals[granularity]
  const unitAt = (time: number): number => Math.floor((time + offsetAt(time)) / width)
  const times: number[] = []
  const byOrdinal = new Map<number, number>()
  const numbers = createMemo(tableLength, (unit, time) => {
    const ordinal = toOrdinal(unit)
    const existing = byOrdinal.get(ordinal)
    if (existing !== undefined) return existing
    byOrdinal.set(ordinal, times.push(Math.floor(time / step) * step))
    return times.length
  })
  const bucketAt = (time: number): number => numbers.at(unitAt(time), time)
  return {
    bucketAt,
    fill: (values, rows, count, buckets) =>
      fillBuckets(values, rows, count, buckets, offsets.table, numbers.table, width, bucketAt),
    representativeTime: (bucket) => times[bucket - 1] ?? 0,
    ordinalAt: (time) => toOrdinal(unitAt(time)),
    nameAt: (time) => toName(granularity, time + offsetAt(time)),
  }
}

/** The unit of each granularity's calendar, and how many units since 1970 are memoized in a table. */
const grids = {
  minute: { width: minute, tableLength: 0 },
  hour: { width: 60 * minute, tableLength: 1 << 20 },
  day: { width: day, tableLength: 1 << 16 },
}

/** Maps a unit (minute, hour or day) to the bucket that contains it. */
const ordinals: Readonly<Record<Granularity, (unit: number) => number>> = {
  minute: (unit) => unit,
  hour: (unit) => unit,
  day: (unit) => unit,
  week: (unit) => toMonday(unit),
  month: (unit) => toMonth(unit),
  quarter: (unit) => Math.floor(toMonth(unit) / 3),
  year: (unit) => Math.floor(toMonth(unit) / 12),
}

/** Weeks start on Monday; 1970-01-01 was a Thursday. */
const toMonday = (unit: number): number => unit - ((((unit + 3) % 7) + 7) % 7)

/** Months since year 0. With years that start in March the leap day comes last (Hinnant's `civil_from_days`). */
function toMonth(unit: number): number {
  const days = unit + 719_468
  const era = Math.floor(days / 146_097)
  const inEra = days - era * 146_097
  const leaps = Math.floor(inEra / 1460) - Math.floor(inEra / 36_524) + Math.floor(inEra / 146_096)
  const year = Math.floor((inEra - leaps) / 365)
  const inYear = inEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100))
  const fromMarch = Math.floor((5 * inYear + 2) / 153)
  return (era * 400 + year) * 12 + fromMarch + 2
}

const maxOverflowEntries = 100_000

/** Memoizes a function from integers to positive integers: a table for small keys, a map for the rest. */
function createMemo(tableLength: number, compute: (key: number, time: number) => number): Memo {
  const table = new Int32Array(tableLength)
  const overflow = new Map<number, number>()
  return {
    table,
    at(key, time) {
      const isInTable = key >= 0 && key < tableLength
      const cached = isInTable ? table[key] : overflow.get(key)
      if (cached) return cached
      const value = compute(key, time)
      if (isInTable) table[key] = value
      else if (overflow.size < maxOverflowEntries) overflow.set(key, value)
      return value
    },
  }
}

interface Memo {
  /** Values for keys from 0 on; 0 means not computed yet. */
  readonly table: Int32Array
  at(key: number, time: number): number
}

/**
 * Hot loop: uses the memoized arrays directly and calls `bucketAt` only on a miss. Times are whole
 * milliseconds; adding 0.5 keeps floating-point products on the right side of an integer.
 */
function fillBuckets(
  times: Float64Array,
  rows: Uint32Array,
  count: number,
  buckets: Uint32Array,
  shifts: Float64Array,
  numbers: Int32Array,
  width: number,
  bucketAt: (time: number) => number,
): number {
  const [perDay, perUnit] = [1 / day, 1 / width]
  const [days, units] = [shifts.length, numbers.length]
  let highest = 0
  for (let at = 0; at < count; at++) {
    const time = times[rows[at] as number] as number
    let bucket = 0
    const date = (time + 0.5) * perDay
    if (date >= 0 && date < days) {
      const unit = (time + (shifts[date | 0] as number)) * perUnit
      if (unit >= 0 && unit < units) bucket = numbers[unit | 0] as number
    }
    if (bucket === 0 && !Number.isNaN(time)) bucket = bucketAt(time)
    buckets[at] = bucket
    if (bucket > highest) highest = bucket
  }
  return highest
}

/** UTC offsets of one time zone, in milliseconds. */
interface Offsets {
  at(time: number): number
  /** Offset plus 0.5 by day since 1970; NaN for days with an offset change and days not computed yet. */
  readonly table: Float64Array
}

const maxZones = 16
const zones = new Map<string, Offsets>()

/** Cached across reads: `Intl.DateTimeFormat` is slow. */
function findOffsets(timeZone: string): Offsets | undefined {
  const cached = zones.get(timeZone)
  if (cached) return cached
  const offsets = timeZone === 'UTC' ? utc() : createOffsets(timeZone)
  if (!offsets) return undefined
  if (zones.size >= maxZones) zones.clear()
  zones.set(timeZone, offsets)
  return offsets
}

/** Marks a day with an offset change. */
const offsetChanges = 1
/** Added to offsets in seconds, so that table values are positive and never `offsetChanges`. */
const offsetBase = 1_000_000

const utc = (): Offsets => ({
  at: () => 0,
  table: new Float64Array(grids.day.tableLength).fill(0.5),
})

/** One lookup per day without an offset change; one per quarter hour of a day with one. */
function createOffsets(timeZone: string): Offsets | undefined {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  } catch {
    return undefined
  }
  const lookUp = (time: number): number => offsetBase + toSeconds(format.format(time))
  const starts = createMemo(grids.day.tableLength, (key) => lookUp(key * day))
  const days = createMemo(grids.day.tableLength, (key) => {
    const start = starts.at(key, 0)
    return start === starts.at(key + 1, 0) ? start : offsetChanges
  })
  const quarters = createMemo(0, (key) => lookUp(key * quarterHour))
  const table = new Float64Array(grids.day.tableLength).fill(Number.NaN)
  return {
    table,
    at(time) {
      const date = Math.floor(time / day)
      const dayOffset = days.at(date, time)
      if (dayOffset === offsetChanges)
        return (quarters.at(Math.floor(time / quarterHour), time) - offsetBase) * 1000
      const offset = (dayOffset - offsetBase) * 1000
      // Typed arrays ignore writes out of range.
      table[date] = offset + 0.5
      return offset
    },
  }
}

function toSeconds(text: string): number {
  const [, sign, hours, minutes = '0', seconds = '0'] =
    /GMT([+-])(\d+)(?::(\d+))?(?::(\d+))?$/.exec(text) ?? []
  if (hours === undefined) return 0
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return sign === '-' ? -size : size
}

function toName(granularity: Granularity, local: number): string {
  const text = new Date(local).toISOString()
  switch (granularity) {
    case 'minute':
      return text.slice(0, 16)
    case 'hour':
      return text.slice(0, 13)
    case 'day':
      return text.slice(0, 10)
    case 'week': {
      const monday = toMonday(Math.floor(local / day))
      return new Date(monday * day).toISOString().slice(0, 10)
    }
    case 'month':
      return text.slice(0, 7)
    case 'quarter':
      return `${text.slice(0, 4)}-Q${Math.floor(new Date(local).getUTCMonth() / 3) + 1}`
    case 'year':
      return text.slice(0, 4)
  }
}
