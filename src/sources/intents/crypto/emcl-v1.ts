import type { Fault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { decrypt, encrypt, fromBase64, ivBytes, toBase64 } from './aes-gcm.ts'
import type { SealOptions } from './seal.ts'

/** Constant associated data: v1 does not bind a message to its context, so replays are possible. */
const associatedData = 'emcl-aes-gcm'

/**
 * The seal format of other runtimes, for interoperability only. It provides confidentiality and
 * integrity, but binds neither recipient nor time.
 */
export function sealV1(
  { randomBytes }: Pick<SealOptions, 'randomBytes'>,
  key: Uint8Array,
  identityChain: readonly string[],
  plain: unknown,
) {
  const iv = randomBytes(ivBytes)
  const data = encrypt(key, iv, associatedData, JSON.stringify(plain))
  return { cipherText: toBase64(data), iv: toBase64(iv), tag: '', identityChain }
}

export function openV1(key: Uint8Array, value: unknown): { readonly plain: unknown } | Fault {
  const { cipherText, iv, tag = '' } = isPlainObject(value) ? value : {}
  const [data, nonce] = [fromBase64(cipherText), fromBase64(iv)]
  if (!data || !nonce || tag !== '') return { fault: 'it is not a sealed message' }
  const text = decrypt(key, nonce, associatedData, data)
  if (text === undefined) return { fault: 'it was modified, or sealed with another key' }
  const plain = parseJson(text)
  return plain === undefined ? { fault: 'the decrypted text is not valid JSON' } : { plain }
}
