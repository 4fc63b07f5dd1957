import type { ManifestInterface } from '../reading/manifest-shape.ts'
import type { ValidManifest } from '../reading/read-manifest.ts'
import { type SecretBindings, toHost } from './bind-secret.ts'
import type { DescribedInterface } from './interface-apis.ts'

/** The secret of a security scheme, and the host that may get it. */
export interface BoundReference {
  /** An `env://`, `vault://` or `kms://` reference. */
  readonly reference: string
  readonly host: string
}

/**
 * The secrets of the security schemes of an interface, by the name of the scheme. The operator binds them, or
 * an entry of `requirements.secrets` has the name of the scheme. Nothing is bound by name that is
 * meant for another host: where documents at two hosts name a scheme alike, or where the operator bound
 * the same entry elsewhere.
 */
export function bindSchemes(
  { interface: { endpoint }, schemes }: DescribedInterface,
  all: readonly DescribedInterface[],
  { requirements, interfaces }: Pick<ValidManifest, 'requirements' | 'interfaces'>,
  bindings: SecretBindings,
): ReadonlyMap<string, BoundReference> {
  const host = toHost(endpoint)
  const bound = new Map<string, BoundReference>()
  for (const scheme of schemes) {
    const binding = Object.hasOwn(bindings, scheme) ? bindings[scheme] : undefined
    const id = binding?.id ?? scheme
    const [entry, second] = (requirements?.secrets ?? []).filter((one) => one.id === id)
    if (!entry || second) continue
    if (binding) bound.set(scheme, { reference: entry.secret_ref, host: binding.host })
    else if (!isMeantElsewhere(scheme, host, all, interfaces, bindings))
      bound.set(scheme, { reference: entry.secret_ref, host })
  }
  return bound
}

function isMeantElsewhere(
  scheme: string,
  host: string,
  all: readonly DescribedInterface[],
  interfaces: readonly ManifestInterface[],
  bindings: SecretBindings,
): boolean {
  const isElsewhere = (one: ManifestInterface) =>
    one.auth !== 'none' && toHost(one.endpoint) !== host
  return (
    Object.values(bindings).some((one) => one.id === scheme && one.host.toLowerCase() !== host) ||
    all.some((one) => one.schemes.has(scheme) && isElsewhere(one.interface)) ||
    interfaces.some((one) => one.name === scheme && isElsewhere(one))
  )
}
