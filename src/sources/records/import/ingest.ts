import { hash } from 'node:crypto'
import type { Capability } from '../../../capability/capability.ts'
import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { noRules } from '../../../capability/rules.ts'
import { cannotRead } from '../failures.ts'
import type { Connection, RecordSource, Stream } from '../model/stream.ts'
import type { KeptBlob, StoreBinding } from '../record-store.ts'
import { isExactNumber, type RecordEntry, toRecordEntry } from './to-entry.ts'
import { TypeMismatches } from './type-mismatches.ts'

/** Where an owner puts things in. */
export interface RecordSink {
  readonly sources: readonly RecordSource[]
  readonly streams: readonly Stream[]
  open(stream: Stream, connection: Connection): Promise<RecordSource>
  /** All of it or nothing, and in the file when it is done. */
  write(source: RecordSource, entries: readonly RecordEntry[]): Promise<object>
  keep(blob: KeptBlob, binding: StoreBinding): Promise<void>
}

/** As the connector that collects them names it. */
export interface Destination {
  readonly stream: string
  readonly connection?: string | undefined
  readonly connector?: string | undefined
}

export interface Ingested extends JsonObject {
  readonly stream: string
  readonly connection_id: string
  readonly records_accepted: number
  readonly records_rejected: number
  /** The first of those that were rejected. */
  readonly rejections?: readonly { readonly line: number; readonly message: string }[]
  /** Of what was accepted, but cannot be filtered or counted by. */
  readonly warnings?: readonly JsonObject[]
}

const batchSize = 500
const linesAtOnce = 100
const charactersAtOnce = 128 * 1024
const mostRejections = 20

