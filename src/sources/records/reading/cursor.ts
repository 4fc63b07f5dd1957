import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'
import type { Json } from '../../../capability/json.ts'
import { byCodeUnit } from '../../../json/by-code-unit.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'

/** The kind of read a cursor continues. A cursor of another kind is rejected. */
export type CursorKind = 'page' | 'bookmark' | 'changes' | 'search' | 'record'

/** Everything that must be unchanged when the cursor is used. */
export interface CursorBinding {
  readonly kind: CursorKind
  /** Id or fingerprint of the grant. */
  readonly grant: string
  readonly query: Json
}

const tagBytes = 16
const nonceBytes = 12
/** Padding unit: fits any position made of up to three numbers. */
const paddingBytes = 48

/**
 * Encrypts a position in a result with AES-256-GCM. The binding is the additional authenticated
 * data, so a cursor cannot be read, altered, or used with another grant or query. The nonce is an
 * HMAC of the plaintext (synthetic IV): the same position always gives the same cursor.
 */
export function sealCursor(key: Uint8Array, binding: CursorBinding, position: Json): string {
  const text = toPadded(JSON.stringify(position))
  const context = toContext(binding)
  const nonce = createHmac('sha256', key)
    .update(`${context}\n${text}`)
    .digest()
    .subarray(0, nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64url')
}

/** Pads the plaintext: the number of digits would reveal how many records outside the grant exist. */
function toPadded(text: string): string {
  const length = Buffer.byteLength(text)
  return text + ' '.repeat(Math.ceil(length / paddingBytes) * paddingBytes - length)
}

/** `undefined` for any cursor not sealed for exactly this binding, without a reason. */
export function openCursor(
  key: Uint8Array,
  binding: CursorBinding,
  cursor: string,
): readonly unknown[] | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.length <= nonceBytes + tagBytes || bytes.toString('base64url') !== cursor)
    return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(toContext(binding)))
      .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
    const text = decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8')
    const position: unknown = JSON.parse(text + decipher.final('utf8'))
    return Array.isArray(position) ? position : undefined
  } catch {
    return undefined
  }
}

/**
 * Not `digestJson`: its canonical form is another one, and bookmarks that were handed out earlier would
 * become invalid.
 */
const toContext = ({ kind, grant, query }: CursorBinding): string =>
  `1 ${kind} ${hash('sha256', JSON.stringify([grant, toSorted(query)]), 'base64url')}`

/** Sorts object keys: the order of filters does not matter. */
function toSorted(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(toSorted)
  if (!isPlainObject(value)) return (value ?? null) as Json
  return Object.entries(value)
    .sort(([a], [b]) => byCodeUnit(a, b))
    .map(([name, item]) => [name, toSorted(item as Json)])
}
