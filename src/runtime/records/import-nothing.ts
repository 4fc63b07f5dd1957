import { appendFile, rm } from 'node:fs/promises'
import { readLines } from '../../sources/records/import/read-lines.ts'
import { toCellOf } from '../../sources/records/import/to-cell.ts'
import { toRecordEntry } from '../../sources/records/import/to-entry.ts'
import type { Stream } from '../../sources/records/model/stream.ts'
import { type ImportOptions, type ImportResult, toAside } from './import-records.ts'

/** Whether a file has any record of a stream: a connection is not made for the sake of one that has none. */
export function holdsRecords(file: string, stream: Stream, now: number): boolean {
  const at = new Date(now).toISOString()
  for (const { value, fault } of readLines(file, toCellOf(stream))) {
    const entry = fault ?? toRecordEntry(stream, value, at)
    if (typeof entry !== 'string' && entry.written) return true
  }
  return false
}

export interface NothingOptions extends Pick<ImportOptions, 'file' | 'onRejected'> {
  readonly stream: Stream
  readonly now: number
}

/** What an import of such a file says of each line, without a place to put any. */
export async function importNothing(options: NothingOptions): Promise<ImportResult> {
  const { file, stream, now, onRejected } = options
  const at = new Date(now).toISOString()
  const totals = { added: 0, changed: 0, removed: 0, same: 0, rejected: 0, skipped: 0, others: 0 }
  const aside = toAside(file)
  for (const { number, text, value, fault } of readLines(file, toCellOf(stream))) {
    const entry = fault ?? toRecordEntry(stream, value, at)
    // Gone, and never here.
    if (typeof entry !== 'string') {
      totals.same += 1
      continue
    }
    if (totals.rejected === 0) await rm(aside, { force: true })
    totals.rejected += 1
    onRejected(number, entry)
    await appendFile(aside, `${text ?? JSON.stringify(value)}\n`)
  }
  return totals.rejected === 0 ? totals : { ...totals, aside }
}
