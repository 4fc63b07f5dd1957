import { randomUUID } from 'node:crypto'
import { type LedgerOptions, SqliteLedger } from '../storage/ledger/sqlite-ledger.ts'

export const openLedger = (
  options: Pick<LedgerOptions, 'file' | 'keep' | 'keepExecutions' | 'onError'>,
): SqliteLedger =>
  new SqliteLedger({ ...options, boot: randomUUID(), pid: process.pid, now: Date.now, isAlive })

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's process is alive, too.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
