import type { Explanation } from '../governance/explain.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { Egress } from '../upstream/egress/egress.ts'
import type { Destination, SecretUse } from '../upstream/egress/upstream-source.ts'

/** Whether each server of a call may be reached, and which secret it gets. Resolves host names. */
export async function explainDestinations(
  destinations: readonly Destination[],
  egress: Egress,
): Promise<readonly Explanation[]> {
  const explanations = destinations.map(async ({ url, via, secret }) => {
    const { verdict, why } = await egress.explain(url)
    const isRefused = verdict === 'refused'
    return [
      dropUndefined({
        step: 'egress',
        would: isRefused ? ('refuse' as const) : ('pass' as const),
        code: isRefused ? 'egress_refused' : undefined,
        why: `${via === undefined ? '' : `${via}: `}${url}; ${why}`,
      }),
      ...(secret ? [explainSecret(secret, new URL(url).host)] : []),
    ]
  })
  return (await Promise.all(explanations)).flat()
}

function explainSecret({ name, header, isUnset, fault }: SecretUse, host: string): Explanation {
  const reason = fault ?? (isUnset ? `${name} has no value` : undefined)
  return reason === undefined
    ? { step: 'secret', would: 'pass', why: `${name} as ${header} to ${host}` }
    : { step: 'secret', would: 'refuse', code: 'upstream_credentials', why: reason }
}
