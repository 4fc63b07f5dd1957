import type { Caller } from '../../capability/caller.ts'
import { isFault } from '../../capability/fault.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import { codes, toErrorBody } from '../../mcp/rpc-error.ts'
import type { TokenGate } from '../../sources/records/grants/token-gate.ts'
import { refusalMessages, type TokenRefusal } from '../../sources/records/grants/token-refusal.ts'
import type { Arrival } from '../arrival.ts'
import { toBearer } from '../callers.ts'
import { RevocableReply } from './revocable-reply.ts'

/** Returns the caller of a grant's token, or answers 401 or 403 and returns `undefined`. */
export function authenticateByGrant(
  tokenGate: TokenGate,
  arrival: Arrival,
  reply: HttpReply,
): Caller | undefined {
  const caller = tokenGate.admit(toBearer(arrival.headers.authorization))
  if (!isFault(caller)) return caller
  refuseToken(caller.fault, arrival, reply)
  return undefined
}

/** Revoking a grant also ends the streams that are already open under it. */
export function toRevocableReply(
  tokenGate: TokenGate,
  { headers, cancellation }: Arrival,
  reply: HttpReply,
): RevocableReply {
  const bearer = toBearer(headers.authorization)
  const isAuthorized = () => !isFault(tokenGate.admit(bearer))
  return new RevocableReply(reply, isAuthorized, cancellation)
}

/** HTTP status and error code of each refusal. */
export const refusalStatus: Readonly<Record<TokenRefusal, readonly [401 | 403, string]>> = {
  missing: [401, 'authentication_error'],
  unknown: [401, 'authentication_error'],
  owner: [403, 'owner_token_refused'],
  revoked: [403, 'grant_revoked'],
  expired: [403, 'grant_expired'],
}

export function refuseToken(
  refusal: TokenRefusal,
  { headers, path }: Arrival,
  reply: HttpReply,
): void {
  const [status, code] = refusalStatus[refusal]
  const message = refusalMessages[refusal]
  const body = toErrorBody({ code: codes.server, message, data: { code } })
  reply.answer(status, body, status === 401 ? toChallenge(headers, path) : {})
}

/** RFC 9728: points a client without a valid token to the metadata of the resource. */
export const toChallenge = (headers: Arrival['headers'], path: string): Record<string, string> => ({
  'www-authenticate': `Bearer resource_metadata="${toOrigin(headers)}/.well-known/oauth-protected-resource${path.startsWith('/v1') ? '' : path}"`,
})

/** The origin that the client sees, also behind a proxy that terminates TLS. */
export const toOrigin = ({ host, 'x-forwarded-proto': scheme }: Arrival['headers']): string =>
  `${scheme === 'https' ? 'https' : 'http'}://${host ?? 'localhost'}`
