import { containsOwnerToken, type TokenGates } from '../../sources/records/grants/token-gate.ts'
import type { Arrival } from '../arrival.ts'
import type { Gate } from '../gate.ts'
import { refuseToken } from './grant-callers.ts'

/**
 * Refuses a request with an owner token in its headers, path or query. Owner tokens are for imports
 * alone: one that was pasted into a client's settings must not work, nor reach a tool or a log.
 * `readJsonBody` checks bodies with the same `containsOwnerToken`.
 */
export const refuseOwnerTokens =
  (tokenGates: TokenGates): Gate =>
  (arrival, reply) => {
    if (!requestContainsOwnerToken(tokenGates, arrival)) return 'pass'
    refuseToken('owner', arrival, reply)
    return 'answered'
  }

export function requestContainsOwnerToken(
  tokenGates: TokenGates,
  { headers, path, query }: Pick<Arrival, 'headers' | 'path' | 'query'>,
): boolean {
  if (tokenGates.size === 0) return false
  // Node returns some headers, such as Set-Cookie, as arrays despite their declared type.
  const parts = [...Object.values(headers).flat(), path, query]
  return parts.some((text) => text !== undefined && containsOwnerToken(tokenGates, text))
}
