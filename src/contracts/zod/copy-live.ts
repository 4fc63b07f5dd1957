import { isPlainObject } from '../../json/is-plain-object.ts'

/** The JSON with the live values of the other value at the same places. */
export function copyLive(json: unknown, live: unknown): unknown {
  if (Array.isArray(json))
    return Array.isArray(live) && live.length === json.length
      ? json.map((item, index) => copyLive(item, live[index]))
      : isLive(live)
        ? live
        : json
  if (isPlainObject(json) && isPlainObject(live))
    return Object.fromEntries(
      Object.entries(json).map(([key, item]) => [
        key,
        Object.hasOwn(live, key) ? copyLive(item, live[key]) : item,
      ]),
    )
  return isLive(live) ? live : json
}

/** A value that JSON does not have. */
export const isLive = (value: unknown): boolean =>
  typeof value === 'bigint' ||
  (typeof value === 'object' && value !== null && !Array.isArray(value) && !isPlainObject(value))
