import { randomUUID } from 'node:crypto'

/**
 * UUIDs in the order of their time (version 7, RFC 9562). The ledger appends rows with such ids at the end of its
 * tables; random ones would change as many pages per commit as there are rows in it.
 */
export function createNewId(now: () => number): () => string {
  let prefix = { time: Number.NaN, text: '' }
  return () => {
    const time = now()
    if (time !== prefix.time) {
      const digits = time.toString(16).padStart(12, '0')
      prefix = { time, text: `${digits.slice(0, 8)}-${digits.slice(8)}-7` }
    }
    return prefix.text + randomUUID().slice(15)
  }
}
