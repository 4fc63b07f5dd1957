import { toText } from '../sqlite/bytes.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/**
 * A secret that all processes on one file share, by name. Race-free: the first insert wins, and every
 * process reads the row afterwards.
 */
export function readOrCreateSharedSecret(
  database: Sqlite,
  name: string,
  create: () => string,
): string {
  const read = () => {
    // Text is read as bytes: one of the drivers aborts the process on invalid UTF-8.
    const row = database
      .prepare<{ value: Uint8Array }>(
        'select cast(value as blob) as value from shared_secrets where name = ?',
      )
      .get(name)
    return row && toText(row.value)
  }
  const existing = read()
  if (existing !== undefined) return existing
  const value = create()
  database
    .prepare('insert into shared_secrets (name, value) values (?, ?) on conflict do nothing')
    .run(name, value)
  return read() ?? value
}
