import { hash } from 'node:crypto'
import { toCanonicalJson } from './canonical-json.ts'

/** SHA-256 of the canonical JSON (RFC 8785): key order, number spelling and spacing do not count. */
export const digestJson = (value: unknown, encoding: 'base64url' | 'hex' = 'base64url'): string =>
  hash('sha256', toCanonicalJson(value), encoding)
