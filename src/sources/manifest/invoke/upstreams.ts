import { type Fault, isFault } from '../../../capability/fault.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
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

type UpstreamsOptions = Pick<ManifestOptions, 'protocols' | 'resolveSecret' | 'isUnset'>

/** One connection per interface and secret, opened on first use and shared by all calls. */
export class Upstreams {
  readonly #options: UpstreamsOptions
  readonly #connections = new Map<string, Upstream>()
  readonly #destinations = new Map<string, Destination>()
  #host: UpstreamHost = defaultHost

  constructor(options: UpstreamsOptions) {
    this.#options = options
  }

  get egress(): Egress {
    return this.#host.egress
  }

  /** Connections that were made under other rules are closed. */
  connect(host: UpstreamHost): void {
    if (host.egress !== this.#host.egress) void this.close()
    this.#host = host
  }

  open({ interface: { protocol, endpoint = '', name }, secret }: UpstreamRoute): Upstream {
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

  forgetDestinations(): void {
    this.#destinations.clear()
  }

  addDestination(pointer: string, route: UpstreamRoute) {
    const { name, endpoint = '' } = route.interface
    const secret = route.secret && this.#toSecretUse(route.secret)
    this.#destinations.set(pointer, {
      url: endpoint,
      via: `interface ${name}`,
      ...dropUndefined({ secret }),
    })
  }

  #toSecretUse(secret: BoundSecret | Fault<string>): SecretUse {
    if (isFault(secret)) return { name: '', header: '', fault: secret.fault }
    const { name, header } = secret
    return { name, header, isUnset: this.#options.isUnset(name) }
  }

  destinations(pointer: string): readonly Destination[] {
    const destination = this.#destinations.get(pointer)
    return destination ? [destination] : []
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((upstream) => upstream.close()))
    this.#connections.clear()
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
