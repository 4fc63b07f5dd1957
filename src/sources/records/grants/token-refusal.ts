/** Why a token was refused. */
export type TokenRefusal = 'missing' | 'unknown' | 'owner' | 'revoked' | 'expired'

const askOwner =
  'Only the owner of these records can create another grant, with "drawbridge grants create"; use its token instead of this one.'

/** Message for the client that presented the token, with what to do next. */
export const refusalMessages: Readonly<Record<TokenRefusal, string>> = {
  missing: 'A grant token is required. The owner creates one with "drawbridge grants create".',
  unknown: 'Unknown token.',
  owner:
    'Owner tokens are refused here: records can be read only under a grant. Give the client a grant token.',
  revoked: `The grant was revoked: nothing more can be read under it. ${askOwner}`,
  expired: `The grant has expired: nothing more can be read under it. ${askOwner}`,
}
