import { SetupError } from '../capability/setup-error.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Snapshot } from '../catalog/snapshot.ts'
import type { HttpEndpoint } from '../mcp/http-endpoint.ts'
import type { Surface } from '../mcp/surface.ts'
import type { PlacedSource } from './open-sources.ts'

export interface Mount {
  readonly catalog: Catalog
  readonly surface: Surface
  readonly endpoint: HttpEndpoint
}

export type Accepts = (snapshot: Snapshot) => boolean

export interface MountsOptions {
  readonly open: (path: string, placed: readonly PlacedSource[]) => Promise<Mount>
  readonly onError: (error: unknown) => void
}

/** What is served where. A mount that was once open stays, even when nothing is left on it. */
export class Mounts {
  /** By path. */
  readonly endpoints = new Map<string, HttpEndpoint>()
  readonly #all = new Map<string, Mount>()
  readonly #options: MountsOptions

  constructor(options: MountsOptions) {
    this.#options = options
  }

  at(path: string): Mount {
    const mount = this.#all.get(path)
    if (mount) return mount
    const known = [...this.#all.keys()].join(', ')
    throw new SetupError(`There is no mount ${path}. There is: ${known}.`)
  }

  get snapshots(): ReadonlyMap<string, Snapshot> {
    return new Map([...this.#all].map(([path, { catalog }]) => [path, catalog.snapshot]))
  }

  /** The only mount that offers anything, where there is only one. */
  get usual(): string {
    const [only, ...others] = [...this.snapshots].filter(([, snapshot]) => !isEmpty(snapshot))
    return only && others.length === 0 ? only[0] : '/mcp'
  }

  /** What changed in a capability between two of its fingerprints, wherever it is. */
  compare(name: string, former: string, present: string): readonly string[] | undefined {
    for (const { catalog } of this.#all.values()) {
      const changed = catalog.compare(name, former, present)
      if (changed) return changed
    }
    return undefined
  }

  /** On every mount or on none; `taken` comes between the two. */
  async replace(
    placed: readonly PlacedSource[],
    accepts: Accepts,
    taken: () => void,
  ): Promise<boolean> {
    const paths = new Set([...this.#all.keys(), ...placed.map(({ mount }) => mount), '/mcp'])
    const here = (path: string) => placed.filter(({ mount }) => mount === path)
    const known = [...paths].filter((path) => this.#all.has(path))
    const prepared = await Promise.all(
      known.map((path) => this.at(path).catalog.prepare(here(path))),
    )
    const accepted = prepared.every(({ snapshot }) => accepts(snapshot))
    // Not awaited: what was there before goes when its last call has ended.
    for (const { commit, discard } of prepared)
      void (accepted ? commit() : discard()).catch(this.#options.onError)
    if (!accepted) return false
    taken()
    for (const path of paths)
      if (!this.#all.has(path)) {
        const mount = await this.#options.open(path, here(path))
        this.#all.set(path, mount)
        this.endpoints.set(path, mount.endpoint)
      }
    return true
  }

  /** Tells everybody who listens that this is the end. */
  hush(): void {
    for (const { surface } of this.#all.values()) surface.close()
  }

  async closeEndpoints(): Promise<void> {
    for (const { endpoint } of this.#all.values()) await endpoint.close()
  }

  async closeCatalogs(): Promise<void> {
    for (const { catalog } of this.#all.values()) await catalog.close()
  }
}

const isEmpty = ({ capabilities, views, templates, prompts }: Snapshot): boolean =>
  capabilities.size + views.size + templates.length + prompts.size === 0
