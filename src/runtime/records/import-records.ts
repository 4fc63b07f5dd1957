import { dropUndefined } from '../../json/drop-undefined.ts'
import type { ExportPart } from '../../sources/records/import/export-part.ts'
import {
  emptyTotals,
  type ImportResult,
  RejectedLines,
} from '../../sources/records/import/import-result.ts'
import type { TypeMismatch } from '../../sources/records/import/type-mismatches.ts'
import type { RecordSource } from '../../sources/records/model/stream.ts'
import { BackgroundWriter } from './background-writer.ts'
import type { OwnerStore } from './owner-store.ts'

export interface ImportOptions {
  /** The file of the store. */
  readonly store: string
  readonly writer: Pick<OwnerStore, 'importedLines'>
  readonly source: RecordSource
  readonly file: string
  /** Imports only this part of an export. */
  readonly part?: ExportPart | undefined
  /** Starts at the first line, even if an earlier import has imported some. */
  readonly again?: boolean | undefined
  /** Stops after the current batch: then the import rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  readonly now: () => number
  readonly onProgress: (share: number, lines: number) => void
  readonly onRejected: (line: number, fault: string) => void
}

/** Imports a file in batches. Each batch is committed with its position, so that a second run continues there. */
export async function importRecords(options: ImportOptions): Promise<ImportResult> {
  const { store, writer, source, file, part, again, signal, now, onProgress, onRejected } = options
  const background = new BackgroundWriter(store)
  try {
    const { digest, size } = await background.digest(file)
    signal?.throwIfAborted()
    const after = again ? 0 : writer.importedLines(source, digest)
    const totals = { ...emptyTotals }
    // A run that continues keeps the lines that the first run has rejected.
    const rejectedLines = new RejectedLines(file, { keepsFormer: after > 0 })
    let mismatches: readonly TypeMismatch[] = []
    for await (const batch of background.load(source, { file, digest, after, part }, now)) {
      for (const key of ['added', 'changed', 'removed', 'same'] as const)
        totals[key] += batch.counts[key]
      totals.skipped += batch.skipped
      totals.others += batch.others
      totals.rejected += batch.rejected.length
      mismatches = batch.mismatches
      for (const { line, fault } of batch.rejected) onRejected(line, fault)
      await rejectedLines.add(batch.rejected.map(({ text }) => text))
      onProgress(batch.isEnd ? 1 : batch.bytes / size, batch.lines)
      if (!batch.isEnd) signal?.throwIfAborted()
    }
    return dropUndefined({
      ...totals,
      aside: totals.rejected > 0 ? rejectedLines.file : undefined,
      misfits: mismatches.length > 0 ? mismatches : undefined,
    })
  } finally {
    await background.close()
  }
}
