import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** The key that seals the blocks and marks of chains. */
export const toChainKey = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(toKeyBytes(secret, 'chain seals')))

/** A key for one purpose, derived from the secret beside the store (HKDF, RFC 5869). */
export const toKeyBytes = (secret: string, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', `drawbridge ${purpose}`, 32))

export const toSeal = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url')
