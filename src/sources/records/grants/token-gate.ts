import type { Caller } from '../../../capability/caller.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import type { RecordSink } from '../import/ingest.ts'
import { openReader, type Reader, type ReaderOptions } from '../reading/reader.ts'
import { noGrant, toCaller } from '../record-source.ts'
import { toGrantStatus, toOwnerTokenStatus } from './grant.ts'
import { toIntrospection } from './introspection.ts'
import type { TokenRefusal } from './token-refusal.ts'

/** Where tokens are looked at: by what they are, never by what somebody calls them. */
export interface TokenGate {
  admit(token: string | undefined): Admitted | { readonly refusal: TokenRefusal }
  /** Whether an owner's token is anywhere in a text. It must not be used, not even by mistake. */
  holdsOwner(text: string): boolean
  open(given: string): Reader | Failed
  /** What a token is, for those who have it. */
  describe(token: string): JsonObject | undefined
  /** Where an owner may put things in, and nobody else. */
  admitOwner(token: string | undefined): RecordSink | undefined
}

export interface Admitted {
  readonly caller: Caller
  readonly given: string
}

/** The same for all kinds of token: what one may do with it cannot be read off it. */
export const tokenPrefix = 'drb_'
/** Also where one begins within another that is none. */
const shape = /(?=(drb_[\w-]{43}))/g

/** The store may come later than the door: until then nobody is known. */
export function createTokenGate(
  find: () => ReaderOptions | undefined,
  openSink: () => RecordSink,
): TokenGate {
  const callers = new Map<string, Caller>()
  const holds = (text: string) =>
    text.includes(tokenPrefix) && [...text.matchAll(shape)].some(([, token = '']) => isOwner(token))
  /** Also one that has ended: it is still not for reading, and not to be written down anywhere. */
  const isOwner = (token: string) => find()?.store.findToken(token)?.kind === 'owner'
  const isLiveOwner = (token: string) => {
    const options = find()
    const found = options?.store.findToken(token)
    return (
      found?.kind === 'owner' && toOwnerTokenStatus(found.owner, options?.now() ?? 0) === 'live'
    )
  }
  return {
    holdsOwner: (text) => holds(text) || (/%|\\u/.test(text) && holds(decode(text))),
    describe(token) {
      const options = find()
      const found = options?.store.findToken(token)
      if (!options || !found) return undefined
      if (found.kind === 'owner')
        return isLiveOwner(token) ? { active: true, pdpp_token_kind: 'owner' } : undefined
      const given = options.store.findPackage(found.package)
      return given && toGrantStatus(given, options.now()) === 'live'
        ? toIntrospection(given)
        : undefined
    },
    admitOwner: (token) => (token !== undefined && isLiveOwner(token) ? openSink() : undefined),
    open: (given) => {
      const options = find()
      return options ? openReader(given, options) : noGrant()
    },
    admit(token) {
      if (token === undefined) return { refusal: 'missing' }
      const options = find()
      const found = options?.store.findToken(token)
      if (!options || !found) return { refusal: 'unknown' }
      if (found.kind === 'owner') return { refusal: 'owner' }
      const given = options.store.findPackage(found.package)
      const standing = given && toGrantStatus(given, options.now())
      if (standing !== 'live') return { refusal: standing ?? 'unknown' }
      // One object per grant: lists are cached by it.
      const caller = callers.get(found.package) ?? Object.freeze(toCaller(found.package))
      callers.set(found.package, caller)
      return { caller, given: found.package }
    },
  }
}

/** As addresses, cookies and JSON may write it. */
const decode = (text: string): string =>
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
  for (const tokenGate of tokenGates.values()) if (tokenGate.holdsOwner(text)) return true
  return false
}
