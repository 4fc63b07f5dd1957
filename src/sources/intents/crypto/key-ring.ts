import { hkdfSync } from 'node:crypto'
import { SetupError } from '../../../capability/setup-error.ts'

const keyBytes = 32

/** Keys by id. Keep old keys as long as anything sealed with them exists. */
export type KeyRing = ReadonlyMap<string, Uint8Array>

export function toKeyRing(keys: Readonly<Record<string, string>>): KeyRing {
  return new Map(Object.entries(keys).map(([kid, text]) => [kid, toKey(kid, text)]))
}

/**
 * 32 bytes, given as text, hexadecimal or base64, are used as they are. Longer text goes through
 * HKDF-SHA256; shorter text is rejected as too weak.
 */
function toKey(kid: string, text: string): Uint8Array {
  const bytes = Buffer.from(text)
  if (bytes.length === keyBytes) return bytes
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  if (bytes.length < keyBytes)
    throw new SetupError(`The key ${kid} has ${bytes.length} bytes; it needs at least ${keyBytes}.`)
  return new Uint8Array(hkdfSync('sha256', bytes, salt, 'dev.drawbridge/intents', keyBytes))
}

const salt = Buffer.from('dev.drawbridge/emcl-v2')

export function findEncryptionKey(ring: KeyRing, kid: string): Uint8Array {
  const key = ring.get(kid)
  if (!key) throw new SetupError(`There is no key ${JSON.stringify(kid)} in "keys".`)
  return key
}
