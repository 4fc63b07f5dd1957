import type { Fault } from '../../../capability/fault.ts'
import type { SecretUse } from '../../../upstream/egress/upstream-source.ts'
import type { Credential } from '../../../upstream/upstream.ts'
import type { ManifestInterface } from '../reading/manifest-shape.ts'
import type { ValidManifest } from '../reading/read-manifest.ts'

/** The operator's decision which secret an interface gets, and at which host. */
export interface SecretBinding {
  /** The id of an entry of `requirements.secrets`. */
  readonly id: string
  /** The host of the interface's endpoint, with the port if the URL has one. */
  readonly host: string
}

/** By the name of the interface. */
export type SecretBindings = Readonly<Record<string, SecretBinding>>

export interface BoundSecret extends SecretUse {
  /** An `env://`, `vault://` or `kms://` reference. */
  readonly name: string
  toCredential(value: string): Credential
}

/**
 * The secret of an interface; `undefined` if it needs none. It is never guessed: the operator binds
 * it, or its id is the name of the interface. An unclear binding is a fault.
 */
export function bindSecret(
  agentInterface: ManifestInterface,
  { requirements, interfaces }: Pick<ValidManifest, 'requirements' | 'interfaces'>,
  bindings: SecretBindings,
): BoundSecret | Fault | undefined {
  const { name, auth, endpoint } = agentInterface
  if (auth === 'none') return undefined
  const binding = Object.hasOwn(bindings, name) ? bindings[name] : undefined
  const host = toHost(endpoint)
  if (binding && binding.host.toLowerCase() !== host)
    return {
      fault: `its secret is bound to the host ${binding.host}, and its endpoint is at ${host}`,
    }
  const id = binding?.id ?? name
  const [secret, second] = (requirements?.secrets ?? []).filter((one) => one.id === id)
  if (!secret)
    return {
      fault: binding
        ? `its secret ${id} is not in requirements.secrets`
        : `no secret is bound to it (give an entry of requirements.secrets the id ${name}, or bind one under "secrets" of the source)`,
    }
  if (second) return { fault: `requirements.secrets has more than one entry ${id}` }
  const hosts = interfaces.filter((one) => one.name === name && one.auth !== 'none')
  if (!binding && hosts.some((one) => toHost(one.endpoint) !== host))
    return { fault: `interfaces named ${name} are at different hosts, and the secret is for one` }
  return {
    name: secret.secret_ref,
    ...(auth === 'api_key'
      ? { header: 'X-Api-Key', toCredential: (value) => ({ header: 'x-api-key', value }) }
      : {
          header: 'Authorization',
          toCredential: (value) => ({ header: 'authorization', value: `Bearer ${value}` }),
        }),
  }
}

/** Why a reference has no value. */
export const toUnsetReason = (reference: string): string =>
  reference.startsWith('env://')
    ? `${reference} has no value`
    : `${reference} has no value (only resolveSecret in code can resolve it)`

export const toHost = (endpoint = ''): string =>
  URL.canParse(endpoint) ? new URL(endpoint).host : 'no host'
