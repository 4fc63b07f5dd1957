import type { Connection } from './stream.ts'

/** The part of one stream that a grant makes readable. Immutable once issued. */
export interface StreamTerms {
  readonly stream: string
  /** Listed explicitly when the grant is created: a field declared later is not included. */
  readonly fields: readonly string[]
  /** Inclusive, ISO 8601, on the stream's consent time field. */
  readonly since?: string
  /** Exclusive. */
  readonly until?: string
  /** Restricts the grant to records with these keys. */
  readonly resources?: readonly string[]
}

/** The owner's consent for one connection. */
export interface Grant {
  readonly id: string
  readonly connection: Connection['id']
  readonly streams: readonly StreamTerms[]
  readonly revokedAt?: number
}

export const accessModes = ['continuous', 'single_use'] as const

/** One or more grants that share a token. */
export interface GrantPackage {
  readonly id: string
  readonly client: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly mode: (typeof accessModes)[number]
  /** When its first token was issued. A `single_use` package issues no second one. */
  readonly consumedAt?: number
  readonly revokedAt?: number
  readonly grants: readonly Grant[]
}

/** The owner's credential for writing records. It has no terms because it cannot read. */
export interface OwnerToken {
  readonly id: string
  /** Absent for tokens from before owner tokens had an id. */
  readonly createdAt?: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

/** A token as the store knows it, whatever its holder claims. */
export type StoredToken =
  | { readonly kind: 'owner'; readonly owner: OwnerToken }
  | { readonly kind: 'client'; readonly package: string }

export type TokenStatus = 'live' | 'revoked' | 'expired'

export function toGrantStatus(grantPackage: GrantPackage, now: number): TokenStatus {
  const status = toOwnerTokenStatus(grantPackage, now)
  if (status !== 'live') return status
  return grantPackage.grants.some(({ revokedAt }) => revokedAt === undefined) ? 'live' : 'revoked'
}

/** The status from the token's own timestamps. */
export function toOwnerTokenStatus(
  { revokedAt, expiresAt }: Pick<OwnerToken, 'revokedAt' | 'expiresAt'>,
  now: number,
): TokenStatus {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'live'
}
