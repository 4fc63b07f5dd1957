/** Why a token opens nothing. */
export type TokenRefusal = 'missing' | 'unknown' | 'owner' | 'revoked' | 'expired'

const another =
  'Only the owner of these records can give another one, with "drawbridge grants create"; its token takes the place of this one.'

/** In words for whoever brought the token, and what can be done about it. */
export const refusalMessages: Readonly<Record<TokenRefusal, string>> = {
  missing: 'A token is needed that "drawbridge grants create" gave out.',
  unknown: 'The token is not known here.',
  owner:
    'An owner’s token is refused here: reading goes by grants alone. Give the client a token of a grant.',
  revoked: `The grant was revoked: nothing more can be read under it. ${another}`,
  expired: `The grant has expired: nothing more can be read under it. ${another}`,
}
