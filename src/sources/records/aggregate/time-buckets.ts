export const granularities = ['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Granularity = (typeof granularities)[number]

const minute = 60_000
const quarterHour = 15 * minute
const day = 24 * 60 * minute

/** Times that are always in the same bucket, whatever the zone: all zones keep to quarter hours. */
export const stepOf = (granularity: Granularity): number =>
  granularity === 'minute' ? minute : quarterHour

/** Where moments fall into, numbered from 1 as they are met. */
export interface Buckets {
  of(time: number): number
  /** The same for the chosen of many times; 0 for what is no time. Returns the highest. */
  fill(times: Float64Array, chosen: Uint32Array, count: number, buckets: Uint32Array): number
  /** A moment in the bucket of that number: always the same one. */
  timeIn(bucket: number): number
  /** Grows with time, and is the same for all moments in a bucket. */
  ordinalAt(time: number): number
  nameAt(time: number): string
}

/** `undefined` for no such zone. */
export function createBuckets(granularity: Granularity, timeZone: string): Buckets | undefined {
  const offsets = findOffsets(timeZone)
  if (!offsets) return undefined
  const offsetAt = offsets.at
  const { width, near } =
    grids[granularity === 'minute' || granularity === 'hour' ? granularity : 'day']
  const step = stepOf(granularity)
  const toOrdinal = ordinals[granularity]
  const unitAt = (time: number): number => Math.floor((time + offsetAt(time)) / width)
  const times: number[] = []
  const byOrdinal = new Map<number, number>()
  const numbers = createTable(near, (unit, time) => {
    const ordinal = toOrdinal(unit)
    const known = byOrdinal.get(ordinal)
    if (known !== undefined) return known
    byOrdinal.set(ordinal, times.push(Math.floor(time / step) * step))
    return times.length
  })
  const of = (time: number): number => numbers.at(unitAt(time), time)
  return {
    of,
    fill: (values, chosen, count, buckets) =>
      fillBuckets(values, chosen, count, buckets, offsets.near, numbers.near, width, of),
    timeIn: (bucket) => times[bucket - 1] ?? 0,
    ordinalAt: (time) => toOrdinal(unitAt(time)),
    nameAt: (time) => toName(granularity, time + offsetAt(time)),
  }
}

/** Everything in one of these has one name. Those since 1970 are looked up without a search. */
const grids = {
  minute: { width: minute, near: 0 },
  hour: { width: 60 * minute, near: 1 << 20 },
  day: { width: day, near: 1 << 16 },
}

/** From a minute, an hour or a day to what it is part of. */
const ordinals: Readonly<Record<Granularity, (unit: number) => number>> = {
  minute: (unit) => unit,
  hour: (unit) => unit,
  day: (unit) => unit,
  week: (unit) => toMonday(unit),
  month: (unit) => toMonth(unit),
  quarter: (unit) => Math.floor(toMonth(unit) / 3),
  year: (unit) => Math.floor(toMonth(unit) / 12),
}

/** Weeks start on Monday; the first of January 1970 was a Thursday. */
const toMonday = (unit: number): number => unit - ((((unit + 3) % 7) + 7) % 7)

/** Months since the year 0. Years that begin in March have their odd day last: the rest is division. */
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

const mostFar = 100_000

/** A number above 0 for each whole number, worked out when it is first asked for. */
function createTable(nearest: number, work: (key: number, time: number) => number): Table {
  const near = new Int32Array(nearest)
  const far = new Map<number, number>()
  return {
    near,
    at(key, time) {
      const isNear = key >= 0 && key < nearest
      const known = isNear ? near[key] : far.get(key)
      if (known) return known
      const found = work(key, time)
      if (isNear) near[key] = found
      else if (far.size < mostFar) far.set(key, found)
      return found
    },
  }
}

interface Table {
  /** Those from 0 on; 0 is what nobody has asked for yet. */
  readonly near: Int32Array
  at(key: number, time: number): number
}

/**
 * What is known already is looked up here, a hundred thousand times; the rest is asked for. Times are whole
 * milliseconds: half a one more, and a product is never on the wrong side of a whole number.
 */
function fillBuckets(
  times: Float64Array,
  chosen: Uint32Array,
  count: number,
  buckets: Uint32Array,
  shifts: Float64Array,
  numbers: Int32Array,
  width: number,
  of: (time: number) => number,
): number {
  const [perDay, perUnit] = [1 / day, 1 / width]
  const [days, units] = [shifts.length, numbers.length]
  let most = 0
  for (let at = 0; at < count; at++) {
    const time = times[chosen[at] as number] as number
    let bucket = 0
    const date = (time + 0.5) * perDay
    if (date >= 0 && date < days) {
      const unit = (time + (shifts[date | 0] as number)) * perUnit
      if (unit >= 0 && unit < units) bucket = numbers[unit | 0] as number
    }
    if (bucket === 0 && !Number.isNaN(time)) bucket = of(time)
    buckets[at] = bucket
    if (bucket > most) most = bucket
  }
  return most
}

/** How far a zone is from UTC. */
interface Offsets {
  at(time: number): number
  /** By day since 1970: half a millisecond more, or nothing where it changes or nobody has asked. */
  readonly near: Float64Array
}

const mostZones = 16
const zones = new Map<string, Offsets>()

/** Asking for an offset is slow: what was asked is kept for the next read. */
function findOffsets(timeZone: string): Offsets | undefined {
  const known = zones.get(timeZone)
  if (known) return known
  const offsets = timeZone === 'UTC' ? utc() : createOffsets(timeZone)
  if (!offsets) return undefined
  if (zones.size >= mostZones) zones.clear()
  zones.set(timeZone, offsets)
  return offsets
}

const changes = 1
const middle = 1_000_000

const utc = (): Offsets => ({
  at: () => 0,
  near: new Float64Array(grids.day.near).fill(0.5),
})

/** One question for a day without a change, one for each quarter of an hour of a day with one. */
function createOffsets(timeZone: string): Offsets | undefined {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  } catch {
    return undefined
  }
  const ask = (time: number): number => middle + toSeconds(format.format(time))
  const starts = createTable(grids.day.near, (key) => ask(key * day))
  const days = createTable(grids.day.near, (key) => {
    const start = starts.at(key, 0)
    return start === starts.at(key + 1, 0) ? start : changes
  })
  const quarters = createTable(0, (key) => ask(key * quarterHour))
  const near = new Float64Array(grids.day.near).fill(Number.NaN)
  return {
    near,
    at(time) {
      const date = Math.floor(time / day)
      const whole = days.at(date, time)
      if (whole === changes)
        return (quarters.at(Math.floor(time / quarterHour), time) - middle) * 1000
      const offset = (whole - middle) * 1000
      // What is written where there is no place for it is nowhere.
      near[date] = offset + 0.5
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
