import type { Failed } from '../../capability/outcome.ts'
import { upstreamRefused } from '../failures.ts'

/** A visible ASCII field value (RFC 9110); prevents header injection. */
export const isFieldValue = (value: string): boolean =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)

export const unsendableKey = (): Failed =>
  upstreamRefused(
    'The idempotency key cannot be forwarded as a header: use visible ASCII characters only.',
  )
