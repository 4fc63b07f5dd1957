import { hash } from 'node:crypto'
import type { Json } from '../capability/json.ts'
import { digestJson } from '../json/digest-json.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { invalidParams } from './rpc-error.ts'

/** The request that a state is bound to. It is rejected for any other request. */
export interface StateBinding {
  readonly subject: string
  readonly method: string
  readonly name: string
  readonly input: unknown
}

export interface RequestStates {
  seal(state: Json | undefined, binding: StateBinding): Promise<string>
  /** Throws one and the same error for every kind of invalid state. */
  open(sealedState: unknown, binding: StateBinding): Promise<Json | undefined>
}

/** The time that a person has to answer. */
const lifetimeSeconds = 600

/** The state of a call travels through the client, so it is encrypted and bound to its request. */
export function createRequestStates(key: Uint8Array, now: () => number): RequestStates {
  return {
    seal: async (state, binding) => {
      const { EncryptJWT } = await import('jose') // loaded lazily: most servers never ask questions
      return new EncryptJWT(dropUndefined({ for: toDigest(binding), state }))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(Math.floor(now() / 1000) + lifetimeSeconds)
        .encrypt(key)
    },
    open: async (sealedState, binding) => {
      const { jwtDecrypt } = await import('jose')
      try {
        if (typeof sealedState !== 'string' || !isCanonical(sealedState))
          throw new Error('not canonical')
        const { payload } = await jwtDecrypt(sealedState, key, {
          currentDate: new Date(now()),
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        })
        if (payload.for === toDigest(binding)) return payload.state as Json | undefined
      } catch {
        // The cause is not reported: it would only help an attacker who forges states.
      }
      throw invalidParams('Invalid or expired requestState')
    },
  }
}

/** Base64 malleability: the unused last bits can change without changing the decoded bytes. */
const isCanonical = (sealedState: string): boolean =>
  sealedState
    .split('.')
    .every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)

/** Plain JSON for text with an unpaired surrogate, which has no canonical form. */
function toDigest({ subject, method, name, input }: StateBinding): string {
  const parts = [subject, method, name, input ?? null]
  try {
    return digestJson(parts)
  } catch {
    return hash('sha256', JSON.stringify(parts), 'base64url')
  }
}
