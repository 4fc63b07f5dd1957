import { existsSync, readFileSync, rmSync } from 'node:fs'
import { openSqlite, type Sqlite } from '../../src/storage/sqlite/sqlite.ts'
import { copyLedger } from './a-paying-bridge.ts'

/** Changes to the database of a closed store, by description. */
export type Edits = Readonly<
  Record<string, (database: Sqlite, file: string) => void | Promise<void>>
>

/** Makes each edit in the store, then restores it. Returns the edits after which `verify` still succeeds. */
export async function findUnnoticed(
  file: string,
  edits: Edits,
  verify: () => Promise<{ readonly code: number | null }>,
): Promise<string[]> {
  const unnoticed: string[] = []
  const good = `${file}.good`
  copyLedger(file, good)
  const before = readAll(file)
  for (const [name, edit] of Object.entries(edits)) {
    const database = openSqlite(file)
    await edit(database, file)
    database.exec('pragma wal_checkpoint(truncate)')
    database.close()
    if (readAll(file) === before) throw new Error(`The edit changes nothing: ${name}`)
    const { code } = await verify()
    if (code !== 1) unnoticed.push(`${name}: exit code ${code}`)
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
    copyLedger(good, file)
  }
  return unnoticed
}

const readAll = (file: string): string =>
  ['', '-wal', '.key', '.witness']
    .map((suffix) => file + suffix)
    .map((name) => (existsSync(name) ? readFileSync(name, 'latin1') : ''))
    .join('\n')
