import type { Sqlite } from '../sqlite/sqlite.ts'
import {
  type LostRow,
  readLayout,
  type SavedRow,
  salvageTable,
  type TableLayout,
} from './salvage-table.ts'

/** The parts of a repair: rows are copied from a damaged database into a fresh one. */
export interface Repair {
  readonly damaged: Sqlite
  readonly fresh: Sqlite
  readonly onLost: (row: LostRow) => void
  readonly onSaved: (table: string) => void
}

/** Copies the readable rows of a table, as `accept` changes them; `undefined` skips a row. */
export function copyRows(
  { damaged, fresh, onLost, onSaved }: Repair,
  table: string,
  accept: (row: SavedRow) => SavedRow | undefined = (row) => row,
): void {
  const layout = toCommonLayout(readLayout(fresh, table), damaged)
  const names = layout.columns.map(({ name }) => name)
  const insert = fresh.prepare(
    `insert or replace into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
  )
  for (const row of salvageTable(damaged, layout, onLost)) {
    const accepted = accept(row)
    if (!accepted) continue
    try {
      insert.run(...names.map((name) => accepted[name] ?? null))
      onSaved(table)
    } catch (error) {
      const key = layout.key.map((name) => row[name]).join(' ')
      onLost({ table, key, reason: (error as Error).message })
    }
  }
}

/** A store of an earlier version has fewer columns; they stay null in the fresh one. */
function toCommonLayout(layout: TableLayout, damaged: Sqlite): TableLayout {
  try {
    const known = new Set(readLayout(damaged, layout.table).columns.map(({ name }) => name))
    if (known.size === 0) return layout
    return { ...layout, columns: layout.columns.filter(({ name }) => known.has(name)) }
  } catch {
    return layout
  }
}
