import type { Sqlite } from './sqlite.ts'

/** Changes when another connection commits. */
export const readDataVersion = (database: Sqlite): number =>
  database.prepare<{ data_version: number }>('pragma data_version').get()?.data_version ?? 0
