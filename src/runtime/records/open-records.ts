import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { CredentialError } from '../../capability/setup-error.ts'
import type { Source } from '../../capability/source.ts'
import { createTokenGate, type TokenGate } from '../../sources/records/grants/token-gate.ts'
import { refusalMessages } from '../../sources/records/grants/token-refusal.ts'
import type { RecordSink } from '../../sources/records/import/ingest.ts'
import type { ReaderOptions } from '../../sources/records/reading/reader.ts'
import { instructions, recordSource as toSource } from '../../sources/records/record-source.ts'
import { openRecordCatalog } from '../../storage/records/record-catalog.ts'
import { SqliteRecords } from '../../storage/records/sqlite-records.ts'
import { BackgroundWriter } from '../../storage/records/writing/background-writer.ts'
import { findSource } from '../../storage/records/writing/declare-streams.ts'
import type { PlacedSource } from '../open-sources.ts'
import { openRemoteRecords, type RemoteRecords } from './open-remote-records.ts'

/** Milliseconds one read may take. */
const patience = 10_000

export interface OpenedRecords {
  readonly source: Source
  readonly door: TokenGate
  readonly instructions: string
  readonly standsAlone: true
  readonly tellTo: NonNullable<PlacedSource['tellTo']>
}

/** A store of records, and the door its readers come in by. A store that is not there yet may come. */
export function openRecords(store: string, folder = '.', id = store): OpenedRecords {
  const file = path.resolve(folder, store)
  let opened: SqliteRecords | undefined
  let tell: (error: unknown) => void = () => {}
  const onError = (cause: unknown) =>
    tell(new Error(`What is read cannot be written down in ${file}`, { cause }))
  const find = (): ReaderOptions | undefined => {
    if (!opened && existsSync(file)) opened = new SqliteRecords(file, Date.now, onError)
    return opened && { store: opened, now: Date.now, patience }
  }
  let sink: StoreSink | undefined
  const door = createTokenGate(find, () => {
    sink ??= openSink(file)
    return sink
  })
  const source = toSource({
    id,
    open: door.open,
    holdsOwner: door.holdsOwner,
    diagnostics: () => (find() ? [] : [toMissing(id, store)]),
    close: async () => {
      await sink?.close()
      opened?.close()
    },
  })
  const tellTo = (onTrouble: (error: unknown) => void) => {
    tell = onTrouble
  }
  return { source, door, instructions, standsAlone: true, tellTo }
}

interface StoreSink extends RecordSink {
  close(): Promise<void>
}

/** Everything is written on a thread of its own, so that readers go on; here it is only looked. */
function openSink(file: string): StoreSink {
  const { catalogue, close } = openRecordCatalog(file)
  const background = new BackgroundWriter(file)
  return {
    get sources() {
      return catalogue.sources
    },
    get streams() {
      return catalogue.streams()
    },
    open: async (stream, connection) =>
      findSource(catalogue, stream, connection) ?? background.open(stream, connection),
    keep: (blob, binding) => background.keep(blob, binding),
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
  message: `There is no store yet. "drawbridge records import FILE --store ${store}" makes it.`,
  source,
  pointer: '',
})

/** The same for those who put a server together in code. It stands alone on its mount. */
export function recordSource(store: string, options?: RecordSourceOptions): PlacedSource
export function recordSource(
  store: RemoteRecords,
  options?: RecordSourceOptions,
): Promise<PlacedSource>
export function recordSource(
  store: string | RemoteRecords,
  { mount = '/mcp' }: RecordSourceOptions = {},
): PlacedSource | Promise<PlacedSource> {
  if (typeof store === 'string') return { ...openRecords(store), mount }
  return openRemoteRecords(store, false).then((opened) => ({ ...opened, mount }))
}

export interface RecordSourceOptions {
  readonly mount?: string
}

/** Names that say by themselves whose credential it is. */
const ownerNames = ['PDPP_OWNER_TOKEN', 'PDPP_OWNER_SESSION_COOKIE', 'DRAWBRIDGE_OWNER_TOKEN']

/** Nothing starts that could read with more than a grant. */
export function refuseOwner(
  door: TokenGate | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  config: unknown,
): void {
  const named = ownerNames.find((name) => environment[name] !== undefined)
  const held = Object.keys(environment).find((name) => door?.holdsOwner(environment[name] ?? ''))
  const found = named ?? held
  if (found !== undefined)
    throw new CredentialError(77, `The environment has ${found}. ${refusalMessages.owner}`)
  if (door?.holdsOwner(JSON.stringify(config)))
    throw new CredentialError(77, `The configuration holds one. ${refusalMessages.owner}`)
}
