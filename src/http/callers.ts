import { createHash, timingSafeEqual } from 'node:crypto'
import { type Caller, localUser } from '../capability/caller.ts'
import type { HttpReply } from '../mcp/http-port.ts'
import type { Arrival } from './arrival.ts'
import { refuse } from './gate.ts'

/** A bearer token in the configuration, which holds its digest and never the token itself. */
export interface TokenEntry {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  readonly subject: string
  readonly scopes: readonly string[]
}

/** Finds the caller of an `Authorization` header; `undefined` when it is missing or unknown. */
export type Identify = (authorization: string | undefined) => Caller | undefined

/** Configured tokens deny by default; without any, every client that can connect is the local user. */
export function createIdentify(tokens: readonly TokenEntry[] | undefined): Identify {
  if (tokens === undefined) return () => localUser
  const entries = tokens.map(({ hash, subject, scopes }) => ({
    digest: Buffer.from(hash.replace(/^sha256:/, ''), 'hex'),
    // One object per token, because lists are cached by caller.
    caller: Object.freeze({ subject, scopes: new Set(scopes) }) as Caller,
  }))
  return (authorization) => {
    const token = toBearer(authorization)
    if (token === undefined) return undefined
    const digest = createHash('sha256').update(token).digest()
    let match: Caller | undefined
    // Timing attack: every entry is compared, so that the time taken does not depend on the match.
    for (const entry of entries) if (timingSafeEqual(entry.digest, digest)) match = entry.caller
    return match
  }
}

/** The bearer token of an `Authorization` header (RFC 6750). */
export const toBearer = (authorization: string | undefined): string | undefined =>
  authorization?.match(/^Bearer ([\x21-\x7e]{1,4096})$/i)?.[1]

/** Returns the caller, or answers 401 and returns `undefined`. */
export function authenticate(
  identify: Identify,
  { headers }: Arrival,
  reply: HttpReply,
  message = 'A valid bearer token is required',
): Caller | undefined {
  const caller = identify(headers.authorization)
  if (!caller)
    refuse(reply, 401, message, {
      headers: { 'www-authenticate': 'Bearer realm="drawbridge"' },
    })
  return caller
}
