import { hash, hkdfSync } from 'node:crypto'

/** The key that seals the blocks and marks of chains. */
export const toChainKey = (secret: string): string => toKey(secret, 'chain seals')

export const toKey = (secret: string, purpose: string): string =>
  Buffer.from(toKeyBytes(secret, purpose)).toString('base64url')

/** A key for one purpose, derived from the secret beside the store (HKDF, RFC 5869). */
export const toKeyBytes = (secret: string, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', `drawbridge ${purpose}`, 32))

/** Length of a seal: 128 bits in hexadecimal. */
export const sealLength = 32

/**
 * A keyed hash (MAC). SHA-256 with the key as prefix is safe here because half of the digest is cut off: the
 * length extension attack has no state to continue from. HMAC (`createHmac`) takes four times as long.
 */
export const toSeal = (key: string, text: string): string =>
  hash('sha256', `${key}\n${text}`, 'hex').slice(0, sealLength)
