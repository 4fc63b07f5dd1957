import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import type { Reader } from './reader.ts'

/** Candidates listed in a failure; `schema` lists all of them. */
const maxListed = 12

export interface SourceSelector {
  readonly stream: string
  readonly connection?: string | undefined
}

/** The source a read refers to, or a failure that lists the candidates. Reads nothing from the store. */
export function findScope(
  reader: Pick<Reader, 'scopes'>,
  { stream, connection }: SourceSelector,
): Scope | Failed {
  const { scopes } = reader
  if (connection !== undefined && !scopes.some((one) => one.source.connection.id === connection))
    return unknownConnection(reader)
  const matches = scopes.filter(({ source }) => source.stream.name === stream)
  const [scope] = matches.filter(
    ({ source }) => (connection ?? source.connection.id) === source.connection.id,
  )
  if (connection !== undefined) return scope ?? unknownStream(reader, stream)
  const connections = new Set(scopes.map(({ source }) => source.connection.id))
  if (connections.size > 1) return ambiguousConnection(matches.length > 0 ? matches : scopes)
  return scope ?? unknownStream(reader, stream)
}

/** Every source that has the stream, for reads that can span connections. */
export function findAllScopes(
  reader: Pick<Reader, 'scopes'>,
  selector: SourceSelector,
): readonly Scope[] | Failed {
  if (selector.connection !== undefined) {
    const scope = findScope(reader, selector)
    return isFailed(scope) ? scope : [scope]
  }
  const matches = reader.scopes.filter(({ source }) => source.stream.name === selector.stream)
  return matches.length > 0 ? matches : unknownStream(reader, selector.stream)
}

export const unknownStream = ({ scopes }: Pick<Reader, 'scopes'>, stream: string): Failed =>
  cannotRead(
    'unknown_stream',
    `Unknown stream ${JSON.stringify(stream.slice(0, 200))}. Call schema for the available streams.`,
    { details: { stream_count: new Set(scopes.map(({ source }) => source.stream.name)).size } },
  )

export const unknownConnection = ({ scopes }: Pick<Reader, 'scopes'>): Failed => {
  const details = toCandidates(scopes)
  return cannotRead('connection_not_found', `Unknown connection. ${toSummary(details)}`, {
    details: { ...details, retry_with: 'connection_id' },
  })
}

export function ambiguousConnection(
  scopes: readonly Scope[],
  code: 'ambiguous_connection' | 'ambiguous_schema_detail' = 'ambiguous_connection',
): Failed {
  const details = toCandidates(scopes)
  return cannotRead(
    code,
    `There are several connections: choose one with connection_id. ${toSummary(details)}`,
    { details: { retry_with: 'connection_id', ...details }, retryable: true },
  )
}

/** Built from the grant alone, so that it reveals nothing else. */
function toCandidates(scopes: readonly Scope[]): Candidates {
  const byId = new Map(scopes.map((scope) => [scope.source.connection.id, scope]))
  const all = [...byId.values()].map(({ grant, source: { connection } }) => ({
    connection_id: connection.id,
    connector_key: connection.connector,
    grant_id: grant === '' ? undefined : grant,
    display_name: connection.label,
  }))
  const omittedCount = Math.max(0, all.length - maxListed)
  return {
    available_connections: all.slice(0, maxListed),
    available_connection_count: all.length,
    ...(omittedCount > 0 && {
      available_connections_truncated: true,
      available_connections_omitted: omittedCount,
      discovery_hint: 'Call schema for the full index of connections.',
    }),
  }
}

interface Candidates extends JsonObject {
  readonly available_connections: readonly JsonObject[]
  readonly available_connection_count: number
}

function toSummary({
  available_connections: connections,
  available_connection_count: total,
}: Candidates): string {
  if (total > connections.length)
    return `${connections.length} of ${total} are listed; call schema for all of them.`
  return total === 1
    ? `Only ${JSON.stringify(connections[0]?.connection_id)} is possible here.`
    : `${total} are listed.`
}
