import { isPlainObject } from '../../../capability/json.ts'
import { decrypt, encrypt, fromBase64, ivSize, toBase64 } from './aes-gcm.ts'
import type { Opened, SealOptions } from './seal.ts'

/** The same for every message: this form binds nothing and can be shown again. */
const associated = 'emcl-aes-gcm'

/**
 * The format of other runtimes, only for talking to them. It keeps a payload from being read and
 * changed; it does not say for whom it was meant, or when.
 */
export function sealV1(
  { randomBytes }: Pick<SealOptions, 'randomBytes'>,
  key: Uint8Array,
  identityChain: readonly string[],
  plain: unknown,
) {
  const iv = randomBytes(ivSize)
  const data = encrypt(key, iv, associated, JSON.stringify(plain))
  return { cipherText: toBase64(data), iv: toBase64(iv), tag: '', identityChain }
}

export function openV1(
  key: Uint8Array,
  value: unknown,
): Exclude<Opened, { message: unknown }> | { readonly plain: unknown } {
  const { cipherText, iv, tag = '' } = isPlainObject(value) ? value : {}
  const [data, nonce] = [fromBase64(cipherText), fromBase64(iv)]
  if (!data || !nonce || tag !== '') return { fault: 'it has not the form of a sealed message' }
  const text = decrypt(key, nonce, associated, data)
  if (text === undefined) return { fault: 'it was changed, or sealed with another key' }
  try {
    return { plain: JSON.parse(text) }
  } catch {
    return { fault: 'what was sealed is no JSON' }
  }
}
