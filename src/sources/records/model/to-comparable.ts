import type { Comparable, Field } from './stream.ts'

/** The comparable form of a field's value, for stored values and filter values alike. */
export function toComparable(
  { type }: Pick<Field, 'type'>,
  value: unknown,
): Comparable | undefined {
  switch (type) {
    case 'string':
      // One of the SQLite drivers truncates text at NUL: such a value would equal its own prefix.
      return typeof value === 'string' && !value.includes('\0') ? value : undefined
    case 'number':
    case 'integer':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined
    case 'boolean':
      return typeof value === 'boolean' ? Number(value) : undefined
    case 'date':
    case 'date-time':
      return typeof value === 'string' ? toMilliseconds(value) : undefined
    case 'other':
      return undefined
  }
}

const iso =
  /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?$/

/** ISO 8601 only: other formats `Date` accepts depend on the engine and time zone. No zone means UTC. */
export function toMilliseconds(text: string): number | undefined {
  if (!iso.test(text) || !isValidDay(text)) return undefined
  if (text.length === 24 && text.endsWith('Z')) return toDefined(Date.parse(text))
  const upper = text.toUpperCase().replace(' ', 'T')
  const zonedText =
    upper.length === 10 || /(?:Z|[+-]\d{2}:?\d{2})$/.test(upper) ? upper : `${upper}Z`
  return toDefined(Date.parse(zonedText.replace(/([+-]\d{2})(\d{2})$/, '$1:$2')))
}

/** `Date` rolls February 30 over to March 2 instead of rejecting it. */
function isValidDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  if (day <= 28) return true
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))]
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

const toDefined = (time: number): number | undefined => (Number.isNaN(time) ? undefined : time)

/** The inverse of `toComparable`, for values computed from comparables. */
export function fromComparable(
  { type }: Pick<Field, 'type'>,
  value: Comparable,
): string | number | boolean {
  if (type === 'boolean') return value === 1
  if (type === 'date') return new Date(Number(value)).toISOString().slice(0, 10)
  if (type === 'date-time') return new Date(Number(value)).toISOString()
  return value
}