/** Lines of JSON, each `{ key, data, emitted_at }` or gone; what is wrong with one stops no other. */
export async function ingest(
  sink: RecordSink,
  where: Destination,
  text: string,
  now: () => number,
): Promise<Ingested | Failed> {
  const destination = findDestination(sink, where)
  if (isFailed(destination)) return destination
  const { connection } = destination
  const stream = toWordless(destination.stream)
  const rejections: { line: number; message: string }[] = []
  const misfits = new TypeMismatches()
  let [accepted, rejected] = [0, 0]
  let batch: RecordEntry[] = []
  const flush = async () => {
    // A connection that is new is made for what can be taken: it may be mistyped. Entries are for
    // the stream they were made for, whatever it is by now.
    if (batch.length > 0)
      await sink.write({ ...(await sink.open(stream, connection)), stream }, batch)
    accepted += batch.length
    batch = []
  }
  let [line, characters] = [0, 0]
  for (const written of text.split('\n')) {
    line += 1
    characters += written.length
    if (line % linesAtOnce === 0 || characters >= charactersAtOnce) {
      characters = 0
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (written.trim() === '') continue
    const entry = readLine(stream, written, new Date(now()).toISOString())
    if (typeof entry !== 'string') {
      batch.push(entry)
      misfits.add(entry, line)
    } else {
      rejected += 1
      if (rejections.length < mostRejections) rejections.push({ line, message: entry })
    }
    if (batch.length >= batchSize) await flush()
  }
  await flush()
  const warnings = misfits.list(stream).map((misfit) => ({ code: 'type_mismatch', ...misfit }))
  return {
    stream: stream.name,
    connection_id: connection.id,
    records_accepted: accepted,
    records_rejected: rejected,
    ...(rejections.length > 0 && { rejections }),
    ...(warnings.length > 0 && { warnings }),
  }
}

/** Words are found where records are written: a long text has many, and others wait here. */
const toWordless = (stream: Stream): Stream => ({
  ...stream,
  fields: stream.fields.map((field) => ({ ...field, lexical: false })),
})

function readLine(stream: Stream, text: string, now: string): RecordEntry | string {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch {
    return 'it is no JSON'
  }
  if (isPlainObject(line) && line.key !== undefined && !knownOps.has(line.op))
    return `its op is ${JSON.stringify(line.op)?.slice(0, 40)}, not upsert or delete`
  if (!isPlainObject(line) || line.key === undefined || !('data' in line || isGone(line)))
    return toRecordEntry(stream, line, now)
  const key = toKey(line.key)
  if (key === undefined) return 'its key is no text and no number that is exact: write it as text'
  const { emitted_at } = line
  const envelope = { object: 'record', id: key, ...(emitted_at !== undefined && { emitted_at }) }
  if (isGone(line)) return toRecordEntry(stream, { ...envelope, deleted: true }, now)
  const entry = toRecordEntry(stream, { ...envelope, data: line.data }, now)
  if (typeof entry !== 'string' && entry.key !== key)
    return `its key ${JSON.stringify(key)} is not what ${stream.primaryKey.join(', ')} in its data says`
  return entry
}

/** As records have them: a number that was rounded when it was read would be the key of another. */
function toKey(given: unknown): string | undefined {
  const parts = Array.isArray(given) ? given : [given]
  const isKey = (part: unknown) =>
    typeof part === 'string' || (typeof part === 'number' && isExactNumber(part))
  if (!parts.every(isKey)) return undefined
  return Array.isArray(given) ? JSON.stringify(parts.map(String)) : String(given)
}

const knownOps = new Set<unknown>([undefined, 'upsert', 'delete'])

const isGone = ({ op, deleted }: Readonly<Record<string, unknown>>): boolean =>
  op === 'delete' || deleted === true

/** A connection that is named may be new; one that is not must be the only one. */
function findDestination(
  sink: RecordSink,
  where: Destination,
): Pick<RecordSource, 'stream' | 'connection'> | Failed {
  const { stream: name, connection: id, connector } = where
  const known = sink.sources.find(({ connection }) => connection.id === id)?.connection
  const kind = connector ?? known?.connector
  const streams = sink.streams.filter(
    (one) => one.name === name && (kind ?? one.connector) === one.connector,
  )
  const [stream, ...others] = streams
  if (!stream)
    return cannotRead(
      'unknown_stream',
      `No stream ${JSON.stringify(name.slice(0, 200))} is declared${kind === undefined ? '' : ` for ${kind}`}. "drawbridge records declare" declares one.`,
    )
  if (others.length > 0)
    return cannotRead('invalid_argument', 'Several connectors have this stream: say connector_id.')
  if (known && known.connector !== stream.connector)
    return cannotRead('invalid_argument', `${id} is a connection of ${known.connector}.`)
  if (id !== undefined) return { stream, connection: known ?? { id, connector: stream.connector } }
  const candidates = new Map(
    sink.sources
      .filter(({ connection }) => connection.connector === stream.connector)
      .map(({ connection }) => [connection.id, connection]),
  )
  const [only, ...more] = candidates.values()
  if (more.length > 0)
    return cannotRead('ambiguous_connection', 'Several connections: say which, connection_id.', {
      details: {
        retry_with: 'connection_id',
        available_connections: [...candidates.keys()].map((one) => ({ connection_id: one })),
      },
    })
  return { stream, connection: only ?? { id: stream.connector, connector: stream.connector } }
}

export interface Upload extends Destination {
  readonly key: string
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** Bytes for a record that names them, or will. The same bytes have the same id. */
export async function keepBlob(sink: RecordSink, upload: Upload): Promise<JsonObject | Failed> {
  if (upload.key === '')
    return cannotRead('invalid_argument', 'Say which record names it: record_key.')
  const destination = findDestination(sink, upload)
  if (isFailed(destination)) return destination
  const source = await sink.open(destination.stream, destination.connection)
  const { bytes, mimeType, key } = upload
  const sha256 = hash('sha256', bytes, 'hex')
  const id = `blob_sha256_${sha256}`
  await sink.keep({ id, mimeType, bytes }, { source: source.n, key })
  return { blob_id: id, mime_type: mimeType, size_bytes: bytes.length, sha256 }
}

/** Taking in is a call like any other, though no client of tools can make it. */
export const intakeCapability = (source: string, name: 'ingest' | 'keep_blob'): Capability => ({
  name,
  description: 'Takes in what its owner sends.',
  input: { schema: { type: 'object' }, parse: (value) => ({ ok: true, value }) },
  effects: { writes: true, irreversible: false, repeatable: true, reachesOut: false },
  rules: noRules,
  origin: { source, pointer: `/${name}` },
  extras: {},
  hidden: true,
  invoke: () => Promise.reject(new Error(`${name} takes its owner's bytes, not arguments`)),
})
