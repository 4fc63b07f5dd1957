import { importRecords } from '../../runtime/records/import-records.ts'
import type { OwnerStore } from '../../runtime/records/owner-store.ts'
import { dryImport, hasRecords } from '../../sources/records/import/dry-import.ts'
import { findExportPart } from '../../sources/records/import/export-part.ts'
import type { ImportResult } from '../../sources/records/import/import-result.ts'
import { toConnection } from '../../sources/records/import/to-connection.ts'
import type { TypeMismatch } from '../../sources/records/import/type-mismatches.ts'
import type { Stream } from '../../sources/records/model/stream.ts'
import { redeclareStream } from '../../sources/records/streams/redeclare-stream.ts'
import { exitCodes } from '../exit-codes.ts'
import { count, print, printJson, printMessage, toLine } from '../terminal/print.ts'
import { createProgressBar } from '../terminal/progress.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface ImportFlags {
  readonly file: string
  /** The file of the store. */
  readonly store: string
  readonly connection: string
  /** The streams of a `streams.yaml`, and its name. */
  readonly declaration?: { readonly file: string; readonly streams: readonly Stream[] } | undefined
  readonly stream?: string | undefined
  readonly connector?: string | undefined
  readonly label?: string | undefined
  readonly again?: boolean | undefined
  readonly json?: boolean | undefined
}

export async function importFile(store: OwnerStore, flags: ImportFlags): Promise<number> {
  const { connection, file, declaration, json } = flags
  const stream = findStream(declaration?.streams ?? store.streams, flags)
  if (declaration)
    for (const one of redeclareStream(store, stream, declaration.file)) printMessage(toLine(one))
  const result = await importLines(store, stream, flags)
  if (!result) {
    printMessage(
      'Stopped. The lines imported so far are in the store; run the same command to continue.',
    )
    return exitCodes.interrupted
  }
  for (const mismatch of result.misfits ?? []) printMessage(toMismatchLine(file, mismatch))
  if (json) printJson({ stream: stream.name, connection_id: connection, ...result })
  else print(`${stream.name} of ${connection}: ${toSummary(result)}`)
  if (!hasSource(store, stream, connection))
    printMessage(
      `The connection ${connection} was not created: ${file} has no records for ${stream.name}.`,
    )
  return result.rejected > 0 ? 1 : 0
}

/** Ctrl-C finishes the current batch first; a second Ctrl-C ends the process at once. */
function listenForInterrupt(): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const abort = () => controller.abort()
  process.once('SIGINT', abort)
  return { signal: controller.signal, end: () => void process.off('SIGINT', abort) }
}

/** `undefined` when interrupted. */
async function importLines(
  store: OwnerStore,
  stream: Stream,
  flags: ImportFlags,
): Promise<ImportResult | undefined> {
  const { file, connection: id, label, again } = flags
  const connection = toConnection(store.sources, { id, connector: stream.connector, label })
  const part = findExportPart(file, { stream: stream.name, connection: id })
  const onRejected = (line: number, fault: string) =>
    printMessage(`${file}:${line} is rejected: ${fault}`)
  // A new connection id may be mistyped, and a connection cannot be removed: create it only for records.
  if (!hasSource(store, stream, id) && !hasRecords(file, stream, Date.now()))
    return dryImport({ file, stream, now: Date.now(), onRejected })
  const progress = createProgressBar(file)
  // Not earlier: no signal handler runs during the synchronous scans above, so Ctrl-C must keep its default.
  const { signal, end } = listenForInterrupt()
  try {
    return await importRecords({
      store: flags.store,
      writer: store,
      source: store.open(stream, connection),
      file,
      part,
      again,
      signal,
      now: Date.now,
      onProgress: progress.show,
      onRejected,
    })
  } catch (error) {
    if (error === signal.reason) return undefined
    throw error
  } finally {
    end()
    progress.end()
  }
}

function toSummary(result: ImportResult): string {
  const { added, changed, removed, same, skipped, others, rejected, aside: rejectedFile } = result
  return [
    `${added} added, ${changed} changed, ${removed} removed, ${same} unchanged`,
    ...(skipped > 0
      ? [`${count(skipped, 'line')} imported before (--again imports them again)`]
      : []),
    ...(others > 0 ? [`${count(others, 'line')} of other streams or connections left out`] : []),
    ...(rejected > 0 ? [`${count(rejected, 'line')} rejected, kept in ${rejectedFile}`] : []),
  ].join(', ')
}

const toMismatchLine = (file: string, { field, type, count: times, line }: TypeMismatch): string =>
  `${file}:${line} ${field} is not of type ${type}${times > 1 ? `, nor in ${count(times - 1, 'later record')}` : ''}: it is kept and shown, but filters, sorting, time ranges and sums ignore it`

const hasSource = (store: OwnerStore, { name, connector }: Stream, id: string): boolean =>
  store.sources.some(
    ({ connection, stream }) =>
      connection.id === id && stream.name === name && stream.connector === connector,
  )

/** The declared stream that the flags select; without `--stream` there must be exactly one. */
export function findStream(
  streams: readonly Stream[],
  {
    stream: name,
    connector,
    declaration,
  }: Pick<ImportFlags, 'stream' | 'connector' | 'declaration'>,
): Stream {
  const candidates = streams.filter(
    (one) => (name ?? one.name) === one.name && (connector ?? one.connector) === one.connector,
  )
  const [stream, ...others] = candidates
  if (stream && others.length === 0) return stream
  const available = streams.map((one) => one.name).join(', ') || 'none'
  if (stream) throw new UsageError(`Name one stream with --stream. Available: ${available}`)
  throw new UsageError(
    declaration === undefined
      ? `The store does not declare this stream. Declare it with --streams streams.yaml ("drawbridge records streams FILE" drafts one). Available: ${available}`
      : `${declaration.file} declares no stream ${name ?? ''}. Available: ${available}`,
  )
}
