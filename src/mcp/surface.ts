import { hash } from 'node:crypto'
import type { Implementation, JSONObject, ServerCapabilities } from '@modelcontextprotocol/server'
import { createCall, type Listing, type RunInner } from '../capability/call.ts'
import type { Caller } from '../capability/caller.ts'
import type { Capability, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { FairShares } from '../capability/fair-shares.ts'
import type { About } from '../capability/source.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { toAcceptedKey } from '../governance/key-form.ts'
import { permits } from '../governance/permits.ts'
import type { Next } from '../governance/steps/step.ts'
import { type Announcement, Announcements } from './announcements.ts'
import { type Lists, Projection } from './projection.ts'
import type { RequestStates } from './request-state.ts'
import { diagnoseSchemas } from './schemas/diagnose-schemas.ts'
import type { SchemaProfileName } from './schemas/profiles.ts'
import { manifestExtension } from './wire-names.ts'

/** Name, version and description of the server in the protocol. */
export interface ServerIdentity extends Implementation {}

export interface SurfaceOptions {
  /** The path of this mount. */
  readonly mount: string
  readonly identity: ServerIdentity
  readonly instructions?: string
  readonly catalog: Catalog
  readonly govern: Next
  readonly states: RequestStates
  readonly newId: () => string
  /** Whether callers must send a bearer token; lists must then not be cached in shared caches. */
  readonly requiresToken: boolean
  readonly subscriptions: FairShares
  /** What the schemas that clients see may contain. */
  readonly schemas: SchemaProfileName
}

/** Everything that clients can reach on one mount, the same for every transport and era. */
export class Surface {
  readonly mount: string
  readonly identity: ServerIdentity
  /** The identity as JSON: it is part of every result of 2026-07-28. */
  readonly identityText: string
  readonly instructions: string | undefined
  readonly catalog: Catalog
  readonly govern: Next
  readonly states: RequestStates
  readonly newId: () => string
  readonly announcements = new Announcements()
  /** Open subscriptions, on all mounts. */
  readonly subscriptions: FairShares
  readonly #closeListeners = new Set<() => void>()
  readonly #requiresToken: boolean
  readonly #schemas: SchemaProfileName
  readonly #unsubscribe: () => void
  #projection: Projection

  constructor(options: SurfaceOptions) {
    this.mount = options.mount
    this.identity = options.identity
    this.identityText = JSON.stringify(options.identity)
    this.instructions = options.instructions
    this.catalog = options.catalog
    this.govern = options.govern
    this.states = options.states
    this.newId = options.newId
    this.subscriptions = options.subscriptions
    this.#requiresToken = options.requiresToken
    this.#schemas = options.schemas
    this.#projection = this.#project()
    this.#unsubscribe = options.catalog.subscribe((change) => this.announcements.announce(change))
  }

  /** Compared by snapshot: not every new snapshot comes with a change event. */
  get projection(): Projection {
    if (this.#projection.snapshot !== this.catalog.snapshot) this.#projection = this.#project()
    return this.#projection
  }

  lists(caller: Caller): Lists {
    return this.projection.lists(caller)
  }

  /** What clients of this mount do not see of the schemas that are enforced. */
  get diagnostics(): readonly Diagnostic[] {
    return diagnoseSchemas(this.catalog.snapshot, this.#schemas)
  }

  /** Runs a step of a call as a call of its own, with the full pipeline. */
  readonly run: RunInner = async (outerCall, name, { step, input, answers, state }) => {
    const { source } = outerCall.capability.origin
    const entry = this.projection.findInner(source, name)
    if (!entry) throw new Error(`${source} has no capability ${name}`)
    const { capability, fingerprint } = entry
    return this.govern(
      createCall({
        id: `${outerCall.id}/${step}`,
        capability,
        address: toCallAddress(this.mount, capability),
        fingerprint,
        caller: outerCall.caller,
        input,
        cancellation: outerCall.cancellation,
        answers,
        state,
        canAsk: outerCall.canAsk,
        idempotencyKey:
          outerCall.idempotencyKey === undefined
            ? undefined
            : toInnerKey({ capability, input }, outerCall.idempotencyKey, step),
        listing: outerCall.listing,
        listener: outerCall.listener,
        traceparent: outerCall.traceparent,
        run: outerCall.run,
        isInner: true,
      }),
    )
  }

  /** Callers are not notified of what they may not use: even that it changed would leak information. */
  concerns(caller: Caller, announcement: Announcement): boolean {
    const { kind, capabilities } = announcement
    if (kind === 'updated' && this.mayRead(caller, announcement.uri)) return true
    for (const capability of capabilities.values()) if (permits(caller, capability)) return true
    return false
  }

  mayRead(caller: Caller, uri: string): boolean {
    const match = this.projection.findView(uri)
    return match !== undefined && permits(caller, match.entry.capability)
  }

  listingFor(caller: Caller): Listing {
    return new SurfaceListing(this, caller)
  }

  /** Called before the surface closes, so that open streams can send their last message. */
  onClose(listener: () => void): () => void {
    this.#closeListeners.add(listener)
    return () => this.#closeListeners.delete(listener)
  }

  close(): void {
    for (const listener of this.#closeListeners) listener()
    this.#unsubscribe()
    this.announcements.close()
  }

  #project(): Projection {
    return new Projection(this.catalog.snapshot, this.#requiresToken, this.#schemas)
  }
}

export const toCallAddress = (mount: string, { name }: Capability): string =>
  mount === '/mcp' ? name : `${mount} ${name}`

const maxKeyLength = 255

/** The idempotency key of a step: derived from the call's key, so that a retry replays the step. */
function toInnerKey(
  call: { readonly capability: Capability; readonly input: unknown },
  key: string,
  step: string,
): string {
  const stepKey = `${key}/${step}`
  const shortKey = stepKey.length <= maxKeyLength ? stepKey : hash('sha256', stepKey, 'base64url')
  return toAcceptedKey(call, shortKey) ?? shortKey
}

/** Always all capabilities, even without any prompts: a source can add some at any time. */
export function toServerCapabilities({ projection }: Surface): ServerCapabilities {
  const { abouts } = projection.snapshot
  if (abouts.length === 0) return serverCapabilities
  const byName = Object.fromEntries(abouts.map(({ name, extension }) => [name, extension]))
  const extensions = { ...toNamedExtensions(abouts), [manifestExtension]: byName as JSONObject }
  return { ...serverCapabilities, extensions }
}

/** Extensions that sources name. One that several sources have contains their values by the source's name. */
function toNamedExtensions(abouts: readonly About[]): Record<string, JSONObject> {
  const names = new Set(abouts.flatMap(({ namedExtensions = {} }) => Object.keys(namedExtensions)))
  return Object.fromEntries(
    [...names].map((extension): [string, JSONObject] => {
      const values = abouts.flatMap(({ name, namedExtensions }) => {
        const value = namedExtensions?.[extension]
        return value === undefined ? [] : [[name, value as JSONObject] as const]
      })
      const [first, ...others] = values
      return [extension, first && others.length === 0 ? first[1] : Object.fromEntries(values)]
    }),
  )
}

/** Built lazily, because few calls look at what is listed for their caller. */
class SurfaceListing implements Listing {
  readonly #surface: Surface
  readonly #caller: Caller

  constructor(surface: Surface, caller: Caller) {
    this.#surface = surface
    this.#caller = caller
  }

  capabilities(): readonly Capability[] {
    return this.#findAllowed(this.#surface.catalog.snapshot.capabilities)
  }

  views(): readonly View[] {
    return this.#findAllowed(this.#surface.catalog.snapshot.views)
  }

  #findAllowed<T extends Capability>(entries: ReadonlyMap<string, Entry<T>>): T[] {
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
