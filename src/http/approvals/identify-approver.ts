import { createHash, timingSafeEqual } from 'node:crypto'
import { operator } from '../../capability/caller.ts'
import { type Identify, toBearer } from '../callers.ts'

/**
 * Identifies the holder of the approver credential. `readCredential` returns `undefined` when there is
 * none that can be used; then everybody is refused.
 */
export const createIdentifyApprover =
  (readCredential: () => string | undefined): Identify =>
  (authorization) => {
    const token = toBearer(authorization)
    const credential = token === undefined ? undefined : readCredential()
    if (token === undefined || credential === undefined) return undefined
    // Timing attack: digests of equal length are compared in constant time.
    return timingSafeEqual(toDigest(token), toDigest(credential)) ? operator : undefined
  }

const toDigest = (text: string): Buffer => createHash('sha256').update(text).digest()
