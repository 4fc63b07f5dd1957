import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Json } from '../capability/json.ts'
import { invalidParams } from './rpc-error.ts'

/** What a state belongs to: it is worth nothing for anything else. */
export interface StateBinding {
  readonly subject: string
  readonly method: string
  readonly name: string
  readonly input: unknown
}

export interface RequestStates {
  seal(state: Json | undefined, binding: StateBinding): Promise<string>
  /** Throws the same error whatever is wrong with it. */
  open(sealed: unknown, binding: StateBinding): Promise<Json | undefined>
}

/** How long a person has to answer. */
const lifetimeSeconds = 600

/** What a call asked to remember travels through the client, so it is encrypted and bound. */
export function createRequestStates(key: Uint8Array, now: () => number): RequestStates {
  return {
    seal: async (state, binding) => {
      const { EncryptJWT } = await import('jose') // most servers never ask anything
      return new EncryptJWT({ for: toDigest(binding), ...(state !== undefined && { state }) })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(Math.floor(now() / 1000) + lifetimeSeconds)
        .encrypt(key)
    },
    open: async (sealed, binding) => {
      const { jwtDecrypt } = await import('jose')
      try {
        if (typeof sealed !== 'string' || !isCanonical(sealed)) throw new Error('not as it was')
        const { payload } = await jwtDecrypt(sealed, key, {
          currentDate: new Date(now()),
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        })
        if (payload.for === toDigest(binding)) return payload.state as Json | undefined
      } catch {
        // One answer for every cause: why a state was refused helps only those who forge them.
      }
      throw invalidParams('Invalid or expired requestState')
    },
  }
}

/** The last bits of base64 may differ without a difference: what was changed at all is refused. */
const isCanonical = (sealed: string): boolean =>
  sealed.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)

function toDigest({ subject, method, name, input }: StateBinding): string {
  const parts = [subject, method, name, input ?? null]
  return createHash('sha256').update(toText(parts)).digest('base64url')
}

/** Half a character has no canonical form; then the text as it came has to do. */
function toText(value: unknown): string {
  try {
    return canonicalize(value) ?? ''
  } catch {
    return JSON.stringify(value)
  }
}
