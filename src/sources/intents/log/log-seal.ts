import type { Json } from '../../../capability/json.ts'
import { decrypt, encrypt, fromBase64, ivSize, toBase64 } from '../crypto/aes-gcm.ts'
import { findEncryptionKey, type KeyRing } from '../crypto/key-ring.ts'
import type { SealOptions } from '../crypto/seal.ts'
import {
  type ExecutionEvent,
  isSealed,
  type LoggedExecution,
  type Sealed,
} from './execution-log.ts'
import type { Protect } from './journal.ts'

/** Seals payloads for the log. Each belongs to one place of one execution and fits nowhere else. */
export const createProtect =
  (options: Pick<SealOptions, 'ring' | 'randomBytes'>, kid: string): Protect =>
  (payload, about) => {
    const iv = options.randomBytes(ivSize)
    const data = encrypt(findEncryptionKey(options.ring, kid), iv, about, JSON.stringify(payload))
    return { sealed: { kid, iv: toBase64(iv), data: toBase64(data) } }
  }

/** Opens what the ring has keys for; the rest stays sealed. */
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
        envelope: { ...envelope, payload: reveal(envelope.payload, `${id} request`) },
      }
    }
    case 'answered': {
      const { payload, id, number } = event
      return payload === undefined
        ? event
        : { ...event, payload: reveal(payload, `${id} answer ${number}`) }
    }
    case 'ended': {
      const { response, id } = event
      return {
        ...event,
        response: { ...response, payload: reveal(response.payload, `${id} response`) },
      }
    }
    case 'resumed':
    case 'asked':
    case 'late':
    case 'setup':
      return event
  }

  function reveal<T extends Json | object>(value: T | Sealed, about: string): T | Sealed {
    if (!isSealed(value)) return value
    const { kid, iv, data } = value.sealed
    const [key, nonce, bytes] = [ring.get(kid), fromBase64(iv), fromBase64(data)]
    const text = key && nonce && bytes && decrypt(key, nonce, about, bytes)
    return text === undefined ? value : (JSON.parse(text) as T)
  }
}
