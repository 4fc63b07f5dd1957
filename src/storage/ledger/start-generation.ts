import { statSync } from 'node:fs'
import type { AuditEntry } from '../../governance/ledger.ts'
import { readOrCreateSecret, toCompanionFile } from '../companion-files.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { ChainTable } from './chain-table.ts'
import { migrate, prepareLedger, rollBack } from './ledger-schema.ts'
import { type LedgerState, parseState, StateRow } from './ledger-state.ts'
import { RowSeals } from './row-seals.ts'
import { openSealedRows } from './sealed-rows.ts'
import { readWitness, replaceWitness } from './witness.ts'

export interface GenerationOptions {
  /** Why the database does not continue the former one. */
  readonly event: 'restored' | 'repaired'
  /** The operator. */
  readonly by: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** `all` seals every row again: for a store whose key was lost. Otherwise a row with a wrong seal throws. */
  readonly accepts?: 'sealed' | 'all'
}

/**
 * Makes the present content of a database valid: records a new generation in its audit and in the witness.
 * Call it after a database was restored or repaired, while no other process has it open. Returns the new
 * generation. Throws a `DamageError` for the first row with a wrong seal.
 */
export function startGeneration(
  store: string,
  { event, by, at, accepts = 'sealed' }: GenerationOptions,
): LedgerState {
  const witnessFile = toCompanionFile(store, 'witness')
  const seals = new RowSeals(readOrCreateSecret(toCompanionFile(store, 'key')))
  const witness = readWitness(witnessFile, seals)
  const database = openSqlite(store)
  try {
    prepareLedger(database)
    migrate(
      database,
      () => {},
      () => {},
    )
    database.exec('pragma synchronous = full')
    database.exec('begin immediate')
    let record: string
    try {
      const tables = Object.values(openSealedRows(database, seals))
      for (const table of tables) {
        if (accepts === 'all') table.removeSeals()
        table.sealAll()
      }
      seals.reset(0n)
      for (const table of tables) for (const { seal } of table.rows()) seals.add(seal)
      const audit = new ChainTable<AuditEntry>(database, 'audit')
      audit.append([JSON.stringify({ event, at, by } satisfies AuditEntry)], at)
      const state = new StateRow(database, seals)
      const { generation = 0, commits = 0 } = state.tryRead() ?? {}
      const latest = witness.kind === 'records' ? witness.latest : { generation: 0, commits: 0 }
      record = state.startGeneration(
        {
          generation: Math.max(generation, latest.generation),
          commits: Math.max(commits, latest.commits),
        },
        audit.end,
      )
      database.exec('commit')
    } catch (error) {
      rollBack(database)
      throw error
    }
    database.exec('pragma wal_checkpoint(truncate)')
    const { size, mtimeMs } = statSync(store)
    replaceWitness(witnessFile, record, `${size}:${mtimeMs}`)
    return parseState(record, seals) as LedgerState
  } finally {
    database.close()
  }
}
