import type { Implementation as Identity, ServerCapabilities } from '@modelcontextprotocol/server'
import type { Caller } from '../capability/caller.ts'
import type { Capability } from '../capability/capability.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Next } from '../governance/step.ts'
import { Announcements } from './announcements.ts'
import { type Lists, Projection } from './projection.ts'
import type { RequestStates } from './request-state.ts'

/** How the server calls itself. */
export type { Identity }

export interface SurfaceOptions {
  /** The path it is served at. */
  readonly mount: string
  readonly identity: Identity
  readonly instructions?: string
  readonly catalog: Catalog
  readonly govern: Next
  /** Whether a call would end for want of a scope, so that HTTP can say so in its own words. */
  readonly forbids: (caller: Caller, capability: Capability) => boolean
  readonly states: RequestStates
  readonly newId: () => string
  /** Whether callers come with credentials, so that nothing may be cached for all. */
  readonly callersProveThemselves: boolean
}

/** Everything a client can reach on one mount, whatever transport and era it comes by. */
export class Surface {
  readonly mount: string
  readonly identity: Identity
  readonly instructions: string | undefined
  readonly catalog: Catalog
  readonly govern: Next
  readonly forbids: SurfaceOptions['forbids']
  readonly states: RequestStates
  readonly newId: () => string
  readonly announcements = new Announcements()
  /** Open streams per caller. */
  readonly listeners = new Map<string, number>()
  readonly #closing = new Set<() => void>()
  readonly #callersProveThemselves: boolean
  readonly #unsubscribe: () => void
  #projection: Projection

  constructor(options: SurfaceOptions) {
    this.mount = options.mount
    this.identity = options.identity
    this.instructions = options.instructions
    this.catalog = options.catalog
    this.govern = options.govern
    this.forbids = options.forbids
    this.states = options.states
    this.newId = options.newId
    this.#callersProveThemselves = options.callersProveThemselves
    this.#projection = this.#project()
    this.#unsubscribe = options.catalog.subscribe((change) => this.announcements.announce(change))
  }

  /** A snapshot may be new without any difference that clients are told of. */
  get projection(): Projection {
    if (this.#projection.snapshot !== this.catalog.snapshot) this.#projection = this.#project()
    return this.#projection
  }

  lists(caller: Caller): Lists {
    return this.projection.lists(caller)
  }

  /** Told before everything ends, so that open streams can say goodbye. */
  onClose(listener: () => void): () => void {
    this.#closing.add(listener)
    return () => this.#closing.delete(listener)
  }

  close(): void {
    for (const listener of this.#closing) listener()
    this.#unsubscribe()
    this.announcements.close()
  }

  #project(): Projection {
    return new Projection(this.catalog.snapshot, this.#callersProveThemselves)
  }
}

/** Always the same: a source may begin to offer anything at any time. */
export const serverCapabilities: ServerCapabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
}
