import type { Stream } from '../model/stream.ts'
import { emptyTotals, type ImportResult, RejectedLines } from './import-result.ts'
import { readLines } from './read-lines.ts'
import { createCellParser } from './to-cell.ts'
import { toRecordEntry } from './to-entry.ts'

/** Whether a file contains a record of a stream. Deletions do not count. */
export function hasRecords(file: string, stream: Stream, now: number): boolean {
  const at = new Date(now).toISOString()
  for (const { value, fault } of readLines(file, createCellParser(stream))) {
    const entry = fault ?? toRecordEntry(stream, value, at)
    if (typeof entry !== 'string' && entry.content) return true
  }
  return false
}

export interface DryImportOptions {
  readonly file: string
  readonly stream: Stream
  readonly now: number
  readonly onRejected: (line: number, fault: string) => void
}

/** Checks every line of a file without records, and creates no connection: its id may be mistyped. */
export async function dryImport(options: DryImportOptions): Promise<ImportResult> {
  const { file, stream, now, onRejected } = options
  const at = new Date(now).toISOString()
  const totals = { ...emptyTotals }
  const rejectedLines = new RejectedLines(file, { keepsFormer: false })
  for (const { number, text, value, fault } of readLines(file, createCellParser(stream))) {
    const entry = fault ?? toRecordEntry(stream, value, at)
    // A deletion of a record that was never imported.
    if (typeof entry !== 'string') {
      totals.same += 1
      continue
    }
    totals.rejected += 1
    onRejected(number, entry)
    await rejectedLines.add([text ?? JSON.stringify(value)])
  }
  return totals.rejected === 0 ? totals : { ...totals, aside: rejectedLines.file }
}
