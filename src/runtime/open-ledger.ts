import { randomUUID } from 'node:crypto'
import { type LedgerOptions, SqliteLedger } from '../storage/ledger/sqlite-ledger.ts'

export const openLedger = (
  options: Pick<LedgerOptions, 'file' | 'keepRunsMs' | 'keepExecutionsMs' | 'onError' | 'onDamage'>,
): SqliteLedger =>
  new SqliteLedger({
    ...options,
    processId: randomUUID(),
    pid: process.pid,
    now: Date.now,
    isAlive,
  })

/** Signal 0 checks whether a process exists without sending it a signal. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
