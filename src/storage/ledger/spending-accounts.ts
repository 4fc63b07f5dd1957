import { DamageError } from '../../capability/storage-error.ts'
import type { SpendingRow } from './seals/sealed-rows.ts'
import type { Sealed, SealedTable } from './seals/sealed-table.ts'

/** Accounts kept in memory. */
const maxAccounts = 1000

/**
 * What was spent, by account and window. Calls of one batch charge the same few accounts, so each row is read
 * once, while no other process commits, and written and sealed once per transaction.
 */
export class SpendingAccounts {
  readonly #table: SealedTable<SpendingRow>
  readonly #accounts = new Map<string, Account>()
  /** Accounts with charges that are not written yet. */
  readonly #charged = new Set<Account>()

  constructor(table: SealedTable<SpendingRow>) {
    this.#table = table
  }

  spent(account: string, window: string): number {
    return this.#find(account, window).spent
  }

  charge(account: string, window: string, amount: number): void {
    if (amount === 0) return
    const found = this.#find(account, window)
    found.spent = Math.max(0, found.spent + amount)
    this.#charged.add(found)
  }

  /** Runs at the end of each transaction, and of each savepoint. */
  write(): void {
    for (const charged of this.#charged) {
      const { account, window, spent, row } = charged
      charged.row = row
        ? this.#table.update(row, { spent })
        : this.#table.insert({ account, window, spent })
      // Nobody else has committed since it was read.
      if (!charged.row)
        throw new DamageError(`the row ${account} ${window} of spending was changed`)
    }
    this.#charged.clear()
  }

  /** After a rollback, or a commit of another process. */
  forget(): void {
    this.#accounts.clear()
    this.#charged.clear()
  }

  #find(account: string, window: string): Account {
    const key = `${account}\n${window}`
    const known = this.#accounts.get(key)
    if (known) return known
    if (this.#accounts.size >= maxAccounts && this.#charged.size === 0) this.#accounts.clear()
    const row = this.#table.get('where account = ? and window = ?', account, window)
    const found = { account, window, spent: row?.spent ?? 0, row }
    this.#accounts.set(key, found)
    return found
  }
}

interface Account {
  readonly account: string
  readonly window: string
  spent: number
  /** As it is in the database; `undefined` while there is none. */
  row: Sealed<SpendingRow> | undefined
}
