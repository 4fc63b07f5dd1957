import {
  type GrantPackage,
  type OwnerToken,
  type StreamTerms,
  toGrantStatus,
  toOwnerTokenStatus,
} from '../../sources/records/model/grant.ts'
import { toMilliseconds } from '../../sources/records/model/to-comparable.ts'

/** A package of one grant is shown with the id of that grant, a package of several with its own id. */
export function toSummary({ id, grants, expiresAt }: GrantPackage) {
  const [first, ...others] = grants
  const isSingle = first && others.length === 0
  return {
    grant_id: isSingle ? first.id : id,
    grants: isSingle
      ? undefined
      : grants.map((one) => ({ grant_id: one.id, connection_id: one.connection })),
    ...toTimes({ expires_at: expiresAt }),
  }
}

export function toRow(grantPackage: GrantPackage, now: number) {
  return {
    id: toSummary(grantPackage).grant_id,
    kind: 'grant',
    client: grantPackage.client,
    state: toGrantStatus(grantPackage, now),
    mode: grantPackage.mode,
    ...toTimes({
      created_at: grantPackage.createdAt,
      consumed_at: grantPackage.consumedAt,
      expires_at: grantPackage.expiresAt,
      revoked_at: grantPackage.revokedAt,
    }),
    streams: grantPackage.grants.flatMap(({ connection, streams, revokedAt }) =>
      revokedAt === undefined ? streams.map(({ stream }) => `${connection}/${stream}`) : [],
    ),
  }
}

export const toOwnerRow = (owner: OwnerToken, now: number) => ({
  id: owner.id,
  kind: 'owner',
  state: toOwnerTokenStatus(owner, now),
  ...toTimes({
    created_at: owner.createdAt,
    expires_at: owner.expiresAt,
    revoked_at: owner.revokedAt,
  }),
})

/** The grants of a package with all their terms. */
export const toGrantDetails = ({ grants }: GrantPackage) =>
  grants.map(({ id, connection, streams, revokedAt }) => ({
    id,
    connection,
    streams: streams.map(toTermsRow),
    ...toTimes({ revoked_at: revokedAt }),
  }))

/** Grants store times as they were typed; this shows the instant they mean. */
const toTermsRow = ({ stream, fields, since, until, resources }: StreamTerms) => ({
  stream,
  fields,
  ...toTimes({ since: toInstant(since), until: toInstant(until) }),
  resources,
})

const toInstant = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : toMilliseconds(text)

/** Formats the defined times as ISO 8601. */
function toTimes<Name extends string>(
  times: Readonly<Record<Name, number | undefined>>,
): Partial<Record<Name, string>> {
  const texts: Partial<Record<Name, string>> = {}
  for (const name in times) {
    const time = times[name]
    if (time !== undefined) texts[name] = new Date(time).toISOString()
  }
  return texts
}
