import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** The same for what means the same: as RFC 8785 writes it. */
export const toDigest = (value: unknown): string =>
  hash('sha256', canonicalize(value) ?? 'null', 'base64url')
