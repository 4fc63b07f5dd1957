import { existsSync } from 'node:fs'
import path from 'node:path'
import { checkOptionNames } from '../../capability/check-option-names.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Source } from '../../capability/source.ts'
import { createTokenGate, type TokenGate } from '../../sources/records/grants/token-gate.ts'
import type { ReaderOptions } from '../../sources/records/reading/reader.ts'
import type { RecordSink } from '../../sources/records/record-sink.ts'
import { instructions, localRecordSource as toSource } from '../../sources/records/record-source.ts'
import { openRecordCatalog } from '../../storage/records/record-catalog.ts'
import { SqliteRecords } from '../../storage/records/sqlite-records.ts'
import { findSource } from '../../storage/records/writing/declare-streams.ts'
import { createCalendarClock } from '../clock.ts'
import type { OpenedSource, PlacedSource } from '../placed-source.ts'
import { findStoreProblems } from '../store/store-diagnostics.ts'
import { BackgroundWriter } from './background-writer.ts'
import { openRemoteRecords, type RemoteRecords } from './open-remote-records.ts'

export type { RemoteRecords }

export interface OpenedRecords {
  readonly source: Source
  readonly gate: TokenGate
  readonly instructions: string
  readonly isExclusive: true
  readonly reportTo: NonNullable<OpenedSource['reportTo']>
}

/** A source over a records store, and the gate for its tokens. The file may be created later. */
export function openRecords(store: string, folder = '.', id = store): OpenedRecords {
  const file = path.resolve(folder, store)
  const now = createCalendarClock()
  let records: SqliteRecords | undefined
  let report: (error: unknown) => void = () => {}
  const onError = (cause: unknown) =>
    report(new Error(`Reads cannot be logged in ${file}`, { cause }))
  const find = (): ReaderOptions | undefined => {
    if (!records && existsSync(file)) records = new SqliteRecords(file, now, onError)
    return records && { store: records, now }
  }
  let sink: StoreSink | undefined
  const gate = createTokenGate(find, () => {
    sink ??= openSink(file)
    return sink
  })
  const source = toSource({
    id,
    open: gate.open,
    containsOwnerToken: gate.containsOwnerToken,
    diagnostics: () => {
      const problems = findStoreProblems(file, id)
      return find() || problems.length > 0 ? problems : [toMissing(id, store)]
    },
    close: async () => {
      await sink?.close()
      records?.close()
    },
  })
  const reportTo = (onOperationalError: (error: unknown) => void) => {
    report = onOperationalError
  }
  return { source, gate, instructions, isExclusive: true, reportTo }
}

interface StoreSink extends RecordSink {
  close(): Promise<void>
}

/** Writes on a worker thread, so that reads are not blocked; this thread only reads the catalog. */
function openSink(file: string): StoreSink {
  const { catalog, close } = openRecordCatalog(file)
  const background = new BackgroundWriter(file)
  return {
    get sources() {
      return catalog.sources
    },
    get streams() {
      return catalog.streams()
    },
    open: async (stream, connection) =>
      findSource(catalog, stream, connection) ?? background.open(stream, connection),
    storeBlob: (blob, binding) => background.storeBlob(blob, binding),
    write: (source, entries) => background.write(source, entries),
    async close() {
      await background.close()
      close()
    },
  }
}

const toMissing = (source: string, store: string): Diagnostic => ({
  code: 'store_missing',
  severity: 'warning',
  message: `The store does not exist yet. "drawbridge records import FILE --store ${store}" creates it.`,
  source,
  pointer: '',
})

/**
 * A source that serves the records of a local store to holders of grants. It must be the only source on
 * its mount.
 *
 * @example
 * ```ts
 * import { createDrawbridge, recordSource } from 'drawbridge-mcp'
 *
 * const records = recordSource('./personal.db', { mount: '/mcp/records' })
 * const bridge = createDrawbridge({ sources: [records] })
 * ```
 */
export function recordSource(store: string, options?: RecordSourceOptions): PlacedSource
/**
 * A source over a remote records server. Resolves when its token is checked; rejects when the server
 * refuses the token.
 *
 * @example
 * ```ts
 * import { createDrawbridge, recordSource } from 'drawbridge-mcp'
 *
 * const token = process.env.PDPP_TOKEN ?? ''
 * const records = await recordSource({ server: 'https://records.example', token })
 * const bridge = createDrawbridge({ sources: [records], secrets: [token] })
 * ```
 */
export function recordSource(
  store: RemoteRecords,
  options?: RecordSourceOptions,
): Promise<PlacedSource>
export function recordSource(
  store: string | RemoteRecords,
  options: RecordSourceOptions = {},
): PlacedSource | Promise<PlacedSource> {
  checkOptionNames(options, { mount: true } satisfies Record<keyof RecordSourceOptions, true>)
  const { mount = '/mcp' } = options
  if (typeof store === 'string') return { ...openRecords(store), mount }
  return openRemoteRecords(store).then((remote) => ({ ...remote, mount }))
}

/** Options of `recordSource`. */
export interface RecordSourceOptions {
  /** Path to serve the records on. Default: `/mcp`. */
  readonly mount?: string
}
