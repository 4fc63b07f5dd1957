import { hash } from 'node:crypto'
import type { Capability } from '../../../capability/capability.ts'
import { type Fault, isFault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { noRules } from '../../../capability/rules.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { cannotRead } from '../failures.ts'
import type { RecordSource, Stream } from '../model/stream.ts'
import type { RecordEntry, RecordSink } from '../record-sink.ts'
import { isExactNumber, toRecordEntry } from './to-entry.ts'
import { TypeMismatches } from './type-mismatches.ts'

/** The target stream and connection, as named by the connector. */
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
  /** The first rejected lines. */
  readonly rejections?: readonly { readonly line: number; readonly message: string }[] | undefined
  /** Values that were stored but cannot be filtered or aggregated. */
  readonly warnings?: readonly JsonObject[] | undefined
}

const batchSize = 500
const linesPerTurn = 100
const charactersPerTurn = 128 * 1024
const maxRejections = 20

/** Ingests NDJSON lines `{ key, data, emitted_at }` or deletions. A rejected line does not stop the rest. */
export async function ingest(
  sink: RecordSink,
  target: Destination,
  text: string,
  now: () => number,
): Promise<Ingested | Failed> {
  const destination = findDestination(sink, target)
  if (isFailed(destination)) return destination
  const { connection } = destination
  const stream = withoutLexical(destination.stream)
  const rejections: { line: number; message: string }[] = []
  const mismatches = new TypeMismatches()
  let [acceptedCount, rejectedCount] = [0, 0]
  let batch: RecordEntry[] = []
  const flush = async () => {
    // Create a new connection only when there is something to write: its name may be mistyped.
    // Entries match the stream declaration they were built with, even if it has changed since.
    if (batch.length > 0)
      await sink.write({ ...(await sink.open(stream, connection)), stream }, batch)
    acceptedCount += batch.length
    batch = []
  }
  let [line, characters] = [0, 0]
  for (const content of text.split('\n')) {
    line += 1
    characters += content.length
    if (line % linesPerTurn === 0 || characters >= charactersPerTurn) {
      characters = 0
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (content.trim() === '') continue
    const entry = readLine(stream, content, new Date(now()).toISOString())
    if (isFault(entry)) {
      rejectedCount += 1
      if (rejections.length < maxRejections) rejections.push({ line, message: entry.fault })
    } else {
      batch.push(entry)
      mismatches.add(entry, line)
    }
    if (batch.length >= batchSize) await flush()
  }
  await flush()
  const warnings = mismatches
    .list(stream)
    .map((mismatch) => ({ code: 'type_mismatch', ...mismatch }))
  return {
    stream: stream.name,
    connection_id: connection.id,
    records_accepted: acceptedCount,
    records_rejected: rejectedCount,
    rejections: rejections.length > 0 ? rejections : undefined,
    warnings: warnings.length > 0 ? warnings : undefined,
  }
}

/** Leaves tokenizing to the writer thread: it would block the event loop here. */
const withoutLexical = (stream: Stream): Stream => ({
  ...stream,
  fields: stream.fields.map((field) => ({ ...field, lexical: false })),
})

function readLine(stream: Stream, text: string, now: string): RecordEntry | Fault {
  const line = parseJson(text)
  if (line === undefined) return { fault: 'not valid JSON' }
  if (isPlainObject(line) && line.key !== undefined && !allowedOps.has(line.op))
    return {
      fault: `op is ${JSON.stringify(line.op)?.slice(0, 40)}, but must be upsert or delete`,
    }
  if (!isPlainObject(line) || line.key === undefined || !('data' in line || isDeletion(line)))
    return toRecordEntry(stream, line, now)
  const key = toKey(line.key)
  if (key === undefined)
    return { fault: 'key must be a string or an exact number: write it as a string' }
  const { emitted_at } = line
  const envelope = { object: 'record', id: key, emitted_at }
  if (isDeletion(line)) return toRecordEntry(stream, { ...envelope, deleted: true }, now)
  const entry = toRecordEntry(stream, { ...envelope, data: line.data }, now)
  if (isFault(entry) || entry.key === key) return entry
  return {
    fault: `key ${JSON.stringify(key)} does not match ${stream.primaryKey.join(', ')} in data`,
  }
}

/** The key in stored form. A number that was rounded by parsing could be the key of another record. */
function toKey(value: unknown): string | undefined {
  const parts = Array.isArray(value) ? value : [value]
  const isKey = (part: unknown) =>
    typeof part === 'string' || (typeof part === 'number' && isExactNumber(part))
  if (!parts.every(isKey)) return undefined
  return Array.isArray(value) ? JSON.stringify(parts.map(String)) : String(value)
}

const allowedOps = new Set<unknown>([undefined, 'upsert', 'delete'])

const isDeletion = ({ op, deleted }: Readonly<Record<string, unknown>>): boolean =>
  op === 'delete' || deleted === true

/** A named connection may be new; without a name there must be only one. */
function findDestination(
  sink: RecordSink,
  target: Destination,
): Pick<RecordSource, 'stream' | 'connection'> | Failed {
  const { stream: name, connection: id, connector } = target
  const existing = sink.sources.find(({ connection }) => connection.id === id)?.connection
  const kind = connector ?? existing?.connector
  const streams = sink.streams.filter(
    (one) => one.name === name && (kind ?? one.connector) === one.connector,
  )
  const [stream, ...others] = streams
  if (!stream)
    return cannotRead(
      'unknown_stream',
      `Stream ${JSON.stringify(name.slice(0, 200))} is not declared${kind === undefined ? '' : ` for ${kind}`}. Declare it with "drawbridge records declare".`,
    )
  if (others.length > 0)
    return cannotRead('invalid_argument', 'Several connectors have this stream: pass connector_id.')
  if (existing && existing.connector !== stream.connector)
    return cannotRead('invalid_argument', `${id} belongs to connector ${existing.connector}.`)
  if (id !== undefined)
    return { stream, connection: existing ?? { id, connector: stream.connector } }
  const candidates = new Map(
    sink.sources
      .filter(({ connection }) => connection.connector === stream.connector)
      .map(({ connection }) => [connection.id, connection]),
  )
  const [connection, ...otherConnections] = candidates.values()
  if (otherConnections.length > 0)
    return cannotRead(
      'ambiguous_connection',
      'There are several connections: pass connection_id.',
      {
        details: {
          retry_with: 'connection_id',
          available_connections: [...candidates.keys()].map((one) => ({ connection_id: one })),
        },
      },
    )
  return { stream, connection: connection ?? { id: stream.connector, connector: stream.connector } }
}

export interface Upload extends Destination {
  readonly key: string
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** Stores a blob for a record that refers to it, now or later. Content-addressed: the same bytes have the same id. */
export async function storeBlob(sink: RecordSink, upload: Upload): Promise<JsonObject | Failed> {
  if (upload.key === '')
    return cannotRead('invalid_argument', 'Pass record_key: the record that refers to this blob.')
  const destination = findDestination(sink, upload)
  if (isFailed(destination)) return destination
  const source = await sink.open(destination.stream, destination.connection)
  const { bytes, mimeType, key } = upload
  const sha256 = hash('sha256', bytes, 'hex')
  const id = `blob_sha256_${sha256}`
  await sink.storeBlob({ id, mimeType, bytes }, { source: source.n, key })
  return { blob_id: id, mime_type: mimeType, size_bytes: bytes.length, sha256 }
}

/** Lets the governance pipeline run on writes too. Hidden: MCP clients cannot call it. */
export const intakeCapability = (source: string, name: 'ingest' | 'keep_blob'): Capability => ({
  name,
  description: 'Stores records sent by the owner.',
  input: { schema: { type: 'object' }, parse: (value) => ({ ok: true, value }) },
  effects: { writes: true, irreversible: false, repeatable: true, reachesOut: false },
  rules: noRules,
  origin: { source, pointer: `/${name}` },
  extras: {},
  hidden: true,
  invoke: () => Promise.reject(new Error(`${name} takes the owner's request body, not arguments`)),
})
