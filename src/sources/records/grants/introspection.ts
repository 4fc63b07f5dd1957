import type { JsonObject } from '../../../capability/json.ts'
import type { Grant, GrantPackage } from './grant.ts'

/** What a live token stands for, in the words of the protocol it belongs to. */
export function toIntrospection(given: GrantPackage): JsonObject {
  const live = given.grants.filter(({ revokedAt }) => revokedAt === undefined)
  const [only, ...others] = live
  const single = only && others.length === 0
  return {
    active: true,
    pdpp_token_kind: single ? 'client' : 'mcp_package',
    client_id: given.client,
    iat: Math.floor(given.createdAt / 1000),
    ...(given.expiresAt !== undefined && { exp: Math.floor(given.expiresAt / 1000) }),
    ...(single
      ? { grant_id: only.id, grant: toGrantData(given, only) }
      : {
          grant_package_id: given.id,
          package: { grants: live.map((grant) => toGrantData(given, grant)) },
        }),
  }
}

const toGrantData = (given: GrantPackage, { id, connection, streams }: Grant): JsonObject => ({
  version: '0.1.0',
  grant_id: id,
  issued_at: new Date(given.createdAt).toISOString(),
  client: { client_id: given.client },
  access_mode: given.mode,
  streams: streams.map(({ stream, fields, since, until, resources }) => ({
    name: stream,
    connection_id: connection,
    fields,
    ...((since ?? until) !== undefined && {
      time_range: { ...(since !== undefined && { since }), ...(until !== undefined && { until }) },
    }),
    ...(resources && { resources }),
  })),
})
