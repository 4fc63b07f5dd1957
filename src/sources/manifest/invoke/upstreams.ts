import { type Fault, isFault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { ApiClient } from '../../../openapi/api-client.ts'
import { toDestinations } from '../../../openapi/to-destinations.ts'
import type { Egress } from '../../../upstream/egress/egress.ts'
import {
  type Destination,
  defaultHost,
  type SecretUse,
  type UpstreamHost,
} from '../../../upstream/egress/upstream-source.ts'
import type { Credential, Upstream } from '../../../upstream/upstream.ts'
import type { ManifestOptions } from '../manifest-source.ts'
import type { BoundSecret } from './bind-secret.ts'
import type { UpstreamRoute } from './routes.ts'

type UpstreamsOptions = Pick<
  ManifestOptions,
  'protocols' | 'resolveSecret' | 'isUnset' | 'steadyNow'
>

/** A capability that is called over an interface, and the schemas that it is served with. */
export interface UpstreamTarget {
  readonly id: string
  /** JSON pointer of the capability. */
  readonly pointer: string
  readonly route: UpstreamRoute
  readonly input: JsonObject
  readonly output: JsonObject
}

/** One connection per interface and secret, opened on first use and shared by all calls. */
export class Upstreams {
  /** Calls interfaces that are described by an OpenAPI document. */
  readonly apiClient: ApiClient
  readonly #options: UpstreamsOptions
  readonly #connections = new Map<string, Upstream>()
  readonly #destinations = new Map<string, readonly Destination[]>()
  #targets: UpstreamTarget[] = []
  #host: UpstreamHost = defaultHost

  constructor(options: UpstreamsOptions) {
    this.#options = options
    this.apiClient = new ApiClient(options.steadyNow)
  }

  get egress(): Egress {
    return this.#host.egress
  }

  /** Connections that were made under other rules are closed. */
  connect(host: UpstreamHost): void {
    if (host.egress !== this.#host.egress) void this.close()
    this.#host = host
    this.apiClient.connect(host)
  }

  open({ interface: { protocol, endpoint = '', name }, secret, api }: UpstreamRoute): Upstream {
    if (api) return api.upstream
    const key = JSON.stringify([protocol, endpoint, name, secret])
    const existing = this.#connections.get(key)
    if (existing) return existing
    const upstream = this.#options.protocols[protocol as 'MCP' | 'HTTP']({
      endpoint,
      egress: this.egress,
      ...dropUndefined({ credential: secret && (() => this.#credential(secret)) }),
    })
    this.#connections.set(key, upstream)
    return upstream
  }

  /** What the latest reading calls, to be asked by `check --live`. */
  get targets(): readonly UpstreamTarget[] {
    return this.#targets
  }

  forgetTargets(): void {
    this.#destinations.clear()
    this.#targets = []
  }

  addTarget(target: UpstreamTarget) {
    const { id, pointer, route } = target
    const { name, endpoint = '' } = route.interface
    this.#targets.push(target)
    const apiTarget = route.api?.targets.get(id)
    if (apiTarget && !isFault(apiTarget)) {
      const references = route.api?.references.get(id) ?? []
      const isUnset = references.some((one) => this.#options.isUnset(one))
      this.#destinations.set(
        pointer,
        toDestinations(apiTarget).map((one) =>
          one.secret ? { ...one, secret: { ...one.secret, isUnset } } : one,
        ),
      )
      return
    }
    const secret = route.secret && this.#toSecretUse(route.secret)
    const via = `interface ${name}`
    this.#destinations.set(pointer, [{ url: endpoint, via, ...dropUndefined({ secret }) }])
  }

  #toSecretUse(secret: BoundSecret | Fault<string>): SecretUse {
    if (isFault(secret)) return { name: '', header: '', fault: secret.fault }
    const { name, header } = secret
    return { name, header, isUnset: this.#options.isUnset(name) }
  }

  destinations(pointer: string): readonly Destination[] {
    return this.#destinations.get(pointer) ?? []
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((upstream) => upstream.close()))
    this.#connections.clear()
    this.apiClient.close()
  }

  async #credential(secret: BoundSecret | Fault<string>): Promise<Credential> {
    if (isFault(secret)) throw new Error(secret.fault)
    const { name, toCredential } = secret
    const value = await this.#options.resolveSecret(name)
    if (value === undefined) throw new Error(`${name} has no value`)
    this.#host.onSecret(value)
    return toCredential(value)
  }
}
