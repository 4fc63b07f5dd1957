import { hash } from 'node:crypto'
import type {
  Implementation as Identity,
  JSONObject,
  ServerCapabilities,
} from '@modelcontextprotocol/server'
import { createCall, type Reach, type RunInner } from '../capability/call.ts'
import type { Caller } from '../capability/caller.ts'
import type { Capability, View } from '../capability/capability.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { permits } from '../governance/permits.ts'
import type { Next } from '../governance/steps/step.ts'
import { Announcements } from './announcements.ts'
import { type Lists, Projection } from './projection.ts'
import type { RequestStates } from './request-state.ts'
import { manifestExtension } from './wire-names.ts'

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

  /** A step inside a call: looked up as it is served, and governed like any call. */
  readonly run: RunInner = async (outer, name, { step, input, answers, state }) => {
    const { source } = outer.capability.origin
    const entry = this.projection.findInner(source, name)
    if (!entry) throw new Error(`${source} serves no ${name}`)
    const { capability, fingerprint } = entry
    return this.govern(
      createCall({
        id: `${outer.id}/${step}`,
        capability,
        address: toCallAddress(this.mount, capability),
        fingerprint,
        caller: outer.caller,
        input,
        cancellation: outer.cancellation,
        answers,
        state,
        canAsk: outer.canAsk,
        key: outer.key === undefined ? undefined : toStepKey(outer.key, step),
        reach: outer.reach,
        listener: outer.listener,
        traceparent: outer.traceparent,
        run: outer.run,
      }),
    )
  }

  reachOf(caller: Caller): Reach {
    return new ReachOnSurface(this, caller)
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

export const toCallAddress = (mount: string, { name }: Capability): string =>
  mount === '/mcp' ? name : `${mount} ${name}`

const longestKey = 255

/** The same step under the same key is the same, whatever else the call does. */
function toStepKey(key: string, step: string): string {
  const whole = `${key}/${step}`
  return whole.length <= longestKey ? whole : hash('sha256', whole, 'base64url')
}

/** What is offered is always the same: a source may begin to offer anything at any time. */
export function toServerCapabilities({ projection }: Surface): ServerCapabilities {
  const { abouts } = projection.snapshot
  if (abouts.length === 0) return serverCapabilities
  const byName = Object.fromEntries(abouts.map(({ name, extension }) => [name, extension]))
  return { ...serverCapabilities, extensions: { [manifestExtension]: byName as JSONObject } }
}

/** Looked at by few calls, so nothing is made until then. */
class ReachOnSurface implements Reach {
  readonly #surface: Surface
  readonly #caller: Caller

  constructor(surface: Surface, caller: Caller) {
    this.#surface = surface
    this.#caller = caller
  }

  capabilities(): readonly Capability[] {
    return this.#pick(this.#surface.catalog.snapshot.capabilities)
  }

  views(): readonly View[] {
    return this.#pick(this.#surface.catalog.snapshot.views)
  }

  #pick<T extends Capability>(entries: ReadonlyMap<string, Entry<T>>): T[] {
    return [...entries.values()]
      .map(({ capability }) => capability)
      .filter((capability) => !capability.hidden && permits(this.#caller, capability))
  }
}

const serverCapabilities: ServerCapabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
}
