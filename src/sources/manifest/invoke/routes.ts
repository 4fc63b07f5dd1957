import { type Fault, isFault } from '../../../capability/fault.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { Upstream, UpstreamOptions } from '../../../upstream/upstream.ts'
import type { ManifestCapability, ManifestInterface } from '../reading/manifest-shape.ts'
import type { Indexed, ValidManifest } from '../reading/read-manifest.ts'
import { type BoundSecret, bindSecret, type SecretBindings } from './bind-secret.ts'
import type { InterfaceApi } from './interface-apis.ts'

/** User code that implements a capability in this process. */
export type ManifestHandler = (input: unknown, context: HandlerContext) => unknown

/** The second argument of a handler. */
export interface HandlerContext {
  /** Aborts when the timeout is reached or the client cancels the call. */
  readonly signal: AbortSignal
  /** The authenticated caller. */
  readonly caller: { readonly subject: string }
  /** The idempotency key of the call, if it has one. */
  readonly idempotencyKey: string | undefined
  /** Sends a progress notification to a client that asked for progress. */
  readonly progress: (done: number, total?: number, message?: string) => void
}

/** A handler, and the digest of its code. */
export interface LoadedHandler {
  readonly run: ManifestHandler
  readonly code: string
}

/** How a call reaches the agent: a handler in this process, or an interface of the manifest. */
export type CapabilityRoute =
  | (LoadedHandler & {
      readonly kind: 'handler'
      readonly interface?: Indexed<ManifestInterface>
    })
  | UpstreamRoute

export interface UpstreamRoute {
  readonly kind: 'upstream'
  /** Present if the interface is called as an OpenAPI document says. */
  readonly api?: InterfaceApi
  readonly interface: Indexed<ManifestInterface>
  /** Absent if the interface needs none. A fault if it needs one and none is bound: then every call fails. */
  readonly secret?: BoundSecret | Fault<string>
  /** Interfaces that would come first, but have no usable secret. */
  readonly skipped?: readonly SkippedInterface[]
}

export interface SkippedInterface extends Fault<string> {
  readonly interface: Indexed<ManifestInterface>
}

/** Opens a connection for one protocol; injected, so that the source depends on no protocol. */
export type OpenUpstream = (options: UpstreamOptions) => Upstream

export type UpstreamProtocols = Readonly<Record<'MCP' | 'HTTP', OpenUpstream>>

export interface RouteOptions {
  readonly handlers: ReadonlyMap<string, LoadedHandler>
  /** Interfaces that are called as an OpenAPI document says, by their index. */
  readonly apis: ReadonlyMap<number, InterfaceApi | Fault>
  readonly secrets: SecretBindings
}

/** A handler, else the first usable MCP interface, else HTTP interface; one with a bound secret comes first. */
export function findRoute(
  manifest: ValidManifest,
  { id, protocols }: ManifestCapability,
  { handlers, apis, secrets }: RouteOptions,
): CapabilityRoute | Fault {
  const { interfaces } = manifest
  const handler = handlers.get(id)
  if (handler) {
    const internalInterface = interfaces.find(({ protocol }) => protocol === 'INTERNAL')
    return { kind: 'handler', ...handler, ...dropUndefined({ interface: internalInterface }) }
  }
  const reasons: string[] = []
  let unbound: UpstreamRoute | undefined
  const skipped: SkippedInterface[] = []
  for (const protocol of ['MCP', 'HTTP'] as const) {
    if (!protocols.includes(protocol)) continue
    for (const candidate of interfaces.filter((one) => one.protocol === protocol)) {
      const api = apis.get(candidate.index)
      const obstacle = findObstacle(candidate) ?? (api && findApiObstacle(api, id))
      const secret = api ? findApiFault(api, id) : bindSecret(candidate, manifest, secrets)
      const route = {
        kind: 'upstream',
        interface: candidate,
        ...dropUndefined({ secret, api: api && !isFault(api) ? api : undefined }),
      } as const
      if (obstacle !== undefined) reasons.push(`${candidate.name} ${obstacle}`)
      else if (secret && isFault(secret)) {
        unbound ??= route
        skipped.push({ interface: candidate, fault: secret.fault })
      } else return { ...route, skipped }
    }
  }
  if (unbound) return unbound
  for (const protocol of ['MCP', 'HTTP'] as const)
    if (protocols.includes(protocol) && !interfaces.some((one) => one.protocol === protocol))
      reasons.push(`the manifest has no ${protocol} interface`)
  if (protocols.includes('INTERNAL')) reasons.push('it has no handler')
  const reason =
    reasons.length === 0
      ? `${protocols.join(' and ')} cannot be called from here`
      : reasons.join(', ')
  return { fault: `${id} cannot be called: ${reason}. Add an interface or a handler.` }
}

function findObstacle({ endpoint = '', auth }: ManifestInterface): string | undefined {
  if (!/^https?:\/\//i.test(endpoint)) return 'has no http or https endpoint'
  if (!URL.canParse(endpoint)) return 'has an endpoint that is not a valid URL'
  return auth === 'mTLS' ? 'requires mTLS, which is not supported' : undefined
}

/** Why a capability has no operation in the document of its interface. */
function findApiObstacle(api: InterfaceApi | Fault, id: string): string | undefined {
  if (isFault(api)) return `cannot be called: ${api.fault}`
  const target = api.targets.get(id)
  if (!target) return `has no operation for ${id} in its schema_ref`
  return isFault(target) ? `cannot be called: ${target.fault}` : undefined
}

/** Why the operation cannot be authenticated. */
function findApiFault(api: InterfaceApi | Fault, id: string): Fault | undefined {
  const target = isFault(api) ? undefined : api.targets.get(id)
  if (!target || isFault(target)) return undefined
  return isFault(target.security) ? target.security : undefined
}
