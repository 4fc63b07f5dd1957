import { isFault } from '../capability/fault.ts'
import type { Destination, SecretUse } from '../upstream/egress/upstream-source.ts'
import type { ApiTarget } from './api-client.ts'
import { toPlaceText } from './security/credentials.ts'
import { findTokenEndpoint, hasValue } from './security/secrets.ts'

/** The servers of an operation and of its access tokens: one entry for each secret, because an operation can need several. */
export function toDestinations({ server, security }: ApiTarget): readonly Destination[] {
  if (isFault(server)) return []
  const url = toShown(server)
  if (isFault(security)) return [{ url, secret: { name: '', header: '', fault: security.fault } }]
  if (security.length === 0) return [{ url }]
  return security.flatMap((bound): Destination[] => {
    const { name } = bound
    const isUnset = !hasValue(bound.secret)
    const toUse = (header: string): SecretUse => ({ name, header, isUnset })
    const destination = { url, via: `security scheme ${name}`, secret: toUse(toPlaceText(bound)) }
    const endpoint = findTokenEndpoint(bound)
    if (!endpoint) return [destination]
    const via = `token endpoint of ${name}`
    return [{ url: toShown(endpoint), via, secret: toUse('client secret') }, destination]
  })
}

/** Without user, password and query, which can be secrets. */
const toShown = ({ origin, pathname }: URL): string => `${origin}${pathname}`
