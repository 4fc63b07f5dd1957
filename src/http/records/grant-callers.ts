import type { HttpReply } from '../../mcp/http-port.ts'
import type { TokenGate } from '../../sources/records/grants/token-gate.ts'
import { refusalMessages, type TokenRefusal } from '../../sources/records/grants/token-refusal.ts'
import type { Arrival } from '../handler.ts'

/** Wherever in a request it is, an owner's token is not used, not even for something else. */
export function carriesOwner(
  doors: readonly TokenGate[],
  { headers, path, query }: Pick<Arrival, 'headers' | 'path' | 'query'>,
): boolean {
  // Node gives some headers as lists, whatever their type says.
  const carried = [...Object.values(headers).flat(), path, query]
  return carried.some((text) => text !== undefined && holdsOwner(doors, text))
}

export const holdsOwner = (doors: readonly TokenGate[], text: string): boolean =>
  doors.some((door) => door.holdsOwner(text))

export const toBearer = (authorization: string | undefined): string | undefined =>
  authorization?.match(/^Bearer ([\x21-\x7e]{1,4096})$/i)?.[1]

/** By refusal: what HTTP calls it, and its code. */
export const refusalStatus: Readonly<Record<TokenRefusal, readonly [401 | 403, string]>> = {
  missing: [401, 'authentication_error'],
  unknown: [401, 'authentication_error'],
  owner: [403, 'owner_token_refused'],
  revoked: [403, 'grant_revoked'],
  expired: [403, 'grant_expired'],
}

export function refuseByGrant(
  refusal: TokenRefusal,
  { headers, path }: Arrival,
  reply: HttpReply,
): void {
  const [status, code] = refusalStatus[refusal]
  const error = { code: -32000, message: refusalMessages[refusal], data: { code } }
  reply.answer(status, JSON.stringify({ jsonrpc: '2.0', error, id: null }), {
    ...(status === 401 && toChallenge(headers, path)),
  })
}

export const toChallenge = (headers: Arrival['headers'], path: string): Record<string, string> => ({
  'www-authenticate': `Bearer resource_metadata="${toOrigin(headers)}/.well-known/oauth-protected-resource${path.startsWith('/v1') ? '' : path}"`,
})

/** As the client knows it, also behind a proxy that speaks TLS. */
export const toOrigin = ({ host, 'x-forwarded-proto': scheme }: Arrival['headers']): string =>
  `${scheme === 'https' ? 'https' : 'http'}://${host ?? 'localhost'}`
