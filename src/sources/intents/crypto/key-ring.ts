import { hkdfSync } from 'node:crypto'
import { SetupError } from '../../../capability/setup-error.ts'

const size = 32

/** Keys by their id. Old ones stay until nothing is left that was sealed with them. */
export type KeyRing = ReadonlyMap<string, Uint8Array>

export function toKeyRing(keys: Readonly<Record<string, string>>): KeyRing {
  return new Map(Object.entries(keys).map(([kid, text]) => [kid, toKey(kid, text)]))
}

/**
 * 32 bytes as text, hexadecimal digits or base64 are the key. Longer text is stretched by HKDF;
 * shorter text is too easy to guess for that.
 */
function toKey(kid: string, text: string): Uint8Array {
  const bytes = Buffer.from(text)
  if (bytes.length === size) return bytes
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  if (bytes.length < size)
    throw new SetupError(`The key ${kid} has ${bytes.length} bytes; it needs ${size} or more.`)
  return new Uint8Array(hkdfSync('sha256', bytes, salt, 'dev.drawbridge/intents', size))
}

const salt = Buffer.from('dev.drawbridge/emcl-v2')

export function findEncryptionKey(ring: KeyRing, kid: string): Uint8Array {
  const key = ring.get(kid)
  if (!key) throw new SetupError(`There is no key ${JSON.stringify(kid)}.`)
  return key
}
