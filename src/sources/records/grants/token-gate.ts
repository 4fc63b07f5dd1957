import type { Fault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { toGrantStatus, toOwnerTokenStatus } from '../model/grant.ts'
import { openReader, type Reader, type ReaderOptions } from '../reading/reader.ts'
import type { RecordSink } from '../record-sink.ts'
import { type GrantCaller, noGrant, toGrantCaller } from '../record-source.ts'
import { toIntrospection } from './introspection.ts'
import type { TokenRefusal } from './token-refusal.ts'

/** Checks tokens by looking them up in the store, never by where or under what name they were sent. */
export interface TokenGate {
  /** The caller of a live grant's token. */
  admit(token: string | undefined): GrantCaller | Fault<TokenRefusal>
  /** Detects an owner token anywhere in a text. Such requests are refused, even if it was a mistake. */
  containsOwnerToken(text: string): boolean
  open(grantId: string): Reader | Failed
  /** Token introspection; `undefined` for an unknown or inactive token. */
  describe(token: string): JsonObject | undefined
  /** The sink for writing records; `undefined` unless the token is a live owner token. */
  admitOwner(token: string | undefined): RecordSink | undefined
}

/** Shared by all kinds of token, so that a token does not reveal what it can do. */
export const tokenPrefix = 'drb_'
/** The lookahead also finds tokens that overlap or start inside a longer match. */
const tokenPattern = /(?=(drb_[\w-]{43}))/g

/** `find` returns `undefined` while there is no store yet; every token is unknown until then. */
export function createTokenGate(
  find: () => ReaderOptions | undefined,
  openSink: () => RecordSink,
): TokenGate {
  const callers = new Map<string, GrantCaller>()
  const containsUnescaped = (text: string) =>
    text.includes(tokenPrefix) &&
    [...text.matchAll(tokenPattern)].some(([, token = '']) => isOwner(token))
  /** Revoked and expired owner tokens count, too: they must not be used for reading or be logged. */
  const isOwner = (token: string) => find()?.store.findToken(token)?.kind === 'owner'
  const isLiveOwner = (token: string) => {
    const options = find()
    const storedToken = options?.store.findToken(token)
    return (
      storedToken?.kind === 'owner' &&
      toOwnerTokenStatus(storedToken.owner, options?.now() ?? 0) === 'live'
    )
  }
  return {
    containsOwnerToken: (text) =>
      containsUnescaped(text) || (/%|\\u/.test(text) && containsUnescaped(toUnescaped(text))),
    describe(token) {
      const options = find()
      const storedToken = options?.store.findToken(token)
      if (!options || !storedToken) return undefined
      if (storedToken.kind === 'owner')
        return isLiveOwner(token) ? { active: true, pdpp_token_kind: 'owner' } : undefined
      const grantPackage = options.store.findPackage(storedToken.package)
      return grantPackage && toGrantStatus(grantPackage, options.now()) === 'live'
        ? toIntrospection(grantPackage)
        : undefined
    },
    admitOwner: (token) => (token !== undefined && isLiveOwner(token) ? openSink() : undefined),
    open: (grantId) => {
      const options = find()
      return options ? openReader(grantId, options) : noGrant()
    },
    admit(token) {
      if (token === undefined) return { fault: 'missing' }
      const options = find()
      const storedToken = options?.store.findToken(token)
      if (!options || !storedToken) return { fault: 'unknown' }
      if (storedToken.kind === 'owner') return { fault: 'owner' }
      const grantPackage = options.store.findPackage(storedToken.package)
      if (!grantPackage) return { fault: 'unknown' }
      const status = toGrantStatus(grantPackage, options.now())
      if (status !== 'live') return { fault: status }
      // One caller object per grant, shared by all its requests.
      const caller = callers.get(grantPackage.id) ?? Object.freeze(toGrantCaller(grantPackage.id))
      callers.set(grantPackage.id, caller)
      return caller
    },
  }
}

/** Undoes percent-encoding and JSON \u escapes, which could hide a token. */
const toUnescaped = (text: string): string =>
  text.replaceAll(/(?:%|\\u00)([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  )

/** Token gates by mount. */
export type TokenGates = ReadonlyMap<string, TokenGate>

/**
 * Owner tokens authorise imports alone. One that turns up in a header, an address, a body, a stdio
 * message or the arguments of a call is refused there, whatever it was sent for.
 */
export function containsOwnerToken(tokenGates: TokenGates, text: string): boolean {
  for (const tokenGate of tokenGates.values()) if (tokenGate.containsOwnerToken(text)) return true
  return false
}
