import type {
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  Tool,
} from '@modelcontextprotocol/server'
import type { Caller } from '../capability/caller.ts'
import type { Capability, View } from '../capability/capability.ts'
import type { Entry, Snapshot } from '../catalog/snapshot.ts'
import { permits } from '../governance/permits.ts'
import { toParamHeaders } from './modern/param-headers.ts'
import type { SchemaProfileName } from './schemas/profiles.ts'
import { toPrompt } from './to-prompt.ts'
import { toResource, toTemplate } from './to-resource.ts'
import { toTool } from './to-tool.ts'
import { UriTemplate } from './uri-template.ts'

/** How long a client may cache a list without listening for changes. */
const listTtlMs = 30_000

/** How a client may cache a list. */
interface Caching {
  /** Milliseconds for which the list may be cached. */
  readonly ttlMs: number
  /** `private`: the list depends on the caller, so shared caches must not keep it. */
  readonly cacheScope: 'public' | 'private'
}

type Cached<T> = T & Caching

/** The result of `tools/list`: the tools that a caller may use, sorted by name. */
export interface ToolList extends ListToolsResult, Caching {}

/** The four lists that callers with the same scopes see. Frozen: their JSON is cached by object. */
export interface Lists {
  readonly tools: ToolList
  readonly resources: Cached<ListResourcesResult>
  readonly templates: Cached<ListResourceTemplatesResult>
  readonly prompts: Cached<ListPromptsResult>
}

export interface ProjectedTool {
  readonly entry: Entry<Capability>
  readonly tool: Tool
  readonly paramHeaders: ReturnType<typeof toParamHeaders>
}

/**
 * A snapshot in the shape of the protocol. Lists are built once per set of scopes, so that the time
 * to answer a request does not depend on the number of capabilities.
 */
export class Projection {
  readonly snapshot: Snapshot
  readonly #templates: readonly { readonly entry: Entry<View>; readonly pattern: UriTemplate }[]
  readonly #byScopes = new WeakMap<object, Lists>()
  readonly #requiresToken: boolean
  readonly #schemas: SchemaProfileName
  #hasPermissions: boolean | undefined
  #unfiltered: Lists | undefined
  #byOrigin: ReadonlyMap<string, Entry<Capability>> | undefined

  constructor(snapshot: Snapshot, requiresToken: boolean, schemas: SchemaProfileName) {
    this.snapshot = snapshot
    this.#templates = snapshot.templates.map((entry) => ({
      entry,
      pattern: new UriTemplate(entry.capability.uri),
    }))
    this.#requiresToken = requiresToken
    this.#schemas = schemas
  }

  findTool(name: string): ProjectedTool | undefined {
    const entry = this.snapshot.capabilities.get(name)
    return entry && toProjected(entry, this.#schemas)
  }

  /** Looks up a capability by its source and its name there; the served name can differ. */
  findInner(source: string, name: string): Entry<Capability> | undefined {
    this.#byOrigin ??= new Map(
      [...this.snapshot.capabilities.values()].map((entry) => {
        const { origin, name: servedName } = entry.capability
        return [`${origin.source}\n${origin.name ?? servedName}`, entry]
      }),
    )
    return this.#byOrigin.get(`${source}\n${name}`)
  }

  lists(caller: Caller): Lists {
    if (!this.#dependsOnCaller || caller.scopes === 'all') {
      this.#unfiltered ??= this.#toLists(() => true)
      return this.#unfiltered
    }
    let lists = this.#byScopes.get(caller.scopes)
    if (!lists) {
      lists = this.#toLists((capability) => permits(caller, capability))
      this.#byScopes.set(caller.scopes, lists)
    }
    return lists
  }

  /** The view at a URI, and the variables of its URI template. */
  findView(uri: string): { entry: Entry<View>; variables: Record<string, unknown> } | undefined {
    const view = this.snapshot.views.get(uri)
    if (view) return { entry: view, variables: {} }
    for (const { entry, pattern } of this.#templates) {
      const variables = pattern.match(uri)
      if (variables) return { entry, variables }
    }
    return undefined
  }

  /** Computed lazily: many snapshots are replaced before any client requests a list. */
  get #dependsOnCaller(): boolean {
    this.#hasPermissions ??= entriesOf(this.snapshot).some(
      ({ capability }) => capability.rules.permissions.length > 0,
    )
    return this.#hasPermissions
  }

  #toLists(isAllowed: (capability: Capability) => boolean): Lists {
    const { snapshot } = this
    const isPrivate = this.#requiresToken || this.#dependsOnCaller
    const cacheScope = isPrivate ? ('private' as const) : ('public' as const)
    const caching = { ttlMs: listTtlMs, cacheScope }
    const selectVisible = <T extends Capability>(entries: Iterable<Entry<T>>) =>
      [...entries].filter(({ capability }) => !capability.hidden && isAllowed(capability))
    return {
      tools: Object.freeze({
        tools: selectVisible(snapshot.capabilities.values()).map(
          (entry) => toProjected(entry, this.#schemas).tool,
        ),
        ...caching,
      }),
      resources: Object.freeze({
        resources: selectVisible(snapshot.views.values()).map(toResource),
        ...caching,
      }),
      templates: Object.freeze({
        resourceTemplates: selectVisible(snapshot.templates).map(toTemplate),
        ...caching,
      }),
      prompts: Object.freeze({
        prompts: selectVisible(snapshot.prompts.values()).map(toPrompt),
        ...caching,
      }),
    }
  }
}

const projectedTools = new WeakMap<Entry<Capability>, Map<SchemaProfileName, ProjectedTool>>()

/** Cached by entry, which outlives its snapshot: changing one tool rebuilds one tool. */
function toProjected(entry: Entry<Capability>, schemas: SchemaProfileName): ProjectedTool {
  let byProfile = projectedTools.get(entry)
  if (!byProfile) {
    byProfile = new Map()
    projectedTools.set(entry, byProfile)
  }
  let tool = byProfile.get(schemas)
  if (!tool) {
    const paramHeaders = toParamHeaders(entry.capability.input.schema)
    tool = { entry, tool: toTool(entry, schemas), paramHeaders }
    byProfile.set(schemas, tool)
  }
  return tool
}

const entriesOf = (snapshot: Snapshot): Entry<Capability>[] => [
  ...snapshot.capabilities.values(),
  ...snapshot.views.values(),
  ...snapshot.templates,
  ...snapshot.prompts.values(),
]
