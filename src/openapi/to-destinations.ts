import { isFault } from '../capability/fault.ts'
import type { Destination, SecretUse } from '../upstream/egress/upstream-source.ts'
import type { ApiTarget } from './api-client.ts'
import { toPlaceText } from './security/credentials.ts'
import { hasValue } from './security/secrets.ts'

/** The servers of an operation: one entry for each secret, because an operation can need several. */
export function toDestinations({ server, security }: ApiTarget): readonly Destination[] {
  if (isFault(server)) return []
  const url = server.href
  if (isFault(security)) return [{ url, secret: { name: '', header: '', fault: security.fault } }]
  if (security.length === 0) return [{ url }]
  return security.map((bound): Destination => {
    const secret: SecretUse = {
      name: bound.name,
      header: toPlaceText(bound),
      isUnset: !hasValue(bound.secret),
    }
    return { url, via: `security scheme ${bound.name}`, secret }
  })
}
