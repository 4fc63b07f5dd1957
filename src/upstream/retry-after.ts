type Header = string | null | undefined

/**
 * How many milliseconds an answer asks to wait: seconds, or until a date. That date is the other
 * side's, so it is measured against the one its answer carries, and not against a clock here.
 */
export function toRetryAfter(header: Header, answeredAt: Header): number | undefined {
  const value = header?.trim()
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const wait = Date.parse(value) - Date.parse(answeredAt ?? '')
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
