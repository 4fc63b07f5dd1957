import { randomBytes, randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { Call } from '../capability/call.ts'
import { type Caller, localUser } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import type { Contract } from '../capability/contract.ts'
import { CredentialError } from '../capability/credential-error.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Outcome } from '../capability/outcome.ts'
import { SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import { Catalog } from '../catalog/catalog.ts'
import type { Naming } from '../catalog/served-name.ts'
import type { Refine, Snapshot } from '../catalog/snapshot.ts'
import { ApprovalDesk } from '../governance/approval-desk.ts'
import { type Explanation, explain } from '../governance/explain.ts'
import { refused } from '../governance/failures.ts'
import { permits } from '../governance/permits.ts'
import { createPipeline, type Pipeline, type Settings } from '../governance/pipeline.ts'
import { createRefine, type PolicyRule } from '../governance/policy.ts'
import type { AuditEntry, OnFault } from '../governance/record-audit.ts'
import { toCause } from '../governance/to-cause.ts'
import { createStrike } from '../governance/withhold-secrets.ts'
import { createIdentify, type TokenEntry } from '../http/callers.ts'
import type { FrameEndpoint } from '../http/frame-route.ts'
import { createGuard, loopbackHosts } from '../http/guard.ts'
import { createHandler, type Handler } from '../http/handler.ts'
import { NodeServer } from '../http/node-server.ts'
import { type Errand, isRecordsPath } from '../http/records-routes.ts'
import { toFetch } from '../http/web-handler.ts'
import { nobodyElse } from '../mcp/exchange.ts'
import { HttpEndpoint } from '../mcp/http-endpoint.ts'
import { methods, toCall } from '../mcp/methods.ts'
import type { Lists } from '../mcp/projection.ts'
import { createRequestStates } from '../mcp/request-state.ts'
import { connectStdio, type StdioConnection } from '../mcp/stdio.ts'
import { type Identity, Surface } from '../mcp/surface.ts'
import type { CallToolResult } from '../mcp/to-result.ts'
import { IntentSource } from '../sources/intents/intent-source.ts'
import { type Door, refusalWords } from '../sources/records/door.ts'
import { SqliteExecutionLog } from '../storage/sqlite-execution-log.ts'
import type { SqliteLedger } from '../storage/sqlite-ledger.ts'
import { createSteadyClock } from './clock.ts'
import { type ConfigInput, configShape } from './config.ts'
import { ExecutionReaderDesk, type Resumed, resumeExecution } from './execution-desk.ts'
import { toFrameEndpoint } from './frame-endpoint.ts'
import { InFlight } from './in-flight.ts'
import { openLedger } from './open-ledger.ts'
import type { PlacedSource } from './open-sources.ts'
import { toPlainCall } from './plain-call.ts'
import { toRouteExplanation } from './route-explanation.ts'

export type { Explanation }

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
  /** The file of the ledger. Without one it lives in memory, and ends with this process. */
  readonly store?: string
  /** Values that must never be part of an answer. */
  readonly secrets?: readonly string[]
  /** Of a grant: whose reads on stdio these are, where a mount wants one. */
  readonly token?: string
  /** Hears of what only the operator can put right. */
  readonly onFault?: OnFault
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
  readonly #ledger: SqliteLedger
  readonly #pipeline: Pipeline
  readonly #refine: Refine
  readonly #mounts = new Map<string, Mount>()
  readonly #endpoints = new Map<string, HttpEndpoint>()
  readonly #log: SqliteExecutionLog
  /** Those of the sources that route intents. */
  #intents: readonly PlacedIntents[] = []
  readonly #doors = new Map<string, Door>()
  readonly #handler: Handler
  readonly #inFlight = new InFlight()
  readonly #strike: (text: string) => string
  readonly #key = randomBytes(32)
  readonly #steadyNow = createSteadyClock()
  #server: NodeServer | undefined

  constructor(options: DrawbridgeOptions) {
    const { sources, mounts = {}, policy = {}, http = {}, onFault = () => {} } = options
    this.#options = options
    this.#config = configShape.parse({ mounts, policy, http })
    const { policy: rules } = this.#config
    this.#refine = createRefine(rules.rules as readonly PolicyRule[])
    this.#ledger = openLedger({
      file: options.store ?? ':memory:',
      keep: Math.max(rules.keys.window, rules.duplicates.window) * 1000,
      keepExecutions: rules.executions.keep * 1000,
      onError: options.onError ?? (() => {}),
    })
    this.#log = new SqliteExecutionLog(this.#ledger, Date.now)
    this.#strike = createStrike(options.secrets ?? [])
    this.#pipeline = createPipeline({
      ledger: this.#ledger,
      onFault: ({ id, capability, failure }) => {
        const cause = this.#strike(failure.cause ?? '')
        onFault({ id, capability, failure: { ...failure, cause } })
      },
      now: Date.now,
      steadyNow: this.#steadyNow,
      newId: randomUUID,
      compare: (name, former, present) => this.#compare(name, former, present),
      secrets: options.secrets ?? [],
      settings: toSettings(rules),
    })
    this.#handler = createHandler({
      mounts: this.#endpoints,
      records: { doors: this.#doors, run: (mount, errand) => this.#runErrand(mount, errand) },
      guard: createGuard(toGuardOptions(this.#config.http)),
      identify: createIdentify(
        this.#config.http.tokens satisfies readonly TokenEntry[] | undefined,
      ),
      bodyLimit: this.#config.http.bodyLimit,
      approvals: this.approvals,
      frames: (path) => this.#frames(path),
      health: () => ({ status: 'ok', name: this.identity.name, version: this.identity.version }),
    })
    this.ready = this.replace(sources.map(toPlaced))
    // Whoever uses it awaits it and hears of the trouble there.
    this.ready.catch(() => {})
  }

  get identity(): Identity {
    return this.#toIdentity(this.#mounts.get('/mcp')?.catalog.snapshot)
  }

  /** As the operator says; else as the only source says of itself. */
  #toIdentity(snapshot: Snapshot | undefined): Identity {
    const [about, ...others] = snapshot?.abouts ?? []
    const said = others.length === 0 ? about : undefined
    const { name = said?.name ?? 'drawbridge', version = said?.version ?? '0.0.0' } = this.#options
    const { description = said?.description } = this.#options
    const title = this.#options.name === undefined ? said?.title : undefined
    return {
      name,
      version,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
    }
  }

  /** What was left out, renamed or is doubtful, on all mounts. */
  get diagnostics(): readonly Diagnostic[] {
    return [...this.#mounts.values()]
      .flatMap(({ catalog }) => catalog.snapshot.diagnostics)
      .map((one) => ({ ...one, message: this.#strike(one.message) }))
  }

  /** Everything that was written down so far, oldest first. */
  get audit(): readonly AuditEntry[] {
    this.#ledger.flush()
    return [...this.#ledger.audit.records(0)].map(({ entry }) => entry)
  }

  /** Where humans decide what was asked of them. */
  get approvals(): ApprovalDesk {
    return new ApprovalDesk(this.#ledger, Date.now)
  }

  /** What was routed where, and how. */
  get executions(): ExecutionReaderDesk {
    return new ExecutionReaderDesk(
      this.#log,
      this.#intents.map(({ source }) => source.keys),
    )
  }

  /** Goes on with an execution that a process before this one began. */
  async resume(id: string, by: string): Promise<Resumed> {
    await this.ready
    const sources = this.#intents.map(({ source }) => source)
    const parts = { desk: this.executions, sources, ledger: this.#ledger, now: Date.now }
    return resumeExecution(parts, id, by)
  }

  get mounts(): ReadonlyMap<string, Snapshot> {
    return new Map([...this.#mounts].map(([path, { catalog }]) => [path, catalog.snapshot]))
  }

  /** What was thrown, in words that may be logged. */
  describe(thrown: unknown): string {
    return this.#strike(toCause(thrown))
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
    const { input = process.stdin, output = process.stdout, mount = this.#usualMount } = streams
    const { onError = () => {} } = this.#options
    const { surface } = this.#mount(mount)
    const caller = streams.caller ?? this.#localCaller(mount)
    return connectStdio(surface, {
      input,
      output,
      onError,
      caller,
      refuse: (message) => (this.#holdsOwner(message) ? ownerRefusal : undefined),
    })
  }

  /** One governed call, exactly as a client's would be. */
  async call(
    name: string,
    input: unknown = {},
    options: CallOptions = {},
  ): Promise<CallToolResult> {
    await this.ready
    const { mount = this.#usualMount, signal } = options
    if (this.#holdsOwner([input, options.meta])) throw new CredentialError(77, refusalWords.owner)
    const caller = options.caller ?? this.#localCaller(mount)
    const cancellation = new Cancellation()
    const leave = () => cancellation.cancel('The caller left.')
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave, { once: true })
    const method = methods.get('tools/call')
    const exchange = { ...nobodyElse, caller, cancellation }
    const params = { name, arguments: input, ...(options.meta && { _meta: options.meta }) }
    return (await method?.(this.#mount(mount).surface, params, exchange)) as CallToolResult
  }

  /** What every step would say to a call, without making it. */
  async explain(
    name: string,
    input: unknown = {},
    options: CallOptions = {},
  ): Promise<readonly Explanation[] | undefined> {
    await this.ready
    const { caller = localUser, mount = this.#usualMount, meta } = options
    const { surface } = this.#mount(mount)
    const entry = surface.projection.findTool(name)?.entry
    if (!entry) return undefined
    const params = { ...(meta && { _meta: meta }) }
    const binding = { method: 'tools/call', name, input }
    const exchange = { ...nobodyElse, caller, cancellation: new Cancellation() }
    const run = { id: 'explained', entry, binding, params }
    const call = toCall(surface, run, exchange, undefined)
    return [...(await explain(this.#pipeline.checks, call)), ...this.#foresee(call)]
  }

  /** Whom a router would ask, where there is one. */
  #foresee(call: Call): readonly Explanation[] {
    const { source: id } = call.capability.origin
    const decision = this.#intents.find(({ source }) => source.id === id)?.source.foresee(call)
    return decision ? [toRouteExplanation(decision)] : []
  }

  /** The exact answer to `tools/list`. */
  async list(options: Omit<CallOptions, 'signal'> = {}): Promise<Lists['tools']> {
    await this.ready
    const { caller = localUser, mount = this.#usualMount } = options
    return this.#mount(mount).surface.lists(caller).tools
  }

  /** Takes new sources in place of all old ones, on every mount or on none. */
  async replace(placed: readonly PlacedSource[], accepts: Accepts = () => true): Promise<boolean> {
    const intents = placed.filter(isIntents)
    checkPaths(placed)
    checkAlone(placed)
    for (const { source } of intents) source.connect(this.#machine)
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
    this.#intents = intents
    this.#doors.clear()
    for (const { mount, door } of placed) if (door) this.#doors.set(mount, door)
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
    await this.#ledger.close()
  }

  async #open(path: string, placed: readonly PlacedSource[]): Promise<void> {
    const naming: Naming = this.#config.mounts[path]?.names ?? 'portable'
    const catalog = await Catalog.open(placed, { naming, refine: this.#refine })
    const { instructions = placed[0]?.instructions } = this.#options
    const surface = new Surface({
      mount: path,
      identity: this.#toIdentity(catalog.snapshot),
      ...(instructions !== undefined && { instructions }),
      catalog,
      govern: (call) => this.#inFlight.watch(call, this.#pipeline.govern),
      forbids: (caller, capability) =>
        this.#config.policy.mode === 'enforce' && !permits(caller, capability),
      states: createRequestStates(this.#key, Date.now),
      newId: randomUUID,
      callersProveThemselves: this.#config.http.tokens !== undefined || this.#doors.has(path),
    })
    const endpoint = new HttpEndpoint(surface, Date.now)
    this.#mounts.set(path, { catalog, surface, endpoint })
    this.#endpoints.set(path, endpoint)
  }

  get #machine() {
    return {
      now: Date.now,
      steadyNow: this.#steadyNow,
      randomBytes,
      log: this.#log,
      onTrouble: (error: unknown) => this.#options.onError?.(error),
    }
  }

  #frames(path: string): FrameEndpoint | undefined {
    const placed = this.#intents.find(({ source }) => source.desk?.path === path)
    const desk = placed?.source.desk
    if (!placed || !desk) return undefined
    const { mount, source } = placed
    const { surface } = this.#mount(mount)
    return toFrameEndpoint({
      desk,
      mount,
      find: (name) => surface.projection.findInner(source.id, name),
      run: surface.run,
      govern: (call) => this.#inFlight.watch(call, this.#pipeline.govern),
      newId: randomUUID,
    })
  }

  /** What is read or put in without MCP passes what a call of a tool would pass. */
  async #runErrand(mount: string, errand: Errand): Promise<Outcome> {
    const { surface } = this.#mount(mount)
    const { capability: wanted, invoke, ...rest } = errand
    const entry =
      typeof wanted === 'string'
        ? [...surface.projection.snapshot.capabilities.values()].find(
            ({ capability: { origin } }) => origin.pointer === `/${wanted}`,
          )
        : { capability: this.#refine(wanted), fingerprint: '' }
    if (!entry) return refused('internal', `${mount} serves no ${wanted}`)
    const { fingerprint } = entry
    const capability = { ...entry.capability, input: asItIs, invoke }
    const call = { ...rest, id: randomUUID(), capability, fingerprint, mount, run: surface.run }
    return this.#inFlight.watch(toPlainCall(call), this.#pipeline.govern)
  }

  /** The only mount that offers anything, where there is only one. */
  get #usualMount(): string {
    const offering = [...this.#mounts].filter(([, { catalog }]) => !isEmpty(catalog.snapshot))
    return offering.length === 1 ? (offering[0]?.[0] ?? '/mcp') : '/mcp'
  }

  /** An owner's token is not handed on, whatever it is said to be. */
  #holdsOwner(said: unknown): boolean {
    if (this.#doors.size === 0) return false
    const text = JSON.stringify(said) ?? ''
    return [...this.#doors.values()].some((door) => door.holdsOwner(text))
  }

  /** On this machine, the one at the keyboard; where grants are asked for, whoever holds one. */
  #localCaller(mount: string): Caller {
    const door = this.#doors.get(mount)
    if (!door) return localUser
    const admitted = door.admit(this.#options.token)
    if ('caller' in admitted) return admitted.caller
    const { refusal } = admitted
    throw new CredentialError(
      refusal === 'owner' ? 77 : 78,
      `DRAWBRIDGE_TOKEN: ${refusalWords[refusal]}`,
    )
  }

  #compare(name: string, former: string, present: string): readonly string[] | undefined {
    for (const { catalog } of this.#mounts.values()) {
      const changed = catalog.compare(name, former, present)
      if (changed) return changed
    }
    return undefined
  }

  #mount(path: string): Mount {
    const mount = this.#mounts.get(path)
    if (mount) return mount
    const known = [...this.#mounts.keys()].join(', ')
    throw new SetupError(`There is no mount ${path}. There is: ${known}.`)
  }
}

const ownerRefusal = { code: 'owner_token_refused', message: refusalWords.owner }

/** Read by whoever answers it. */
const asItIs: Contract = {
  schema: { type: 'object' },
  parse: (value) => ({ ok: true, value }),
}

type PlacedIntents = PlacedSource & { readonly source: IntentSource }

const isIntents = (placed: PlacedSource): placed is PlacedIntents =>
  placed.source instanceof IntentSource

/** One address, one meaning. */
function checkPaths(placed: readonly PlacedSource[]): void {
  const taken = new Set(['/mcp', '/health', '/approvals', ...placed.map(({ mount }) => mount)])
  for (const { source } of placed.filter(isIntents)) {
    const path = source.desk?.path
    if (path === undefined) continue
    if (taken.has(path))
      throw new SetupError(`${source.id} cannot be asked at ${path}: something else is there.`)
    taken.add(path)
  }
  const hidden = placed.some(({ door }) => door) && [...taken].find(isRecordsPath)
  if (hidden) throw new SetupError(`${hidden} is where records are served: choose another path.`)
}

export interface CallOptions {
  readonly caller?: Caller
  readonly mount?: string
  readonly signal?: AbortSignal
  /** As a client would send it: an idempotency key, an expected fingerprint. */
  readonly meta?: Readonly<Record<string, unknown>>
}

export interface StdioStreams {
  readonly input: Readable
  readonly output: Writable
  readonly mount: string
  readonly caller: Caller
}

type PolicyConfig = ReturnType<typeof configShape.parse>['policy']

/** Seconds for people, milliseconds for programs. */
const toSettings = ({ mode, limits, keys, duplicates, approvals }: PolicyConfig): Settings => ({
  observes: mode === 'observe',
  timeout: limits.timeout,
  resultSize: limits.resultSize,
  windows: { key: keys.window * 1000, duplicate: duplicates.window * 1000 },
  approvals: { asked: approvals.asked * 1000, pending: approvals.pending * 1000 },
})

const toPlaced = (source: Source | PlacedSource): PlacedSource =>
  'read' in source ? { source, mount: '/mcp' } : source

const isEmpty = ({ capabilities, views, templates, prompts }: Snapshot): boolean =>
  capabilities.size + views.size + templates.length + prompts.size === 0

/** Readers of records see nothing else, and nobody else sees records. */
function checkAlone(placed: readonly PlacedSource[]): void {
  const crowded = placed.find(
    ({ standsAlone, mount }) =>
      standsAlone && placed.filter((one) => one.mount === mount).length > 1,
  )
  if (crowded)
    throw new SetupError(
      `${crowded.source.id} shares ${crowded.mount} with another source. Give it a mount of its own, such as mount: /mcp/records.`,
    )
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/** The address it listens on is always a good name for it. */
const toGuardOptions = (http: { host: string; hosts: string[]; origins: string[] }) => ({
  hosts: [...loopbackHosts, http.host, ...http.hosts],
  origins: http.origins,
})
