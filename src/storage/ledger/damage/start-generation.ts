import type { AuditEntry } from '../../../governance/ledger.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { readOrCreateSecret, readSecret, toCompanionFile } from '../../companion-files.ts'
import { openReadOnly, openSqlite } from '../../sqlite/sqlite.ts'
import { ChainTable } from '../chain/chain-table.ts'
import { latestVersion, migrate, prepareLedger, readVersion, rollBack } from '../ledger-schema.ts'
import { RowSeals } from '../seals/row-seals.ts'
import { toChainKey } from '../seals/seal.ts'
import { openSealedRows } from '../seals/sealed-rows.ts'
import { uncheckedStamp } from './file-watch.ts'
import { type LedgerState, parseState, StateRow, serializeState } from './ledger-state.ts'
import { readWitness, replaceWitness } from './witness.ts'

export interface GenerationOptions {
  /** Why the database does not continue the former one. */
  readonly event: 'restored' | 'repaired'
  /** The operator. */
  readonly by: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Time from which effects may be missing, in milliseconds since the epoch. */
  readonly from?: number
  /** Number of rows that could not be saved. */
  readonly count?: number
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
  { event, by, at, from, count, accepts = 'sealed' }: GenerationOptions,
): LedgerState {
  const witnessFile = toCompanionFile(store, 'witness')
  const secret = readOrCreateSecret(toCompanionFile(store, 'key'))
  const seals = new RowSeals(secret)
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
      const chainKey = toChainKey(secret)
      const audit = new ChainTable<AuditEntry>(database, 'audit', chainKey)
      const events = new ChainTable(database, 'execution_events', chainKey)
      for (const chain of [audit, events]) {
        if (accepts === 'all') chain.removeSeals()
        chain.startSealing()
      }
      const state = new StateRow(database, seals)
      const { generation = 0, commits = 0 } = state.tryRead() ?? {}
      const latest = witness.kind === 'records' ? witness.latest : { generation: 0, commits: 0 }
      const former = {
        generation: Math.max(generation, latest.generation),
        commits: Math.max(commits, latest.commits),
      }
      const entry: AuditEntry = {
        event,
        at,
        by,
        generation: former.generation + 1,
        executions: events.end.next,
        ...dropUndefined({ from, count }),
      }
      audit.append([JSON.stringify(entry)], at)
      record = state.startGeneration(former, { audit: audit.end, events: events.end })
      database.exec('commit')
    } catch (error) {
      rollBack(database)
      throw error
    }
    database.exec('pragma wal_checkpoint(truncate)')
    replaceWitness(witnessFile, seals, record, uncheckedStamp)
    return parseState(record, seals) as LedgerState
  } finally {
    database.close()
  }
}

/** Writes the witness of a copy of a ledger: it confirms the state that the copy contains. */
export function writeWitness(store: string): void {
  const seals = new RowSeals(readSecret(toCompanionFile(store, 'key')) ?? '')
  const database = openReadOnly(store)
  try {
    if (readVersion(database) < latestVersion) return
    const record = serializeState(new StateRow(database, seals).read(), seals)
    replaceWitness(toCompanionFile(store, 'witness'), seals, record, uncheckedStamp)
  } finally {
    database.close()
  }
}
