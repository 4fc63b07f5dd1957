import { name, type Sql } from '../sqlite/sql.ts'

/*
 * Every source (one stream of one connection) has tables of its own. On disk they have short names with
 * the number of the source, because existing files do:
 *
 * | on disk | function           | holds                                                                 |
 * |---------|--------------------|-----------------------------------------------------------------------|
 * | `r12`   | `recordTable`      | one row per record: id, key, seq, at, a column per scalar field, body |
 * | `s12`   | `wordTable`        | full-text index (FTS5) of the searchable fields                       |
 * | `h12`   | `fieldChangeTable` | when each field of a record last changed: id, field, seq              |
 * | `d12`   | `departureTable`   | deleted records, and former consent times of changed ones             |
 * | `g12`   | `segmentTable`     | directory of the column segments: last, rows, version                 |
 * | `c12`   | `columnTable`      | column data: field, segment, data                                     |
 * | `x12`   | `staleTable`       | records whose segment is out of date: id                              |
 *
 * Columns go by the number of the field: `f3` in a record table, `c3` in a word table.
 */

export const recordTable = (source: number): Sql => name`r${source}`
export const wordTable = (source: number): Sql => name`s${source}`
export const fieldChangeTable = (source: number): Sql => name`h${source}`
export const departureTable = (source: number): Sql => name`d${source}`
export const segmentTable = (source: number): Sql => name`g${source}`
export const columnTable = (source: number): Sql => name`c${source}`
export const staleTable = (source: number): Sql => name`x${source}`

/** The former record table while a source is rebuilt, inside one transaction. */
export const formerRecordTable = (source: number): Sql => name`former${source}`

export const valueColumn = (field: number): Sql => name`f${field}`
export const wordColumn = (field: number): Sql => name`c${field}`

export const recordKeyIndex = (source: number): Sql => name`r${source}_k`
export const recordSeqIndex = (source: number): Sql => name`r${source}_s`
/** Exists for the cursor field and the consent time field. */
export const recordValueIndex = (source: number, field: number): Sql => name`r${source}_f${field}`
export const foreignKeyIndex = (source: number, field: number): Sql => name`r${source}_x${field}`
export const fieldChangeIndex = (source: number): Sql => name`h${source}_f`
/** Dropped in version 9. */
export const formerChangeIndex = (source: number): Sql => name`h${source}_s`
export const departureKeyIndex = (source: number): Sql => name`d${source}_k`
