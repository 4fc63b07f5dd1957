import { randomBytes, randomUUID } from 'node:crypto'
import type { Fault } from '../../../capability/fault.ts'
import { SetupError } from '../../../capability/setup-error.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import {
  type Grant,
  type GrantPackage,
  type OwnerToken,
  type StreamTerms,
  toGrantStatus,
} from '../model/grant.ts'
import type { RecordSource, Stream } from '../model/stream.ts'
import { toMilliseconds } from '../model/to-comparable.ts'
import { tokenPrefix } from './token-gate.ts'

/** The owner's view of a store, as far as grants need it. */
export interface GrantStore {
  readonly sources: readonly RecordSource[]
  readonly streams: readonly Stream[]
  readonly packages: readonly GrantPackage[]
  hasRecord(source: RecordSource, key: string): boolean
  grant(grantPackage: GrantPackage, token: string): void
  /** Adds a token to a package; `false` for a single-use grant whose token was already issued. */
  issue(packageId: string, token: string, at: number): boolean
  addOwner(owner: OwnerToken, token: string): void
}

/** Terms for one stream, as the owner requests them; `createGrant` resolves them to `StreamTerms`. */
export interface RequestedTerms {
  readonly stream: string
  readonly fields?: readonly string[]
  readonly connection?: string
  readonly since?: string
  readonly until?: string
  readonly resources?: readonly string[]
  readonly view?: string
}

export interface GrantRequest {
  readonly client: string
  readonly streams: readonly RequestedTerms[]
  readonly expires?: string
  readonly mode: GrantPackage['mode']
}

export interface IssuedToken {
  readonly grantPackage: GrantPackage
  readonly token: string
}

/** A single-use grant expires after this, unless an expiry is requested: long enough to page through. */
const singleUseMs = 60 * 60_000
/** Every read searches this list. */
const maxResources = 5000

/** Resolves fields and connections now, so that the grant excludes any that are added later. */
export function createGrant(
  store: GrantStore,
  { client, streams, expires, mode }: GrantRequest,
  now: number,
): IssuedToken & { readonly missingRecords: readonly string[] } {
  const termsByConnection = new Map<string, StreamTerms[]>()
  const missingRecords = streams.flatMap((request) => findMissing(store, request))
  for (const request of streams)
    for (const [connection, terms] of toTerms(store, request)) {
      const others = termsByConnection.get(connection) ?? []
      if (others.some(({ stream }) => stream === terms.stream))
        throw new SetupError(`Stream ${terms.stream} of connection ${connection} is named twice.`)
      termsByConnection.set(connection, [...others, terms])
    }
  const defaultExpiry = mode === 'single_use' ? now + singleUseMs : undefined
  const grantPackage: GrantPackage = dropUndefined({
    id: `gpkg_${newId()}`,
    client,
    createdAt: now,
    expiresAt: toExpiry(expires, now) ?? defaultExpiry,
    mode,
    grants: [...termsByConnection].map(
      ([connection, terms]): Grant => ({ id: `grt_${newId()}`, connection, streams: terms }),
    ),
  })
  const token = mintToken()
  store.grant(grantPackage, token)
  return { grantPackage, token, missingRecords }
}

/** Requested record ids that are not in the store: they may arrive later, or be mistyped. */
function findMissing(
  store: GrantStore,
  { stream, connection, resources = [] }: RequestedTerms,
): readonly string[] {
  const sources = findSources(store.sources, stream, connection)
  return resources.filter((key) => !sources.some((source) => store.hasRecord(source, key)))
}

/** A token for ingesting records. It has no terms, because it cannot read. */
export function createOwnerToken(
  store: GrantStore,
  expires: string | undefined,
  now: number,
): { readonly owner: OwnerToken; readonly token: string } {
  const owner: OwnerToken = dropUndefined({
    id: `own_${newId()}`,
    createdAt: now,
    expiresAt: toExpiry(expires, now),
  })
  const token = mintToken()
  store.addOwner(owner, token)
  return { owner, token }
}

