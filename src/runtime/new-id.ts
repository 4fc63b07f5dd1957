import { randomUUID } from 'node:crypto'

/**
 * UUIDs in the order of their time (version 7, RFC 9562). The ledger appends rows with such ids at the end of its
 * tables; random ones would change as many pages per commit as there are rows in it.
 */
export const createNewId = (now: () => number) => (): string => {
  const time = now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
