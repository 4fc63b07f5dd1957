/** RFC 3339 date-time, or a date alone, which is midnight UTC. A time without an offset is no moment. */
const isoDate =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt]([01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/

/**
 * The moment that a string names, or `undefined`. Stricter than `new Date()`, which reads "1" as a
 * year, moves the 30th of February to March, and depends on the time zone of the server.
 */
export function parseDate(text: string): Date | undefined {
  const [match, year, month, day] = isoDate.exec(text) ?? []
  if (match === undefined || !isCalendarDay(Number(year), Number(month), Number(day)))
    return undefined
  // A leap second is the last second of the minute: Date has none.
  const date = new Date(match.toUpperCase().replace(':60', ':59'))
  return Number.isNaN(date.getTime()) ? undefined : date
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  if (day >= 1 && day <= 28) return month >= 1 && month <= 12
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}
