import type { Connection } from './model.ts'

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

/** What a token is, whatever its holder says of it. */
export type TokenKind =
  | { readonly kind: 'owner' }
  | { readonly kind: 'client'; readonly package: string }

export type Standing = 'live' | 'revoked' | 'expired'

export function toStanding(given: GrantPackage, now: number): Standing {
  if (given.revokedAt !== undefined) return 'revoked'
  if (given.expiresAt !== undefined && given.expiresAt <= now) return 'expired'
  return given.grants.some(({ revokedAt }) => revokedAt === undefined) ? 'live' : 'revoked'
}
