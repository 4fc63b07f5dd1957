import { appendFile, writeFile } from 'node:fs/promises'
import type { ExportPart } from '../../sources/records/import/export-part.ts'
import type { TypeMismatch } from '../../sources/records/import/type-mismatches.ts'
import type { RecordSource } from '../../sources/records/model/stream.ts'
import type { BackgroundWriter } from '../../storage/records/writing/background-writer.ts'
import type { Rejected } from '../../storage/records/writing/file-import.ts'
import type { RecordWriter } from '../../storage/records/writing/record-writer.ts'
import type { WrittenBatch } from '../../storage/records/writing/write-batch.ts'

export interface ImportOptions {
  readonly writer: Pick<RecordWriter, 'linesOf'>
  readonly background: BackgroundWriter
  readonly source: RecordSource
  readonly file: string
  /** What of it, where not all is meant. */
  readonly part?: ExportPart | undefined
  /** From its first line, whatever an earlier import has taken. */
  readonly again?: boolean | undefined
  readonly now: () => number
  readonly onProgress: (share: number, lines: number) => void
  readonly onRejected: (line: number, fault: string) => void
}

export interface ImportResult extends WrittenBatch {
  readonly rejected: number
  /** Where the lines lie that could not be taken. */
  readonly aside?: string
  /** Lines of the same file that an earlier import had taken already. */
  readonly skipped: number
  /** Lines of an export that say that they are of another stream or connection. */
  readonly others: number
  /** Values that are kept, but that nobody can filter or count by. */
  readonly misfits?: readonly TypeMismatch[]
}

/** Batch by batch: what is acknowledged is in the store, and a second run goes on behind it. */
export async function importRecords(options: ImportOptions): Promise<ImportResult> {
  const { writer, background, source, file, part, again, now, onProgress, onRejected } = options
  const { digest, size } = await background.digest(file)
  const after = again ? 0 : writer.linesOf(source, digest)
  const totals = { added: 0, changed: 0, removed: 0, same: 0, rejected: 0, skipped: 0, others: 0 }
  const aside = toAside(file)
  // A second run goes on behind what the first one has set aside.
  const setAside = createAside(aside, after > 0)
  let misfits: readonly TypeMismatch[] = []
  for await (const loaded of background.load(source, { file, digest, after, part }, now)) {
    for (const key of ['added', 'changed', 'removed', 'same'] as const)
      totals[key] += loaded.written[key]
    totals.skipped += loaded.skipped
    totals.others += loaded.others
    totals.rejected += loaded.rejected.length
    misfits = loaded.misfits
    for (const { line, fault } of loaded.rejected) onRejected(line, fault)
    await setAside(loaded.rejected)
    onProgress(loaded.isEnd ? 1 : loaded.bytes / size, loaded.lines)
  }
  return {
    ...totals,
    ...(totals.rejected > 0 && { aside }),
    ...(misfits.length > 0 && { misfits }),
  }
}

export const toAside = (file: string): string => `${file}.rejected`

function createAside(file: string, isBegun: boolean) {
  let put = isBegun ? appendFile : writeFile
  return async (rejected: readonly Rejected[]): Promise<void> => {
    if (rejected.length === 0) return
    await put(file, rejected.map(({ text }) => `${text}\n`).join(''))
    put = appendFile
  }
}
