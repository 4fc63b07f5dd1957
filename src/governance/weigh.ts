const deepest = 100

/**
 * About how many characters a value takes as JSON; `NaN` where JSON cannot carry it. Stops as soon
 * as it knows the value to be too heavy, so that weighing never costs more than the limit.
 */
export function weigh(value: unknown, limit: number, depth = 0): number {
  switch (typeof value) {
    case 'string':
      return value.length + 2
    case 'number':
    case 'boolean':
      return 5
    case 'bigint':
      return Number.NaN
    case 'object':
      break
    default:
      return 0
  }
  if (value === null) return 4
  if (depth > deepest || value instanceof Map || value instanceof Set) return Number.NaN
  let weight = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      weight += weigh(item, limit, depth + 1) + 1
      if (!(weight <= limit)) return weight
    }
    return weight
  }
  for (const key in value) {
    weight += key.length + 4 + weigh((value as Record<string, unknown>)[key], limit, depth + 1)
    if (!(weight <= limit)) return weight
  }
  return weight
}
