import type { Comparable, Field } from './stream.ts'

/** A value of a field as it is compared: the same rule for what is stored and what is asked. */
export function toComparable(
  { type }: Pick<Field, 'type'>,
  value: unknown,
): Comparable | undefined {
  switch (type) {
    case 'string':
      // For one of the drivers a text ends at NUL, so that none with it could be told from its beginning.
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

/** ISO 8601 alone: what `Date` takes besides depends on the machine. Without a zone it is UTC. */
export function toMilliseconds(text: string): number | undefined {
  if (!iso.test(text) || !isDay(text)) return undefined
  if (text.length === 24 && text.endsWith('Z')) return known(Date.parse(text))
  const upper = text.toUpperCase().replace(' ', 'T')
  const zoned = upper.length === 10 || /(?:Z|[+-]\d{2}:?\d{2})$/.test(upper) ? upper : `${upper}Z`
  return known(Date.parse(zoned.replace(/([+-]\d{2})(\d{2})$/, '$1:$2')))
}

/** `Date` takes the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  if (day <= 28) return true
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))]
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

const known = (time: number): number | undefined => (Number.isNaN(time) ? undefined : time)

/** The way back, for what is computed from comparables alone. */
export function fromComparable(
  { type }: Pick<Field, 'type'>,
  value: Comparable,
): string | number | boolean {
  if (type === 'boolean') return value === 1
  if (type === 'date') return new Date(Number(value)).toISOString().slice(0, 10)
  if (type === 'date-time') return new Date(Number(value)).toISOString()
  return value
}
