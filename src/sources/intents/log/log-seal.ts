import type { Json } from '../../../capability/json.ts'
import { decrypt, encrypt, fromBase64, ivBytes, toBase64 } from '../crypto/aes-gcm.ts'
import { findEncryptionKey, type KeyRing } from '../crypto/key-ring.ts'
import type { SealOptions } from '../crypto/seal.ts'
import {
  type ExecutionEvent,
  isSealed,
  type LoggedExecution,
  type SealedPayload,
} from './execution-log.ts'
import type { EncryptPayload } from './journal.ts'

/** Encrypts payloads for the log. The associated data binds each to its place in one execution. */
export const createPayloadEncryption =
  (options: Pick<SealOptions, 'ring' | 'randomBytes'>, kid: string): EncryptPayload =>
  (payload, associatedData) => {
    const iv = options.randomBytes(ivBytes)
    const key = findEncryptionKey(options.ring, kid)
    const data = encrypt(key, iv, associatedData, JSON.stringify(payload))
    return { sealed: { kid, iv: toBase64(iv), data: toBase64(data) } }
  }

/** Decrypts the payloads the ring has keys for; the others stay sealed. */
export const openExecution = (execution: LoggedExecution, ring: KeyRing): LoggedExecution => ({
  ...execution,
  events: execution.events.map((event) => openEvent(event, ring)),
})

function openEvent(event: ExecutionEvent, ring: KeyRing): ExecutionEvent {
  switch (event.event) {
    case 'begun': {
      const { envelope, id } = event
      return {
        ...event,
        envelope: { ...envelope, payload: decryptPayload(envelope.payload, `${id} request`) },
      }
    }
    case 'answered': {
      const { payload, id, number } = event
      return payload === undefined
        ? event
        : { ...event, payload: decryptPayload(payload, `${id} answer ${number}`) }
    }
    case 'ended': {
      const { response, id } = event
      return {
        ...event,
        response: { ...response, payload: decryptPayload(response.payload, `${id} response`) },
      }
    }
    case 'resumed':
    case 'asked':
    case 'late':
    case 'setup':
      return event
  }

  function decryptPayload<T extends Json | object>(
    value: T | SealedPayload,
    associatedData: string,
  ): T | SealedPayload {
    if (!isSealed(value)) return value
    const { kid, iv, data } = value.sealed
    const [key, nonce, bytes] = [ring.get(kid), fromBase64(iv), fromBase64(data)]
    const text = key && nonce && bytes && decrypt(key, nonce, associatedData, bytes)
    return text === undefined ? value : (JSON.parse(text) as T)
  }
}
