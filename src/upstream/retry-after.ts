type HeaderValue = string | null | undefined

/**
 * Parses a `Retry-After` header (seconds or an HTTP date) to milliseconds. A date is compared with
 * the response's own `Date` header, not with the local clock: the clocks may differ.
 */
export function toRetryAfter(header: HeaderValue, responseDate: HeaderValue): number | undefined {
  const value = header?.trim()
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const waitMs = Date.parse(value) - Date.parse(responseDate ?? '')
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs)
}
