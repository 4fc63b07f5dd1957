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
  const read = () =>
    database.prepare<{ value: string }>('select value from shared_secrets where name = ?').get(name)
      ?.value
  const existing = read()
  if (existing !== undefined) return existing
  const value = create()
  database
    .prepare('insert into shared_secrets (name, value) values (?, ?) on conflict do nothing')
    .run(name, value)
  return read() ?? value
}
