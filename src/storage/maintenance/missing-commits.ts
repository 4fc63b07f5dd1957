import { toCompanionFile } from '../companion-files.ts'
import { isOlder, type LedgerState, StateRow } from '../ledger/damage/ledger-state.ts'
import { readWitness } from '../ledger/damage/witness.ts'
import type { RowSeals } from '../ledger/seals/row-seals.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import type { LostRow } from './salvage-table.ts'

/**
 * Commits that were acknowledged, by the witness, and are not in the database: its rows can all be intact, and
 * effects are missing nevertheless. `undefined` if the database is complete.
 */
export function findMissingCommits(
  file: string,
  database: Sqlite,
  seals: RowSeals,
): LostRow | undefined {
  const witnessFile = toCompanionFile(file, 'witness')
  const witness = readWitness(witnessFile, seals)
  const state = tryReadState(database, seals)
  switch (witness.kind) {
    case 'founding':
      return undefined
    case 'absent':
    case 'unreadable':
      return toLost(witnessFile, 'it is missing or changed, so the last commits may be missing')
    case 'records': {
      const { commits } = witness.latest
      if (!state) return toLost(`commits up to ${commits}`, 'some may be missing')
      if (!isOlder(state, witness.latest)) return undefined
      return toLost(`commits after ${state.commits}, up to ${commits}`, 'they are missing')
    }
  }
}

const toLost = (key: string, reason: string): LostRow => ({
  table: '*',
  key,
  reason: `${reason}: effects of that time are not recorded, and their calls may run again`,
})

/** `undefined` if the state cannot be read or was changed. */
export function tryReadState(database: Sqlite, seals: RowSeals): LedgerState | undefined {
  try {
    return new StateRow(database, seals).tryRead()
  } catch {
    return undefined
  }
}
