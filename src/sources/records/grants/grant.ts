import type { Connection } from '../model/stream.ts'

/** What one grant lets be read of one stream. Never changes after it was given. */
export interface StreamTerms {
  readonly stream: string
  /** Named one by one when the grant was made: a field added later is not in it. */
  readonly fields: readonly string[]
  /** Inclusive, ISO 8601, on the stream's consent time field. */
  readonly since?: string
  /** Exclusive. */
  readonly until?: string
  /** Exactly these records. */
  readonly resources?: readonly string[]
}

/** A person's consent for one connection. */
export interface Grant {
  readonly id: string
  readonly connection: Connection['id']
  readonly streams: readonly StreamTerms[]
  readonly revokedAt?: number
}

export const accessModes = ['continuous', 'single_use'] as const

/** One token over one grant or several. */
export interface GrantPackage {
  readonly id: string
  readonly client: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly mode: (typeof accessModes)[number]
  /** When its first token was given out; a grant for a single use has no second. */
  readonly consumedAt?: number
  readonly revokedAt?: number
  readonly grants: readonly Grant[]
}

/** What its owner puts records in with. It has no terms: it is not for reading. */
export interface OwnerToken {
  readonly id: string
  /** Not known of those from before they had an id. */
  readonly createdAt?: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

/** What a token is, whatever its holder says of it. */
export type TokenKind =
  | { readonly kind: 'owner'; readonly owner: OwnerToken }
  | { readonly kind: 'client'; readonly package: string }

export type TokenStatus = 'live' | 'revoked' | 'expired'

export function toGrantStatus(given: GrantPackage, now: number): TokenStatus {
  const standing = toOwnerTokenStatus(given, now)
  if (standing !== 'live') return standing
  return given.grants.some(({ revokedAt }) => revokedAt === undefined) ? 'live' : 'revoked'
}

/** By what it says of itself alone. */
export function toOwnerTokenStatus(
  { revokedAt, expiresAt }: Pick<OwnerToken, 'revokedAt' | 'expiresAt'>,
  now: number,
): TokenStatus {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'live'
}
