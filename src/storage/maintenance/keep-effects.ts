import { rmSync } from 'node:fs'
import { readSecret, toCompanionFile } from '../companion-files.ts'
import { latestVersion, migrate, prepareLedger, readVersion } from '../ledger/ledger-schema.ts'
import { RowSeals } from '../ledger/seals/row-seals.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { openDamagedCopy } from './damaged-copy.ts'
import { copySealedRows } from './repair-ledger.ts'
import type { LostRow } from './salvage-table.ts'

/**
 * Copies the runs, approvals and spending of a replaced ledger into the restored one. Open approvals of the
 * backup are dropped: they may have been used since.
 */
export function keepEffects(
  file: string,
  replaced: string,
): { readonly kept: Readonly<Record<string, number>>; readonly lost: LostRow[] } {
  const kept: Record<string, number> = {}
  const lost: LostRow[] = []
  const fresh = openSqlite(file)
  const copy = `${file}.restoring-copy`
  const damaged = openDamagedCopy(replaced, copy, (reason) =>
    lost.push({ table: '*', key: 'the replaced store', reason }),
  )
  try {
    prepareLedger(fresh)
    migrate(
      fresh,
      () => {},
      () => {},
    )
    fresh.exec('begin immediate')
    fresh.exec(`delete from approvals where state in ('pending', 'approved')`)
    if (damaged)
      copySealedRows(
        {
          damaged,
          fresh,
          onLost: (row) => lost.push(row),
          onSaved: (table) => {
            kept[table] = (kept[table] ?? 0) + 1
          },
        },
        toSeals(replaced, damaged),
      )
    fresh.exec('commit')
    return { kept, lost }
  } finally {
    damaged?.close()
    fresh.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
  }
}

/** `undefined` when rows cannot be verified: an earlier version wrote them, or the key is lost. */
function toSeals(file: string, database: Sqlite): RowSeals | undefined {
  try {
    if (readVersion(database) < latestVersion) return undefined
    const secret = readSecret(toCompanionFile(file, 'key'))
    return secret === undefined ? undefined : new RowSeals(secret)
  } catch {
    return undefined
  }
}
