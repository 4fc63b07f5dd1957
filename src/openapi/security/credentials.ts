import type { Cancellation } from '../../capability/cancellation.ts'
import { untilCancelled } from '../../upstream/until-cancelled.ts'
import { encodeCookie } from '../requests/serialize.ts'
import type { AccessTokens, UsedToken } from './access-tokens.ts'
import { type BoundScheme, hasValue, type KeySecret, listSecretValues } from './secrets.ts'

/** A credential in its place in the request. */
export interface RequestCredential {
  readonly place: 'header' | 'query' | 'cookie'
  readonly name: string
  readonly value: string
  /** The access token that it was made from. */
  readonly token?: UsedToken
}

export interface CredentialContext {
  readonly tokens: AccessTokens
  readonly cancellation: Cancellation
  /** Receives every value that is sent, so that it is redacted from results. */
  readonly onSecret: (value: string) => void
}

/** The credentials of a call. Rejects with a message for the operator. */
export const toCredentials = (
  schemes: readonly BoundScheme[],
  context: CredentialContext,
): Promise<readonly RequestCredential[]> =>
  Promise.all(schemes.map((scheme) => toCredential(scheme, context)))

async function toCredential(
  bound: BoundScheme,
  { tokens, cancellation, onSecret }: CredentialContext,
): Promise<RequestCredential> {
  const { name, scheme, secret } = bound
  if (!hasValue(secret)) throw new Error(`the secret of ${name} has no value`)
  for (const value of listSecretValues(secret)) onSecret(value)
  const value = 'value' in secret ? await untilCancelled(toValue(secret), cancellation) : ''
  if (value === undefined || ('value' in secret && value.trim() === ''))
    throw new Error(`the secret of ${name} has no value`)
  if (value !== '') onSecret(value)
  if (scheme.kind === 'basic' && !('clientId' in secret)) {
    const text = 'user' in secret ? `${secret.user}:${secret.password}` : value
    const pair = Buffer.from(text).toString('base64')
    onSecret(pair)
    return toAuthorization(`Basic ${pair}`)
  }
  if ('clientId' in secret) {
    const token = await untilCancelled(tokens.get(bound), cancellation)
    onSecret(token.value)
    return { ...toAuthorization(`Bearer ${token.value}`), token }
  }
  if ('user' in secret) throw new Error(`the secret of ${name} does not fit its scheme`)
  if (scheme.kind === 'api_key') {
    // A cookie is written in an encoding of its own.
    if (scheme.place === 'cookie') onSecret(encodeCookie(value))
    return { place: scheme.place, name: scheme.name, value }
  }
  return toAuthorization(`${scheme.kind === 'bearer' ? scheme.prefix : 'Bearer'} ${value}`)
}

const toValue = async ({ value }: KeySecret): Promise<string | undefined> =>
  typeof value === 'function' ? value() : value

const toAuthorization = (value: string): RequestCredential => ({
  place: 'header',
  name: 'Authorization',
  value,
})

/** Where a credential is sent, for `explain`. */
export function toPlaceText({ scheme }: BoundScheme): string {
  if (scheme.kind !== 'api_key') return 'Authorization'
  return scheme.place === 'header' ? scheme.name : `${scheme.place} ${scheme.name}`
}
