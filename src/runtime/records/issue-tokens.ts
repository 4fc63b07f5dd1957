import { randomBytes, randomUUID } from 'node:crypto'
import { SetupError } from '../../capability/setup-error.ts'
import {
  type Grant,
  type GrantPackage,
  type OwnerToken,
  type StreamTerms,
  toGrantStatus,
} from '../../sources/records/grants/grant.ts'
import { tokenPrefix } from '../../sources/records/grants/token-gate.ts'
import type { RecordSource } from '../../sources/records/model/stream.ts'
import { toMilliseconds } from '../../sources/records/model/to-comparable.ts'
import type { RecordWriter } from '../../storage/records/writing/record-writer.ts'

export { tokenPrefix }

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
/** The list is looked through with every read. */
const mostResources = 5000

/** Says everything in full now, so that nothing that is declared or connected later is in it. */
export function createGrant(
  writer: RecordWriter,
  { client, streams, expires, mode }: WantedGrant,
  now: number,
): { readonly given: GrantPackage; readonly token: string; readonly absent: readonly string[] } {
  const byConnection = new Map<string, StreamTerms[]>()
  const absent = streams.flatMap((wanted) => findAbsent(writer, wanted))
  for (const wanted of streams)
    for (const [connection, terms] of toTerms(writer, wanted)) {
      const known = byConnection.get(connection) ?? []
      if (known.some(({ stream }) => stream === terms.stream))
        throw new SetupError(`${terms.stream} of ${connection} is named twice.`)
      byConnection.set(connection, [...known, terms])
    }
  const expiresAt = toEnd(expires, now)
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
  return { given, token, absent }
}

/** Records that are named and not there: they may come later, or never have been meant. */
function findAbsent(
  writer: RecordWriter,
  { stream, connection, resources = [] }: WantedTerms,
): readonly string[] {
  const meant = findSources(writer.sources, stream, connection)
  return resources.filter((key) => !meant.some((source) => writer.holds(source, key)))
}

/** For putting records in; it has no terms, because it reads nothing. */
export function createOwner(
  writer: RecordWriter,
  expires: string | undefined,
  now: number,
): { readonly owner: OwnerToken; readonly token: string } {
  const expiresAt = toEnd(expires, now)
  const owner: OwnerToken = {
    id: `own_${toId()}`,
    createdAt: now,
    ...(expiresAt !== undefined && { expiresAt }),
  }
  const token = mintToken()
  writer.addOwner(owner, token)
  return { owner, token }
}

export type Issued =
  | { readonly given: GrantPackage; readonly token: string }
  | { readonly refusal: 'unknown' | 'grant_consumed' | 'grant_revoked' | 'grant_expired' }
  | { readonly refusal: 'part'; readonly whole: string }

/** Another token of a grant that is there, for a reader who lost the first. */
export function issueToken(writer: RecordWriter, name: string, now: number): Issued {
  const given = writer.packages.find(
    ({ id, grants }) => id === name || grants.some((grant) => grant.id === name),
  )
  if (!given) return { refusal: 'unknown' }
  if (given.id !== name && given.grants.length > 1) return { refusal: 'part', whole: given.id }
  const standing = toGrantStatus(given, now)
  if (standing !== 'live') return { refusal: `grant_${standing}` }
  const token = mintToken()
  return writer.issue(given.id, token, now) ? { given, token } : { refusal: 'grant_consumed' }
}

const mintToken = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

const toId = (): string => randomUUID().replaceAll('-', '')

function toTerms(
  writer: Pick<RecordWriter, 'sources' | 'streams'>,
  { stream, fields, connection, since, until, resources, view }: WantedTerms,
): readonly (readonly [string, StreamTerms])[] {
  const { sources } = writer
  const meant = findSources(sources, stream, connection)
  if (meant.length === 0) {
    const named = findSources(sources, stream, undefined)
    const where = named.map((source) => source.connection.id).join(', ')
    if (named.length === 0 && writer.streams.some(({ name }) => name === stream))
      throw new SetupError(
        `${stream} is declared, but no connection has records of it yet: grant it when they are in.`,
      )
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
    if ((resources?.length ?? 0) > mostResources)
      throw new SetupError(
        `${stream} names ${resources?.length} records, and a grant names at most ${mostResources}: give a time range, or several grants.`,
      )
    if ((since ?? until) !== undefined && source.stream.consentTimeField === undefined)
      throw new SetupError(`${stream} declares no consent_time_field, so it has no time range.`)
    const from = since === undefined ? -Infinity : toTime('--since', since)
    const to = until === undefined ? Infinity : toTime('--until', until)
    if (from >= to)
      throw new SetupError(`--since ${since} is not before --until ${until}: nothing is between.`)
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

const findSources = (
  sources: readonly RecordSource[],
  stream: string,
  connection: string | undefined,
): readonly RecordSource[] =>
  sources.filter(
    (source) =>
      source.stream.name === stream &&
      (connection ?? source.connection.id) === source.connection.id,
  )

function toEnd(expires: string | undefined, now: number): number | undefined {
  const end = expires === undefined ? undefined : toTime('--expires', expires)
  if (end !== undefined && end <= now) throw new SetupError(`--expires ${expires} is in the past.`)
  return end
}

function toTime(option: string, text: string): number {
  const time = toMilliseconds(text)
  if (time === undefined)
    throw new SetupError(`${option} must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z.`)
  return time
}
