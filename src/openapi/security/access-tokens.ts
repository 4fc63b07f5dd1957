import { isFault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { parseJson } from '../../json/parse-json.ts'
import type { GuardedAgents } from '../../upstream/egress/guarded-agents.ts'
import { send } from '../../upstream/http/send.ts'
import { type BoundScheme, type ClientSecret, findTokenEndpoint } from './secrets.ts'

export interface AccessTokensOptions {
  readonly agents: () => GuardedAgents
  /** Milliseconds on a clock that never jumps. */
  readonly steadyNow: () => number
}

interface AccessToken {
  readonly value: string
  readonly renewAt: number
}

/** A token that a request is sent with. */
export interface UsedToken {
  readonly bound: BoundScheme
  readonly value: string
  /** It was requested for an earlier call, and may have been revoked since. */
  readonly isCached: boolean
}

const timeoutMs = 10_000
const maxBytes = 64 * 1024
/** A token is renewed this long before it expires, so that it is valid when it arrives. */
const marginMs = 30_000
/** RFC 6749 allows answers without a lifetime. */
const defaultLifetimeSeconds = 300
const maxLifetimeSeconds = 24 * 60 * 60

/** Access tokens of the OAuth 2 client credentials grant (RFC 6749, 4.4), one for each token endpoint, client and scopes. */
export class AccessTokens {
  readonly #options: AccessTokensOptions
  readonly #tokens = new Map<string, AccessToken>()
  readonly #requests = new Map<string, Promise<AccessToken>>()

  constructor(options: AccessTokensOptions) {
    this.#options = options
  }

  /** Calls that need the same token at the same time share one request. */
  async get(bound: BoundScheme): Promise<UsedToken> {
    const key = toKey(bound)
    const token = this.#tokens.get(key)
    if (token && token.renewAt > this.#options.steadyNow())
      return { bound, value: token.value, isCached: true }
    let request = this.#requests.get(key)
    if (!request) {
      request = this.#renew(key, bound).finally(() => this.#requests.delete(key))
      this.#requests.set(key, request)
    }
    const { value } = await request
    return { bound, value, isCached: false }
  }

  /** Called when the server rejected a token. A newer one, which another call got meanwhile, is kept. */
  forget({ bound, value }: UsedToken): void {
    const key = toKey(bound)
    if (this.#tokens.get(key)?.value === value) this.#tokens.delete(key)
  }

  async #renew(key: string, bound: BoundScheme): Promise<AccessToken> {
    const token = await this.#request(bound)
    this.#tokens.set(key, token)
    return token
  }

  async #request(bound: BoundScheme): Promise<AccessToken> {
    const { name, secret, scopes } = bound
    const client = secret as ClientSecret
    const url = findTokenEndpoint(bound)
    if (!url) throw new Error(`the security scheme ${name} has no token endpoint`)
    const form = new URLSearchParams({ grant_type: 'client_credentials' })
    if (scopes.length > 0) form.set('scope', scopes.join(' '))
    const headers: Record<string, string> = {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    }
    if (client.tokenAuth === 'body') {
      form.set('client_id', client.clientId)
      form.set('client_secret', client.clientSecret)
    } else headers.authorization = toBasic(client)
    const result = await send(url, {
      method: 'POST',
      headers,
      body: form.toString(),
      agent: this.#options.agents()[url.protocol as 'http:' | 'https:'],
      signal: AbortSignal.timeout(timeoutMs),
      maxBytes,
    })
    if (isFault(result)) throw new Error(`the token endpoint of ${name} failed: ${result.cause}`)
    const body = parseJson(result.body.toString())
    if (result.status !== 200 || !isPlainObject(body) || typeof body.access_token !== 'string')
      throw new Error(
        `the token endpoint of ${name} answered with HTTP ${result.status}${toReason(body)}`,
      )
    const lifetime = Number(body.expires_in ?? defaultLifetimeSeconds)
    const lifetimeMs = lifetime > 0 ? 1000 * Math.min(lifetime, maxLifetimeSeconds) : 0
    const usableMs = lifetimeMs - Math.min(marginMs, lifetimeMs / 2)
    return { value: body.access_token, renewAt: this.#options.steadyNow() + usableMs }
  }
}

/** The client of a source outlives its readings, and a changed document or secret must not get an earlier token. */
function toKey(bound: BoundScheme): string {
  const { name, scopes, secret } = bound
  const tokenUrl = findTokenEndpoint(bound)?.href
  const clientId = 'clientId' in secret ? secret.clientId : undefined
  return JSON.stringify([name, tokenUrl, secret.host, clientId, [...scopes].sort()])
}

/** RFC 6749, 2.3.1: both parts are form-encoded first. */
function toBasic({ clientId, clientSecret }: ClientSecret): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  const pair = `${encode(clientId)}:${encode(clientSecret)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

/** The error code of RFC 6749; free text of the server is not repeated. */
const toReason = (body: unknown): string =>
  isPlainObject(body) && typeof body.error === 'string' && /^[\w.-]{1,60}$/.test(body.error)
    ? ` (${body.error})`
    : ''
