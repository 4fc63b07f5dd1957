import { closeSync, copyFileSync, existsSync, openSync, writeSync } from 'node:fs'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'

/**
 * Opens a copy of a damaged database: SQLite may change a file while it recovers its write-ahead log. A
 * database that cannot be opened at all is reported.
 */
export function openDamagedCopy(
  file: string,
  copy: string,
  onUnreadable: (reason: string) => void,
): Sqlite | undefined {
  if (!existsSync(file)) {
    onUnreadable('the file is missing')
    return undefined
  }
  for (const suffix of ['', '-wal'])
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
  try {
    return openReadable(copy)
  } catch (error) {
    try {
      writeHeader(copy)
      return openReadable(copy)
    } catch {
      onUnreadable((error as Error).message)
      return undefined
    }
  }
}

function openReadable(file: string): Sqlite {
  const database = openSqlite(file)
  try {
    database.prepare('select count(*) from sqlite_master').get()
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** The fields of SQLite's file header that are the same in all stores: magic, page size 4096, WAL, fractions. */
const header = Buffer.concat([
  Buffer.from('SQLite format 3\0'),
  Buffer.from([0x10, 0x00, 2, 2, 0, 64, 32, 32]),
])

function writeHeader(file: string): void {
  const descriptor = openSync(file, 'r+')
  try {
    writeSync(descriptor, header, 0, header.length, 0)
  } finally {
    closeSync(descriptor)
  }
}
