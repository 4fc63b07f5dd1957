import { createCipheriv, createDecipheriv } from 'node:crypto'

export const ivSize = 12
const tagSize = 16

/** Ciphertext, and the tag behind it. */
export function encrypt(
  key: Uint8Array,
  iv: Uint8Array,
  associated: string,
  plain: string,
): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(associated))
  return Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** `undefined` for whatever was not made with this key, this nonce and this associated data. */
export function decrypt(
  key: Uint8Array,
  iv: Uint8Array,
  associated: string,
  data: Uint8Array,
): string | undefined {
  if (iv.length !== ivSize || data.length < tagSize) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagSize })
    decipher.setAAD(Buffer.from(associated))
    decipher.setAuthTag(data.subarray(data.length - tagSize))
    const body = data.subarray(0, data.length - tagSize)
    return Buffer.concat([decipher.update(body), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

/** Strict: one text for one value, so that a changed letter is a changed message. */
export function fromBase64(text: unknown): Uint8Array | undefined {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
