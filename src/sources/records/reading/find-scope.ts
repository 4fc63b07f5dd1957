import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../grants/scope.ts'
import type { Reader } from './reader.ts'

/** As many candidates as are listed; the rest is found with `schema`. */
const mostListed = 12

export interface Wanted {
  readonly stream: string
  readonly connection?: string | undefined
}

/** The one source a read is about, or which of several has to be said. Asks no source anything. */
export function findScope(
  reader: Pick<Reader, 'scopes'>,
  { stream, connection }: Wanted,
): Scope | Failed {
  const { scopes } = reader
  if (connection !== undefined && !scopes.some((one) => one.source.connection.id === connection))
    return unknownConnection(reader)
  const named = scopes.filter(({ source }) => source.stream.name === stream)
  const [scope] = named.filter(
    ({ source }) => (connection ?? source.connection.id) === source.connection.id,
  )
  if (connection !== undefined) return scope ?? unknownStream(reader, stream)
  const connections = new Set(scopes.map(({ source }) => source.connection.id))
  if (connections.size > 1) return ambiguous(named.length > 0 ? named : scopes)
  return scope ?? unknownStream(reader, stream)
}

/** Every source that has the stream, for reads that may be about all of them. */
export function findAllScopes(
  reader: Pick<Reader, 'scopes'>,
  wanted: Wanted,
): readonly Scope[] | Failed {
  if (wanted.connection !== undefined) {
    const scope = findScope(reader, wanted)
    return isFailed(scope) ? scope : [scope]
  }
  const named = reader.scopes.filter(({ source }) => source.stream.name === wanted.stream)
  return named.length > 0 ? named : unknownStream(reader, wanted.stream)
}

export const unknownStream = ({ scopes }: Pick<Reader, 'scopes'>, stream: string): Failed =>
  cannotRead(
    'unknown_stream',
    `There is no stream ${JSON.stringify(stream.slice(0, 200))} here. Call schema for the streams there are.`,
    { details: { stream_count: new Set(scopes.map(({ source }) => source.stream.name)).size } },
  )

export const unknownConnection = ({ scopes }: Pick<Reader, 'scopes'>): Failed => {
  const details = toCandidates(scopes)
  return cannotRead(
    'connection_not_found',
    `There is no such connection here. ${listed(details)}`,
    { details: { ...details, retry_with: 'connection_id' } },
  )
}

export function ambiguous(
  scopes: readonly Scope[],
  code: 'ambiguous_connection' | 'ambiguous_schema_detail' = 'ambiguous_connection',
): Failed {
  const details = toCandidates(scopes)
  return cannotRead(
    code,
    `There are several connections: say which one, with connection_id. ${listed(details)}`,
    { details: { retry_with: 'connection_id', ...details }, retryable: true },
  )
}

/** Made of what the grant says alone. */
function toCandidates(scopes: readonly Scope[]): Candidates {
  const byId = new Map(scopes.map((scope) => [scope.source.connection.id, scope]))
  const all = [...byId.values()].map(({ grant, source: { connection } }) => ({
    connection_id: connection.id,
    connector_key: connection.connector,
    ...(grant !== '' && { grant_id: grant }),
    ...(connection.label !== undefined && { display_name: connection.label }),
  }))
  const omitted = Math.max(0, all.length - mostListed)
  return {
    available_connections: all.slice(0, mostListed),
    available_connection_count: all.length,
    ...(omitted > 0 && {
      available_connections_truncated: true,
      available_connections_omitted: omitted,
      discovery_hint: 'Call schema for the full index of connections.',
    }),
  }
}

interface Candidates extends JsonObject {
  readonly available_connections: readonly JsonObject[]
  readonly available_connection_count: number
}

function listed({ available_connections: some, available_connection_count: total }: Candidates) {
  if (total > some.length)
    return `${some.length} of ${total} are listed; call schema for all of them.`
  return total === 1
    ? `Here it can only be ${JSON.stringify(some[0]?.connection_id)}.`
    : `${total} are listed.`
}
