import type { Fault } from '../../capability/fault.ts'
import { isLoopbackUrl } from '../../upstream/loopback.ts'
import type { SchemeUse, SecurityAlternatives, SecurityScheme } from './schemes.ts'

/** The operator's secret for one security scheme, and the host that may get it. */
export type SchemeSecret = KeySecret | BasicSecret | ClientSecret

interface Bound {
  /** Host of the server, with the port if the URL has one. */
  readonly host: string
}

/** An API key, or a token; for HTTP Basic, the user and the password with a colon between them. */
export interface KeySecret extends Bound {
  /** The value, or a function that looks it up for each call. */
  readonly value: string | (() => Promise<string | undefined>)
}

/** HTTP Basic. */
export interface BasicSecret extends Bound {
  readonly user: string
  readonly password: string
}

/** OAuth 2 client credentials: exchanged for an access token. */
export interface ClientSecret extends Bound {
  readonly clientId: string
  readonly clientSecret: string
  /** Host of the token endpoint. Default: `host`. */
  readonly tokenHost?: string | undefined
  /** How the client proves its identity to the token endpoint. Default: `basic`. */
  readonly tokenAuth?: 'basic' | 'body' | undefined
}

/** By the name of the security scheme. */
export type SchemeSecrets = Readonly<Record<string, SchemeSecret>>

/** A scheme of an operation with its secret. */
export interface BoundScheme extends SchemeUse {
  readonly secret: SchemeSecret
  readonly server: URL
}

/** The server of an operation, and who chose it. */
export interface ChosenServer {
  readonly url: URL
  /** Written by the operator; otherwise by the document, which others can change. */
  readonly isFromOperator: boolean
}

/**
 * The first alternative whose schemes all have a secret for this server. A secret is never guessed: the
 * document can change the host, and the secret does not follow.
 */
export function bindSecrets(
  alternatives: SecurityAlternatives,
  secrets: SchemeSecrets,
  server: ChosenServer,
): readonly BoundScheme[] | Fault {
  const faults: string[] = []
  // An anonymous alternative is for those who have no credential.
  const inOrder = [...alternatives].sort((a, b) => Number(a.length === 0) - Number(b.length === 0))
  for (const alternative of inOrder) {
    const bound: BoundScheme[] = []
    const unbound: string[] = []
    const unusable: string[] = []
    for (const use of alternative) {
      const secret = Object.hasOwn(secrets, use.name) ? secrets[use.name] : undefined
      const fault = findFault(use, secret, server)
      if (fault !== undefined) unusable.push(fault)
      else if (secret) bound.push({ ...use, secret, server: server.url })
      else unbound.push(use.name)
    }
    if (unbound.length > 0)
      unusable.push(`no secret is bound to the security scheme ${unbound.join(' and ')}`)
    if (unusable.length === 0) return bound
    faults.push(unusable.join(', and '))
  }
  const text = [...new Set(faults)].join('; or ')
  return { fault: text.includes('(see "') ? text : `${text} (see "secrets" of the source)` }
}

function findFault(
  { name, scheme }: SchemeUse,
  secret: SchemeSecret | undefined,
  { url, isFromOperator }: ChosenServer,
): string | undefined {
  if (scheme.kind === 'unsupported') return `${name} cannot be used: ${scheme.reason}`
  if (!secret) return undefined
  if (secret.host.toLowerCase() !== url.host)
    return `the secret of ${name} is bound to the host ${secret.host}, and the server is at ${url.host}`
  if (isPlainText(url) && !isFromOperator)
    return `the secret of ${name} is not sent without TLS to ${url.origin}, which the document names; to allow it, write this URL as "server" of the source`
  return findMismatch(name, scheme, secret) ?? findTokenFault(name, scheme, secret, url)
}

function findMismatch(
  name: string,
  { kind }: SecurityScheme,
  secret: SchemeSecret,
): string | undefined {
  if (kind === 'basic' && 'clientId' in secret) return `${name} needs "user" and "password"`
  if (kind !== 'basic' && 'user' in secret)
    return `${name} needs "value", not "user" and "password"`
  if (kind !== 'oauth2' && 'clientId' in secret) return `${name} needs "value", not "clientId"`
  return undefined
}

/** The document chooses the token endpoint, which gets the client's secret: its host is bound too. */
function findTokenFault(
  name: string,
  scheme: SecurityScheme,
  secret: SchemeSecret,
  server: URL,
): string | undefined {
  if (scheme.kind !== 'oauth2' || !('clientId' in secret)) return undefined
  if (scheme.tokenUrl === undefined)
    return `${name} has no clientCredentials flow; bind an access token as "value"`
  const tokenUrl = toTokenUrl(scheme.tokenUrl, server)
  if (!tokenUrl) return `the tokenUrl of ${name} is not a URL`
  const tokenHost = secret.tokenHost ?? secret.host
  if (tokenHost.toLowerCase() !== tokenUrl.host)
    return `the client secret of ${name} is bound to the token host ${tokenHost}, and the tokenUrl is at ${tokenUrl.host} (see "tokenHost")`
  return isPlainText(tokenUrl)
    ? `the client secret of ${name} is not sent without TLS to the tokenUrl ${tokenUrl.href}`
    : undefined
}

/** Anyone on the way can read what is sent to such a URL. */
export const isPlainText = (url: URL): boolean =>
  url.protocol === 'http:' && !isLoopbackUrl(url.href)

/** A relative `tokenUrl` refers to the server. */
export function toTokenUrl(tokenUrl: string, server: URL): URL | undefined {
  if (!URL.canParse(tokenUrl, server.href)) return undefined
  const url = new URL(tokenUrl, server)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined
}

/** Where the client's secret is exchanged for an access token; nothing if the credential is not such a token. */
export const findTokenEndpoint = ({ scheme, secret, server }: BoundScheme): URL | undefined =>
  scheme.kind === 'oauth2' && 'clientId' in secret
    ? toTokenUrl(scheme.tokenUrl ?? '', server)
    : undefined

/** What must not appear in results, as far as it is known before a call. */
export function listSecretValues(secret: SchemeSecret): readonly string[] {
  if ('user' in secret) return [secret.password]
  if ('clientId' in secret) return [secret.clientSecret]
  return typeof secret.value === 'string' ? [secret.value] : []
}

/** Why a secret cannot be sent, as far as its value is known before a call. */
export function findValueFault({ name, scheme, secret }: BoundScheme): string | undefined {
  if (!hasValue(secret)) return `the secret of ${name} has no value`
  const isHeader =
    scheme.kind !== 'basic' && !(scheme.kind === 'api_key' && scheme.place !== 'header')
  const isSendable =
    !isHeader || !('value' in secret) || listSecretValues(secret).every(isHeaderText)
  return isSendable
    ? undefined
    : `the secret of ${name} has a line break or another character that no header can have`
}

/** As Node accepts it: one line of Latin-1. */
const isHeaderText = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

export const hasValue = (secret: SchemeSecret): boolean =>
  listSecretValues(secret).every((value) => value !== '')
