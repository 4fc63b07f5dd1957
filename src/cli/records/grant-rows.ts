import {
  type GrantPackage,
  type OwnerToken,
  type StreamTerms,
  toGrantStatus,
  toMilliseconds,
  toOwnerTokenStatus,
} from '../../runtime/records/owner-store.ts'

/** A grant of one connection goes by its own id, several by that of all of them. */
export function toSummary({ id, grants: parts, expiresAt }: GrantPackage) {
  const [only, ...others] = parts
  const single = only && others.length === 0
  return {
    grant_id: single ? only.id : id,
    ...(!single && {
      grants: parts.map((one) => ({ grant_id: one.id, connection_id: one.connection })),
    }),
    ...toTimes({ expires_at: expiresAt }),
  }
}

export function toRow(given: GrantPackage, now: number) {
  return {
    id: toSummary(given).grant_id,
    kind: 'grant',
    client: given.client,
    state: toGrantStatus(given, now),
    mode: given.mode,
    ...toTimes({
      created_at: given.createdAt,
      consumed_at: given.consumedAt,
      expires_at: given.expiresAt,
      revoked_at: given.revokedAt,
    }),
    streams: given.grants.flatMap(({ connection, streams, revokedAt }) =>
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

/** Its grants one by one, with all that they say. */
export const toParts = ({ grants }: GrantPackage) =>
  grants.map(({ id, connection, streams, revokedAt }) => ({
    id,
    connection,
    streams: streams.map(toShownTerms),
    ...toTimes({ revoked_at: revokedAt }),
  }))

/** Times are kept as they were typed; they mean what is shown. */
const toShownTerms = ({ stream, fields, since, until, resources }: StreamTerms) => ({
  stream,
  fields,
  ...toTimes({ since: toTime(since), until: toTime(until) }),
  ...(resources && { resources }),
})

const toTime = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : toMilliseconds(text)

/** Those that there are, all in one form. */
function toTimes<Name extends string>(
  times: Readonly<Record<Name, number | undefined>>,
): Partial<Record<Name, string>> {
  const shown: Partial<Record<Name, string>> = {}
  for (const name in times) {
    const time = times[name]
    if (time !== undefined) shown[name] = new Date(time).toISOString()
  }
  return shown
}
