export type Value = string | number | Uint8Array | null

/** What `node:sqlite` and libsql have in common. */
export interface Driver {
  prepare(sql: string): DriverStatement
  exec(sql: string): unknown
  close(): void
}

export interface DriverStatement {
  run(...values: Value[]): { changes: number | bigint }
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
}
