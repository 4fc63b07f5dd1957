import type { Repair } from './repair.ts'
import { salvageTable } from './salvage-table.ts'

const text = 'TEXT'

/** Indexes contain enough of a run whose row cannot be read to refuse the repetition of its call. */
const byDigest = {
  table: '(select caller, capability, digest, started, id from runs indexed by runs_by_digest)',
  key: ['caller', 'capability', 'digest', 'started', 'id'],
  columns: [
    { name: 'caller', type: text },
    { name: 'capability', type: text },
    { name: 'digest', type: text },
    { name: 'started', type: 'INTEGER' },
    { name: 'id', type: text },
  ],
}

const byKey = {
  table:
    '(select caller, capability, key, started, id from runs indexed by runs_by_key where key is not null)',
  key: ['caller', 'capability', 'key', 'started', 'id'],
  columns: byDigest.columns.map((column) =>
    column.name === 'digest' ? { name: 'key', type: text } : column,
  ),
}

/** Adds runs whose rows are lost, with an unknown outcome. */
export function rebuildRuns({ damaged, fresh, onLost, onSaved }: Repair): void {
  const find = fresh.prepare<{ id: string }>('select id from runs where id = ?')
  const add = fresh.prepare(
    `insert into runs (id, boot, caller, capability, key, digest, state, started, charges)
     values (?, '', ?, ?, null, ?, 'unknown', ?, '[]')`,
  )
  const setKey = fresh.prepare(
    `update runs set key = ? where id = ? and key is null and boot = '' and seal is null`,
  )
  const addWithKey = fresh.prepare(
    `insert into runs (id, boot, caller, capability, key, digest, state, started, charges)
     values (?, '', ?, ?, ?, '', 'unknown', ?, '[]')`,
  )
  const report = (id: string) => {
    onLost({
      table: 'runs',
      key: id,
      reason: 'its row cannot be read; kept from an index with an unknown outcome',
    })
    onSaved('runs')
  }
  // Damage of an index is no loss by itself.
  const ignore = () => {}
  for (const row of salvageTable(damaged, byDigest, ignore)) {
    const id = String(row.id)
    if (find.get(id)) continue
    add.run(id, String(row.caller), String(row.capability), String(row.digest), Number(row.started))
    report(id)
  }
  for (const row of salvageTable(damaged, byKey, ignore)) {
    const id = String(row.id)
    const { caller, capability, key, started } = row
    if (find.get(id)) setKey.run(String(key), id)
    else {
      addWithKey.run(id, String(caller), String(capability), String(key), Number(started))
      report(id)
    }
  }
}
