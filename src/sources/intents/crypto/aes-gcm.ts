import { createCipheriv, createDecipheriv } from 'node:crypto'

export const ivBytes = 12
const tagBytes = 16

/** AES-256-GCM; returns the ciphertext followed by the authentication tag. */
export function encrypt(
  key: Uint8Array,
  iv: Uint8Array,
  associatedData: string,
  plaintext: string,
): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(associatedData))
  return Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** `undefined` unless the data was encrypted with this key, IV and associated data. */
export function decrypt(
  key: Uint8Array,
  iv: Uint8Array,
  associatedData: string,
  data: Uint8Array,
): string | undefined {
  if (iv.length !== ivBytes || data.length < tagBytes) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(associatedData))
    decipher.setAuthTag(data.subarray(data.length - tagBytes))
    const body = data.subarray(0, data.length - tagBytes)
    return Buffer.concat([decipher.update(body), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

/** Accepts canonical base64 only, so that no other text decodes to the same bytes. */
export function fromBase64(text: unknown): Uint8Array | undefined {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
