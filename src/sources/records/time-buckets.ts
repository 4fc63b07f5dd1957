export const granularities = ['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Granularity = (typeof granularities)[number]

const minute = 60_000
const quarterHour = 15 * minute
const day = 24 * 60 * minute

/** Times that are always in the same bucket, whatever the zone: all zones keep to quarter hours. */
export const stepOf = (granularity: Granularity): number =>
  granularity === 'minute' ? minute : quarterHour

/** From a moment to the name of the bucket it falls into there; `undefined` for no such zone. */
export function createBuckets(
  granularity: Granularity,
  timeZone: string,
): ((time: number) => string) | undefined {
  const offset = createOffset(timeZone)
  return offset && ((time) => toName(granularity, time + offset(time)))
}

/** Asking for an offset is slow, and it changes at most at quarter hours: each is asked for once. */
function createOffset(timeZone: string): ((time: number) => number) | undefined {
  if (timeZone === 'UTC') return () => 0
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  } catch {
    return undefined
  }
  const known = new Map<number, number>()
  const ask = (time: number): number => {
    const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours, minutes = '0', seconds = '0'] =
      /GMT([+-])(\d+)(?::(\d+))?(?::(\d+))?/.exec(name) ?? []
    if (hours === undefined) return 0
    const size = Number(hours) * 60 * minute + Number(minutes) * minute + Number(seconds) * 1000
    return sign === '-' ? -size : size
  }
  return (time) => {
    const slot = Math.floor(time / quarterHour)
    let offset = known.get(slot)
    if (offset === undefined) {
      offset = ask(time)
      known.set(slot, offset)
    }
    return offset
  }
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
      // Weeks start on Monday; the first of January 1970 was a Thursday.
      const days = Math.floor(local / day)
      return new Date((days - ((((days + 3) % 7) + 7) % 7)) * day).toISOString().slice(0, 10)
    }
    case 'month':
      return text.slice(0, 7)
    case 'quarter':
      return `${text.slice(0, 4)}-Q${Math.floor(new Date(local).getUTCMonth() / 3) + 1}`
    case 'year':
      return text.slice(0, 4)
  }
}
