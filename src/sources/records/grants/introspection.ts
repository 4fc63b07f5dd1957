import type { JsonObject } from '../../../capability/json.ts'
import type { Grant, GrantPackage } from '../model/grant.ts'

/** OAuth token introspection response (RFC 7662) with the PDPP fields, for a live token. */
export function toIntrospection(grantPackage: GrantPackage): JsonObject {
  const liveGrants = grantPackage.grants.filter(({ revokedAt }) => revokedAt === undefined)
  const [only, ...others] = liveGrants
  const isSingle = only && others.length === 0
  return {
    active: true,
    pdpp_token_kind: isSingle ? 'client' : 'mcp_package',
    client_id: grantPackage.client,
    iat: Math.floor(grantPackage.createdAt / 1000),
    exp:
      grantPackage.expiresAt === undefined ? undefined : Math.floor(grantPackage.expiresAt / 1000),
    ...(isSingle
      ? { grant_id: only.id, grant: toGrantData(grantPackage, only) }
      : {
          grant_package_id: grantPackage.id,
          package: { grants: liveGrants.map((grant) => toGrantData(grantPackage, grant)) },
        }),
  }
}

const toGrantData = (
  grantPackage: GrantPackage,
  { id, connection, streams }: Grant,
): JsonObject => ({
  version: '0.1.0',
  grant_id: id,
  issued_at: new Date(grantPackage.createdAt).toISOString(),
  client: { client_id: grantPackage.client },
  access_mode: grantPackage.mode,
  streams: streams.map(({ stream, fields, since, until, resources }) => ({
    name: stream,
    connection_id: connection,
    fields,
    time_range: (since ?? until) === undefined ? undefined : { since, until },
    resources,
  })),
})
