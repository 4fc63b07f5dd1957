import {
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ListToolsResult,
  type Tool,
  UriTemplate,
} from '@modelcontextprotocol/server'
import type { Caller } from '../capability/caller.ts'
import type { Capability, View } from '../capability/capability.ts'
import type { Entry, Snapshot } from '../catalog/snapshot.ts'
import { permits } from '../governance/permits.ts'
import { toParamHeaders } from './modern/param-headers.ts'
import { toPrompt } from './to-prompt.ts'
import { toResource, toTemplate } from './to-resource.ts'
import { toTool } from './to-tool.ts'

/** How long a list may be kept by those who do not listen for changes. */
const listLifetime = 30_000

export type Cached<T> = T & { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }

/** The four lists as one kind of caller sees them. */
export interface Lists {
  readonly tools: Cached<ListToolsResult>
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
 * A snapshot in the protocol's shape, made once. Lists are made once per set of scopes, so that
 * answering a request never depends on how much there is.
 */
export class Projection {
  readonly snapshot: Snapshot
  readonly #templates: readonly { readonly entry: Entry<View>; readonly pattern: UriTemplate }[]
  readonly #byScopes = new WeakMap<object, Lists>()
  readonly #callersProveThemselves: boolean
  #mayDepend: boolean | undefined
  #forAll: Lists | undefined
  #inner: ReadonlyMap<string, Entry<Capability>> | undefined

  constructor(snapshot: Snapshot, callersProveThemselves: boolean) {
    this.snapshot = snapshot
    this.#templates = snapshot.templates.map((entry) => ({
      entry,
      pattern: new UriTemplate(entry.capability.uri),
    }))
    this.#callersProveThemselves = callersProveThemselves
  }

  findTool(name: string): ProjectedTool | undefined {
    const entry = this.snapshot.capabilities.get(name)
    return entry && toProjected(entry)
  }

  /** By the source it came from and its name there; what is served may be called otherwise. */
  findInner(source: string, name: string): Entry<Capability> | undefined {
    this.#inner ??= new Map(
      [...this.snapshot.capabilities.values()].map((entry) => {
        const { origin, name: served } = entry.capability
        return [`${origin.source}\n${origin.name ?? served}`, entry]
      }),
    )
    return this.#inner.get(`${source}\n${name}`)
  }

  lists(caller: Caller): Lists {
    if (!this.#dependsOnCaller || caller.scopes === 'all') {
      this.#forAll ??= this.#toLists(() => true)
      return this.#forAll
    }
    let lists = this.#byScopes.get(caller.scopes)
    if (!lists) {
      lists = this.#toLists((capability) => permits(caller, capability))
      this.#byScopes.set(caller.scopes, lists)
    }
    return lists
  }

  /** The view at a URI, and the variables that its template found in it. */
  findView(uri: string): { entry: Entry<View>; variables: Record<string, unknown> } | undefined {
    const exact = this.snapshot.views.get(uri)
    if (exact) return { entry: exact, variables: {} }
    for (const { entry, pattern } of this.#templates) {
      const variables = matchSafely(pattern, uri)
      if (variables) return { entry, variables }
    }
    return undefined
  }

  /** Looked at with the first list: a snapshot may pass without anybody asking for one. */
  get #dependsOnCaller(): boolean {
    this.#mayDepend ??= entriesOf(this.snapshot).some(
      ({ capability }) => capability.rules.permissions.length > 0,
    )
    return this.#mayDepend
  }

  #toLists(mayUse: (capability: Capability) => boolean): Lists {
    const { snapshot } = this
    const isPrivate = this.#callersProveThemselves || this.#dependsOnCaller
    const cacheScope = isPrivate ? ('private' as const) : ('public' as const)
    const caching = { ttlMs: listLifetime, cacheScope }
    const shown = <T extends Capability>(entries: Iterable<Entry<T>>) =>
      [...entries].filter(({ capability }) => !capability.hidden && mayUse(capability))
    return {
      tools: {
        tools: shown(snapshot.capabilities.values()).map((entry) => toProjected(entry).tool),
        ...caching,
      },
      resources: { resources: shown(snapshot.views.values()).map(toResource), ...caching },
      templates: { resourceTemplates: shown(snapshot.templates).map(toTemplate), ...caching },
      prompts: { prompts: shown(snapshot.prompts.values()).map(toPrompt), ...caching },
    }
  }
}

const projected = new WeakMap<Entry<Capability>, ProjectedTool>()

/** Once per entry, which outlives the snapshot: a change of one tool costs one tool. */
function toProjected(entry: Entry<Capability>): ProjectedTool {
  let tool = projected.get(entry)
  if (!tool) {
    const paramHeaders = toParamHeaders(entry.capability.input.schema)
    tool = { entry, tool: toTool(entry), paramHeaders }
    projected.set(entry, tool)
  }
  return tool
}

/** The SDK throws at addresses that are too long to look at; nothing is there. */
function matchSafely(pattern: UriTemplate, uri: string) {
  try {
    return pattern.match(uri)
  } catch {
    return null
  }
}

const entriesOf = (snapshot: Snapshot): Entry<Capability>[] => [
  ...snapshot.capabilities.values(),
  ...snapshot.views.values(),
  ...snapshot.templates,
  ...snapshot.prompts.values(),
]
