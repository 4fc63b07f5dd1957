import { randomBytes, randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { nobodyListens } from '../capability/call.ts'
import { type Caller, localUser } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import { Catalog } from '../catalog/catalog.ts'
import type { Naming } from '../catalog/served-name.ts'
import type { Snapshot } from '../catalog/snapshot.ts'
import { createPipeline, type Limits } from '../governance/pipeline.ts'
import type { AuditEntry } from '../governance/record-audit.ts'
import type { Next } from '../governance/step.ts'
import { createIdentify, type TokenEntry } from '../http/callers.ts'
import { createGuard, loopbackHosts } from '../http/guard.ts'
import { createHandler, type Handler } from '../http/handler.ts'
import { NodeServer } from '../http/node-server.ts'
import { toFetch } from '../http/web-handler.ts'
import { HttpEndpoint } from '../mcp/http-endpoint.ts'
import { methods } from '../mcp/methods.ts'
import type { Lists } from '../mcp/projection.ts'
import { createRequestStates } from '../mcp/request-state.ts'
import { connectStdio, type StdioConnection } from '../mcp/stdio.ts'
import { type Identity, Surface } from '../mcp/surface.ts'
import type { CallToolResult } from '../mcp/to-result.ts'
import { type ConfigInput, configShape } from './config.ts'
import { InFlight } from './in-flight.ts'
import { MemoryAudit } from './memory-audit.ts'
import type { PlacedSource } from './open-sources.ts'

export interface DrawbridgeOptions {
  readonly name?: string
  readonly version?: string
  readonly description?: string
  readonly instructions?: string
  /** On `/mcp`, unless a mount is said. */
  readonly sources: readonly (Source | PlacedSource)[]
  readonly mounts?: ConfigInput['mounts']
  readonly policy?: ConfigInput['policy']
  readonly http?: ConfigInput['http']
  /** Values that must never be part of an answer. */
  readonly secrets?: readonly string[]
  /** Hears of what only the operator can put right. */
  readonly onFault?: (entry: AuditEntry) => void
  readonly onError?: (error: unknown) => void
}

/** Puts sources behind one governed MCP server. Reading them begins at once; `ready` waits for it. */
export const createDrawbridge = (options: DrawbridgeOptions): Drawbridge => new Drawbridge(options)

export type Accepts = (snapshot: Snapshot) => boolean

interface Mount {
  readonly catalog: Catalog
  readonly surface: Surface
  readonly endpoint: HttpEndpoint
}

export class Drawbridge {
  readonly ready: Promise<unknown>
  readonly #options: DrawbridgeOptions
  readonly #config: ReturnType<typeof configShape.parse>
  readonly #audit: MemoryAudit
  readonly #govern: Next
  readonly #mounts = new Map<string, Mount>()
  readonly #endpoints = new Map<string, HttpEndpoint>()
  readonly #handler: Handler
  readonly #inFlight = new InFlight()
  readonly #key = randomBytes(32)
  #server: NodeServer | undefined

  constructor(options: DrawbridgeOptions) {
    const { sources, mounts = {}, policy = {}, http = {}, onFault = () => {} } = options
    this.#options = options
    this.#config = configShape.parse({ mounts, policy, http })
    this.#audit = new MemoryAudit(onFault)
    const govern = createPipeline({
      audit: this.#audit,
      now: Date.now,
      secrets: options.secrets ?? [],
      limits: this.#config.policy.limits satisfies Limits,
    })
    this.#govern = (call) => this.#inFlight.watch(call, govern)
    this.#handler = createHandler({
      mounts: this.#endpoints,
      guard: createGuard(toGuardOptions(this.#config.http)),
      identify: createIdentify(
        this.#config.http.tokens satisfies readonly TokenEntry[] | undefined,
      ),
      bodyLimit: this.#config.http.bodyLimit,
      health: () => ({ status: 'ok', name: this.identity.name, version: this.identity.version }),
    })
    this.ready = this.replace(sources.map(toPlaced))
    // Whoever uses it awaits it and hears of the trouble there.
    this.ready.catch(() => {})
  }

  get identity(): Identity {
    const { name = 'drawbridge', version = '0.0.0', description } = this.#options
    return { name, version, ...(description !== undefined && { description }) }
  }

  /** What was left out, renamed or is doubtful, on all mounts. */
  get diagnostics(): readonly Diagnostic[] {
    return [...this.#mounts.values()].flatMap(({ catalog }) => catalog.snapshot.diagnostics)
  }

  get audit(): readonly AuditEntry[] {
    return this.#audit.entries
  }

  get mounts(): ReadonlyMap<string, Snapshot> {
    return new Map([...this.#mounts].map(([path, { catalog }]) => [path, catalog.snapshot]))
  }

  /** Serves one web-standard request. */
  readonly fetch = async (request: Request): Promise<Response> => {
    await this.ready
    return toFetch(this.#handler)(request)
  }

  /** Opens a listening socket. A public address without tokens is refused. */
  async listen(address: { host?: string; port?: number } = {}): Promise<{ port: number }> {
    await this.ready
    const { host, port, tokens } = { ...this.#config.http, ...address }
    if (tokens === undefined && !isLoopback(host))
      throw new SetupError(
        `${host} can be reached from other machines, and nobody would have to prove who they are. Configure http.tokens ("drawbridge token" mints one), or stay on 127.0.0.1.`,
      )
    const { onError = () => {} } = this.#options
    this.#server = await NodeServer.listen({ host, port, handler: this.#handler, onError })
    return { port: this.#server.port }
  }

  /** Serves one client on standard input and output, or on the streams given. */
  async stdio(streams: Partial<StdioStreams> = {}): Promise<StdioConnection> {
    await this.ready
    const { input = process.stdin, output = process.stdout, mount = '/mcp', caller } = streams
    const { onError = () => {} } = this.#options
    const { surface } = this.#mount(mount)
    return connectStdio(surface, { input, output, onError, ...(caller && { caller }) })
  }

  /** One governed call, exactly as a client's would be. */
  async call(
    name: string,
    input: unknown = {},
    options: CallOptions = {},
  ): Promise<CallToolResult> {
    await this.ready
    const { caller = localUser, mount = '/mcp', signal } = options
    const cancellation = new Cancellation()
    const leave = () => cancellation.cancel('The caller left.')
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave, { once: true })
    const method = methods.get('tools/call')
    const exchange = {
      caller,
      client: {},
      cancellation,
      listener: nobodyListens,
      inputResponses: undefined,
      requestState: undefined,
    }
    const params = { name, arguments: input }
    return (await method?.(this.#mount(mount).surface, params, exchange)) as CallToolResult
  }

  /** The exact answer to `tools/list`. */
  async list(options: Omit<CallOptions, 'signal'> = {}): Promise<Lists['tools']> {
    await this.ready
    const { caller = localUser, mount = '/mcp' } = options
    return this.#mount(mount).surface.lists(caller).tools
  }

  /** Takes new sources in place of all old ones, on every mount or on none. */
  async replace(placed: readonly PlacedSource[], accepts: Accepts = () => true): Promise<boolean> {
    const paths = new Set([...this.#mounts.keys(), ...placed.map(({ mount }) => mount), '/mcp'])
    const here = (path: string) => placed.filter(({ mount }) => mount === path)
    const known = [...paths].filter((path) => this.#mounts.has(path))
    const prepared = await Promise.all(
      known.map((path) => this.#mount(path).catalog.prepare(here(path))),
    )
    const accepted = prepared.every(({ snapshot }) => accepts(snapshot))
    // Not awaited: what was there before goes when its last call has ended.
    for (const { commit, discard } of prepared)
      void (accepted ? commit() : discard()).catch((error) => this.#options.onError?.(error))
    if (!accepted) return false
    for (const path of paths) if (!this.#mounts.has(path)) await this.#open(path, here(path))
    return true
  }

  /** Lets calls under way finish, then lets go of everything. */
  async close(patience = 5000): Promise<void> {
    await this.ready.catch(() => {})
    this.#server?.refuse()
    for (const { surface } of this.#mounts.values()) surface.close()
    await this.#inFlight.settle(patience)
    for (const { endpoint } of this.#mounts.values()) await endpoint.close()
    await this.#server?.close()
    for (const { catalog } of this.#mounts.values()) await catalog.close()
  }

  async #open(path: string, placed: readonly PlacedSource[]): Promise<void> {
    const naming: Naming = this.#config.mounts[path]?.names ?? 'portable'
    const catalog = await Catalog.open(placed, naming)
    const { instructions } = this.#options
    const surface = new Surface({
      identity: this.identity,
      ...(instructions !== undefined && { instructions }),
      catalog,
      govern: this.#govern,
      states: createRequestStates(this.#key, Date.now),
      newId: randomUUID,
      callersProveThemselves: this.#config.http.tokens !== undefined,
    })
    const endpoint = new HttpEndpoint(surface, Date.now)
    this.#mounts.set(path, { catalog, surface, endpoint })
    this.#endpoints.set(path, endpoint)
  }

  #mount(path: string): Mount {
    const mount = this.#mounts.get(path)
    if (mount) return mount
    const known = [...this.#mounts.keys()].join(', ')
    throw new SetupError(`There is no mount ${path}. There is: ${known}.`)
  }
}

export interface CallOptions {
  readonly caller?: Caller
  readonly mount?: string
  readonly signal?: AbortSignal
}

export interface StdioStreams {
  readonly input: Readable
  readonly output: Writable
  readonly mount: string
  readonly caller: Caller
}

const toPlaced = (source: Source | PlacedSource): PlacedSource =>
  'read' in source ? { source, mount: '/mcp' } : source

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/** The address it listens on is always a good name for it. */
const toGuardOptions = (http: { host: string; hosts: string[]; origins: string[] }) => ({
  hosts: [...loopbackHosts, http.host, ...http.hosts],
  origins: http.origins,
})
