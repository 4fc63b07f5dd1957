import { type LedgerOptions, SqliteLedger } from '../../storage/ledger/sqlite-ledger.ts'
import { createServerProcess } from './server-process.ts'
import { createSystemClocks } from './system-clocks.ts'

/** Opens a ledger with the clocks and the identity of this process; its time is `ledger.clock`. */
export const openLedger = (
  options: Pick<
    LedgerOptions,
    'file' | 'checksRows' | 'keepRunsMs' | 'keepExecutionsMs' | 'onError' | 'onWarning' | 'onDamage'
  >,
): SqliteLedger =>
  new SqliteLedger({ ...options, process: createServerProcess(), clocks: createSystemClocks() })