/** Issues another token for a grant, such as when the reader lost the first one. */
export function issueToken(store: GrantStore, id: string, now: number): IssuedToken | Fault {
  const grantPackage = store.packages.find(
    (one) => one.id === id || one.grants.some((grant) => grant.id === id),
  )
  if (!grantPackage) return { fault: unknownGrant(id) }
  if (grantPackage.id !== id && grantPackage.grants.length > 1)
    return {
      fault: `${id} is one of several grants that share a token. Use: drawbridge grants token ${grantPackage.id}`,
    }
  const status = toGrantStatus(grantPackage, now)
  if (status !== 'live') return { fault: endedGrants[status] }
  const token = mintToken()
  return store.issue(grantPackage.id, token, now)
    ? { grantPackage, token }
    : { fault: endedGrants.consumed }
}

export const unknownGrant = (id: string): string =>
  `There is no grant ${id}. "drawbridge grants list" shows all grants.`

const endedGrants = {
  consumed:
    'grant_consumed: The grant was for a single use, and its token was already issued. Create another grant.',
  revoked: 'grant_revoked: The grant was revoked. Create another grant.',
  expired: 'grant_expired: The grant has expired. Create another grant.',
}

const mintToken = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

const newId = (): string => randomUUID().replaceAll('-', '')

/** One pair of connection id and terms per connection that has the stream. */
function toTerms(
  store: Pick<GrantStore, 'sources' | 'streams'>,
  { stream, fields, connection, since, until, resources, view }: RequestedTerms,
): readonly (readonly [string, StreamTerms])[] {
  const sources = findSources(store.sources, stream, connection)
  if (sources.length === 0) throw toUnknownSource(store, stream, connection)
  return sources.map((source) => {
    const allFields = source.stream.fields.map(({ name }) => name)
    const viewFields = source.stream.views.find(({ name }) => name === view)?.fields
    if (view !== undefined && !viewFields)
      throw new SetupError(`Stream ${stream} has no view ${view}.`)
    const grantedFields = fields ?? viewFields ?? allFields
    const unknownField = grantedFields.find((name) => !allFields.includes(name))
    if (unknownField !== undefined)
      throw new SetupError(
        `Stream ${stream} has no field ${unknownField}. Available: ${allFields.join(', ')}.`,
      )
    if ((resources?.length ?? 0) > maxResources)
      throw new SetupError(
        `The terms for ${stream} name ${resources?.length} records; a grant may name at most ${maxResources}. Use a time range, or several grants.`,
      )
    checkTimeRange(source.stream, since, until)
    const terms = dropUndefined({ stream, fields: [...grantedFields], since, until, resources })
    return [source.connection.id, terms] as const
  })
}

function toUnknownSource(
  { sources, streams }: Pick<GrantStore, 'sources' | 'streams'>,
  stream: string,
  connection: string | undefined,
): SetupError {
  const connections = findSources(sources, stream, undefined).map((one) => one.connection.id)
  if (connections.length > 0)
    return new SetupError(
      `Stream ${stream} has no connection ${connection}. Available: ${connections.join(', ')}.`,
    )
  return new SetupError(
    streams.some(({ name }) => name === stream)
      ? `Stream ${stream} is declared, but no connection has records of it yet. Import records first, then grant it.`
      : `There is no stream ${stream}. "drawbridge records streams" lists all streams.`,
  )
}

function checkTimeRange(
  { name, consentTimeField }: Stream,
  since: string | undefined,
  until: string | undefined,
): void {
  if ((since ?? until) !== undefined && consentTimeField === undefined)
    throw new SetupError(
      `Stream ${name} declares no consent_time_field, so it cannot have a time range.`,
    )
  const from = since === undefined ? -Infinity : toTime('--since', since)
  const to = until === undefined ? Infinity : toTime('--until', until)
  if (from >= to)
    throw new SetupError(
      `--since ${since} is not before --until ${until}: the time range is empty.`,
    )
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

function toExpiry(expires: string | undefined, now: number): number | undefined {
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
