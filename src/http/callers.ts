import { createHash, timingSafeEqual } from 'node:crypto'
import { type Caller, localUser } from '../capability/caller.ts'

/** A bearer token as configuration keeps it: only its digest. */
export interface TokenEntry {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  readonly subject: string
  readonly scopes: readonly string[]
}

/** From what a request brings to the one it is made for; `undefined` is nobody. */
export type Identify = (authorization: string | undefined) => Caller | undefined

/** Without tokens everybody who can connect is the local user; with them, default deny. */
export function createIdentify(tokens: readonly TokenEntry[] | undefined): Identify {
  if (tokens === undefined) return () => localUser
  const known = tokens.map(({ hash, subject, scopes }) => ({
    digest: Buffer.from(hash.replace(/^sha256:/, ''), 'hex'),
    // One object per token: lists are cached by it.
    caller: Object.freeze({ subject, scopes: new Set(scopes) }) as Caller,
  }))
  return (authorization) => {
    const token = authorization?.match(/^Bearer ([\x21-\x7e]{1,4096})$/i)?.[1]
    if (token === undefined) return undefined
    const digest = createHash('sha256').update(token).digest()
    let found: Caller | undefined
    // Every entry is compared, so that the time taken says nothing about which one it was.
    for (const entry of known) if (timingSafeEqual(entry.digest, digest)) found = entry.caller
    return found
  }
}
