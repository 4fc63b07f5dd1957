import type { Value } from '../../sqlite/sqlite.ts'
import { sealLength, toKey, toSeal } from './seal.ts'

/** 128 bits in hexadecimal. */
export type Seal = string

const sealPattern = /^[0-9a-f]{32}$/

/**
 * Seals rows with a key outside the database, and sums the seals of all rows (MSet-Add-Hash): the sum
 * changes with every row that is added, changed or removed, and does not depend on their order.
 */
export class RowSeals {
  readonly #key: string
  /** Change of the sum since the last commit. */
  #change = 0n

  constructor(secret: string) {
    this.#key = toKey(secret, 'row seals')
  }

  seal(text: string): Seal {
    return toSeal(this.#key, text)
  }

  sealRow(table: string, values: readonly Value[]): Seal {
    return this.seal(`${table}\n${JSON.stringify(values)}`)
  }

  get change(): bigint {
    return this.#change
  }

  /** Sets the change back: to 0 after a commit, to an earlier value after a rollback. */
  reset(change: bigint): void {
    this.#change = change
  }

  add(seal: Seal): void {
    this.#change += toNumber(seal)
  }

  remove(seal: Seal): void {
    this.#change -= toNumber(seal)
  }
}

export const isSeal = (text: string): text is Seal => sealPattern.test(text)

/** The sum after a change, modulo 2^128. */
export const addToSum = (sum: Seal, change: bigint): Seal =>
  change === 0n
    ? sum
    : BigInt.asUintN(128, toNumber(sum) + change)
        .toString(16)
        .padStart(sealLength, '0')

export const emptySum: Seal = '0'.repeat(sealLength)

const toNumber = (seal: Seal): bigint => BigInt(`0x${seal}`)
