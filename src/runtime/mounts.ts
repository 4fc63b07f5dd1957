import { SetupError } from '../capability/setup-error.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { IndexOptions } from '../catalog/catalog-index.ts'
import type { Snapshot } from '../catalog/snapshot.ts'
import type { HttpEndpoint } from '../mcp/http-endpoint.ts'
import type { Surface } from '../mcp/surface.ts'
import type { PlacedSource } from './placed-source.ts'

export interface Mount {
  readonly catalog: Catalog
  readonly surface: Surface
  readonly endpoint: HttpEndpoint
}

/** Decides whether a new snapshot may replace the one that is served. */
export type AcceptSnapshot = (snapshot: Snapshot) => boolean

export interface MountsOptions {
  readonly open: (path: string, sources: readonly PlacedSource[]) => Promise<Mount>
  readonly onError: (error: unknown) => void
}

/** All mounts by path. A mount stays open when its last source is removed, because clients may be connected. */
export class Mounts {
  /** HTTP endpoints by path, for the request handler. */
  readonly endpoints = new Map<string, HttpEndpoint>()
  readonly #mounts = new Map<string, Mount>()
  readonly #options: MountsOptions

  constructor(options: MountsOptions) {
    this.#options = options
  }

  at(path: string): Mount {
    const mount = this.#mounts.get(path)
    if (mount) return mount
    const available = [...this.#mounts.keys()].join(', ')
    throw new SetupError(`There is no mount ${path}. Available: ${available}.`)
  }

  get snapshots(): ReadonlyMap<string, Snapshot> {
    return new Map([...this.#mounts].map(([path, { catalog }]) => [path, catalog.snapshot]))
  }

  get surfaces(): readonly Surface[] {
    return [...this.#mounts.values()].map(({ surface }) => surface)
  }

  /** The only mount that offers anything, or `/mcp` when there are several or none. */
  get defaultPath(): string {
    let found: string | undefined
    for (const [path, { catalog }] of this.#mounts) {
      if (isEmpty(catalog.snapshot)) continue
      if (found !== undefined) return '/mcp'
      found = path
    }
    return found ?? '/mcp'
  }

  /** Differences between two fingerprints of a capability; `undefined` when no mount has both. */
  compare(name: string, former: string, present: string): readonly string[] | undefined {
    for (const { catalog } of this.#mounts.values()) {
      const changes = catalog.compare(name, former, present)
      if (changes) return changes
    }
    return undefined
  }

  /** Replaces the sources and the policy of every mount or of none. New mounts are opened after `onAccepted`. */
  async replace(
    sources: readonly PlacedSource[],
    policy: Omit<IndexOptions, 'naming'>,
    accepts: AcceptSnapshot,
    onAccepted: () => void,
  ): Promise<boolean> {
    const paths = new Set([...this.#mounts.keys(), ...sources.map(({ mount }) => mount), '/mcp'])
    const sourcesAt = (path: string) => sources.filter(({ mount }) => mount === path)
    const openPaths = [...paths].filter((path) => this.#mounts.has(path))
    const prepared = await Promise.all(
      openPaths.map((path) => this.at(path).catalog.prepare(sourcesAt(path), policy)),
    )
    const isAccepted = prepared.every(({ snapshot }) => accepts(snapshot))
    // Do not await: an old source is closed only when its last call has ended.
    for (const { commit, discard } of prepared)
      void (isAccepted ? commit() : discard()).catch(this.#options.onError)
    if (!isAccepted) return false
    onAccepted()
    for (const path of paths)
      if (!this.#mounts.has(path)) {
        const mount = await this.#options.open(path, sourcesAt(path))
        this.#mounts.set(path, mount)
        this.endpoints.set(path, mount.endpoint)
      }
    return true
  }

  /** Ends all subscriptions and open streams of clients. */
  closeSurfaces(): void {
    for (const { surface } of this.#mounts.values()) surface.close()
  }

  async closeEndpoints(): Promise<void> {
    for (const { endpoint } of this.#mounts.values()) await endpoint.close()
  }

  async closeCatalogs(): Promise<void> {
    for (const { catalog } of this.#mounts.values()) await catalog.close()
  }
}

const isEmpty = ({ capabilities, views, templates, prompts }: Snapshot): boolean =>
  capabilities.size + views.size + templates.length + prompts.size === 0
