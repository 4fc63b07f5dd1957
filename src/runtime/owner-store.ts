import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { SetupError } from '../capability/setup-error.ts'
import { tokenPrefix } from '../sources/records/door.ts'
import {
  type Grant,
  type GrantPackage,
  type StreamTerms,
  toStanding,
} from '../sources/records/grant.ts'
import type { Connection, RecordSource, Stream } from '../sources/records/model.ts'
import { toMilliseconds } from '../sources/records/to-comparable.ts'
import { BackgroundWriter } from '../storage/background-writer.ts'
import { RecordWriter } from '../storage/record-writer.ts'

export { inferStream } from '../sources/records/infer-stream.ts'
export { readLines } from '../sources/records/read-lines.ts'
export { importRecords } from './import-records.ts'
export { readStreams } from './read-streams.ts'
export { BackgroundWriter, type GrantPackage, type Stream, toStanding }

/** The store as its owner opens it; a new one only where something will be put in. */
export function openOwnerStore(file: string, mayBeNew: boolean): RecordWriter {
  if (!mayBeNew && !existsSync(file))
    throw new SetupError(`There is no store ${file}. "drawbridge records import" makes one.`)
  return new RecordWriter(file, Date.now)
}

/** The connection of an import: as it is known, or a new one. */
export function toConnection(
  writer: RecordWriter,
  { id, connector, label }: { id: string; connector: string; label: string | undefined },
): Connection {
  const known = writer.sources.find(({ connection }) => connection.id === id)?.connection
  if (known && known.connector !== connector)
    throw new SetupError(
      `${id} is a connection of ${known.connector}, and this stream is one of ${connector}.`,
    )
  return { id, connector, ...(label !== undefined && { label }) }
}

/** What an owner asks a grant to say about one stream. */
export interface WantedTerms {
  readonly stream: string
  readonly fields?: readonly string[]
  readonly connection?: string
  readonly since?: string
  readonly until?: string
  readonly resources?: readonly string[]
  readonly view?: string
}

export interface WantedGrant {
  readonly client: string
  readonly streams: readonly WantedTerms[]
  readonly expires?: string
  readonly mode: GrantPackage['mode']
}

const hour = 60 * 60_000

/** Says everything in full now, so that nothing that is declared or connected later is in it. */
export function createGrant(
  writer: RecordWriter,
  { client, streams, expires, mode }: WantedGrant,
  now: number,
): { readonly given: GrantPackage; readonly token: string } {
  const byConnection = new Map<string, StreamTerms[]>()
  for (const wanted of streams)
    for (const [connection, terms] of toTerms(writer.sources, wanted)) {
      const known = byConnection.get(connection) ?? []
      if (known.some(({ stream }) => stream === terms.stream))
        throw new SetupError(`${terms.stream} of ${connection} is named twice.`)
      byConnection.set(connection, [...known, terms])
    }
  const expiresAt = expires === undefined ? undefined : toTime('--expires', expires)
  if (expiresAt !== undefined && expiresAt <= now) throw new SetupError('--expires is in the past.')
  const grants = [...byConnection].map(
    ([connection, terms]): Grant => ({ id: `grt_${toId()}`, connection, streams: terms }),
  )
  // A single use lasts no longer than it takes to page through.
  const until = expiresAt ?? (mode === 'single_use' ? now + hour : undefined)
  const given: GrantPackage = {
    id: `gpkg_${toId()}`,
    client,
    createdAt: now,
    ...(until !== undefined && { expiresAt: until }),
    mode,
    grants,
  }
  const token = mintToken()
  writer.grant(given, token)
  return { given, token }
}

export type Issued =
  | { readonly given: GrantPackage; readonly token: string }
  | { readonly refusal: 'unknown' | 'grant_consumed' | 'grant_revoked' | 'grant_expired' }

/** Another token of a grant that is there, for a reader who lost the first. */
export function issueToken(writer: RecordWriter, name: string, now: number): Issued {
  const given = writer.packages.find(
    ({ id, grants }) => id === name || (grants.length === 1 && grants[0]?.id === name),
  )
  if (!given) return { refusal: 'unknown' }
  const standing = toStanding(given, now)
  if (standing !== 'live') return { refusal: `grant_${standing}` }
  const token = mintToken()
  return writer.issue(given.id, token, now) ? { given, token } : { refusal: 'grant_consumed' }
}

export const mintToken = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

const toId = (): string => randomUUID().replaceAll('-', '')

function toTerms(
  sources: readonly RecordSource[],
  { stream, fields, connection, since, until, resources, view }: WantedTerms,
): readonly (readonly [string, StreamTerms])[] {
  const named = sources.filter((source) => source.stream.name === stream)
  const meant = named.filter(
    (source) => (connection ?? source.connection.id) === source.connection.id,
  )
  if (meant.length === 0) {
    const where = named.map((source) => source.connection.id).join(', ')
    throw new SetupError(
      named.length === 0
        ? `There is no stream ${stream}. "drawbridge records streams" lists them.`
        : `${stream} has no connection ${connection}. There is: ${where}.`,
    )
  }
  return meant.map((source) => {
    const all = source.stream.fields.map(({ name }) => name)
    const ofView = source.stream.views.find(({ name }) => name === view)?.fields
    if (view !== undefined && !ofView) throw new SetupError(`${stream} has no view ${view}.`)
    const chosen = fields ?? ofView ?? all
    const unknown = chosen.find((name) => !all.includes(name))
    if (unknown !== undefined)
      throw new SetupError(`${stream} has no field ${unknown}. There is: ${all.join(', ')}.`)
    if ((since ?? until) !== undefined && source.stream.consentTimeField === undefined)
      throw new SetupError(`${stream} declares no consent_time_field, so it has no time range.`)
    if (since !== undefined) toTime('--since', since)
    if (until !== undefined) toTime('--until', until)
    const terms = {
      stream,
      fields: [...chosen],
      ...(since !== undefined && { since }),
      ...(until !== undefined && { until }),
      ...(resources && { resources }),
    }
    return [source.connection.id, terms] as const
  })
}

function toTime(option: string, text: string): number {
  const time = toMilliseconds(text)
  if (time === undefined)
    throw new SetupError(`${option} must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z.`)
  return time
}
