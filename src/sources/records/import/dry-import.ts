import { isFault } from '../../../capability/fault.ts'
import type { Stream } from '../model/stream.ts'
import { emptyTotals, type ImportResult, RejectedLines } from './import-result.ts'
import { readLines, toLineText } from './read-lines.ts'
import { createCellParser } from './to-cell.ts'
import { toRecordEntry } from './to-entry.ts'

/** Whether a file contains a record of a stream. Deletions do not count. */
export function hasRecords(file: string, stream: Stream, now: number): boolean {
  const at = new Date(now).toISOString()
  for (const line of readLines(file, createCellParser(stream))) {
    const entry = isFault(line) ? line : toRecordEntry(stream, line.value, at)
    if (!isFault(entry) && entry.content) return true
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
  for (const line of readLines(file, createCellParser(stream))) {
    const entry = isFault(line) ? line : toRecordEntry(stream, line.value, at)
    // A deletion of a record that was never imported.
    if (!isFault(entry)) {
      totals.same += 1
      continue
    }
    totals.rejected += 1
    onRejected(line.number, entry.fault)
    await rejectedLines.add([toLineText(line)])
  }
  return totals.rejected === 0 ? totals : { ...totals, aside: rejectedLines.file }
}
