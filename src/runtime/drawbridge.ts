import { randomBytes, randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { Call } from '../capability/call.ts'
import { type Caller, localUser } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Outcome } from '../capability/outcome.ts'
import { CredentialError, SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import { Catalog } from '../catalog/catalog.ts'
import type { Naming } from '../catalog/served-name.ts'
import type { Refine, Snapshot } from '../catalog/snapshot.ts'
import { Approvals } from '../governance/approvals.ts'
import { type Explanation, explainCall } from '../governance/explain.ts'
import { permits } from '../governance/permits.ts'
import { createPipeline, type Pipeline } from '../governance/pipeline.ts'
import { createRefine, type PolicyRule } from '../governance/policy.ts'
import type { AuditEntry, OnFault } from '../governance/steps/record-audit.ts'
import { createStrike } from '../governance/steps/redact-secrets.ts'
import { toCause } from '../governance/to-cause.ts'
import { createIdentify, type TokenEntry } from '../http/callers.ts'
import { createGuard } from '../http/guard.ts'
import { createHandler, type Handler } from '../http/handler.ts'
import { NodeServer } from '../http/node-server.ts'
import { toFetch } from '../http/web-handler.ts'
import { detachedExchange } from '../mcp/exchange.ts'
import { HttpEndpoint } from '../mcp/http-endpoint.ts'
import { methods, toCall } from '../mcp/methods.ts'
import type { Lists } from '../mcp/projection.ts'
import { createRequestStates } from '../mcp/request-state.ts'
import { connectStdio, type StdioConnection } from '../mcp/stdio/stdio.ts'
import { type Identity, Surface } from '../mcp/surface.ts'
import type { CallToolResult } from '../mcp/to-result.ts'
import type { TokenGate } from '../sources/records/grants/token-gate.ts'
import { refusalMessages } from '../sources/records/grants/token-refusal.ts'
import type { SqliteLedger } from '../storage/ledger/sqlite-ledger.ts'
import { createSteadyClock } from './clock.ts'
import { checkPlacement, checkPublic } from './config/check-placement.ts'
import { type ConfigInput, configShape } from './config/config-shape.ts'
import { isLoopback, toGuardOptions, toSettings } from './config/to-settings.ts'
import type { ExecutionHistory, ResumeResult } from './execution-history.ts'
import { governRequest } from './govern-request.ts'
import { InFlight } from './in-flight.ts'
import { type Accepts, type Mount, Mounts } from './mounts.ts'
import { openLedger } from './open-ledger.ts'
import type { PlacedSource } from './open-sources.ts'
import { isIntents, Routing } from './routing.ts'

export type { Accepts, Explanation }

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
  /** Hears of what goes wrong between this and other machines: a line that is down, a seal that is broken. */
  readonly onTrouble?: (error: unknown) => void
}

/** Puts sources behind one governed MCP server. Reading them begins at once; `ready` waits for it. */
export const createDrawbridge = (options: DrawbridgeOptions): Drawbridge => new Drawbridge(options)

export class Drawbridge {
  readonly ready: Promise<unknown>
  readonly #options: DrawbridgeOptions
  readonly #config: ReturnType<typeof configShape.parse>
  readonly #ledger: SqliteLedger
  readonly #pipeline: Pipeline
  readonly #refine: Refine
  readonly #mounts: Mounts
  readonly #routing: Routing
  readonly #doors = new Map<string, TokenGate>()
  readonly #handler: Handler
  readonly #inFlight = new InFlight()
  readonly #strike: (text: string) => string
  readonly #key = randomBytes(32)
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
    this.#strike = createStrike(options.secrets ?? [])
    const steadyNow = createSteadyClock()
    this.#mounts = new Mounts({
      open: (path, placed) => this.#open(path, placed),
      onError: (error) => this.#onError(error),
    })
    this.#pipeline = createPipeline({
      ledger: this.#ledger,
      onFault: ({ id, capability, failure }) => {
        const cause = this.#strike(failure.cause ?? '')
        onFault({ id, capability, failure: { ...failure, cause } })
      },
      now: Date.now,
      steadyNow,
      newId: randomUUID,
      compare: (name, former, present) => this.#mounts.compare(name, former, present),
      secrets: options.secrets ?? [],
      settings: toSettings(rules),
    })
    const identify = createIdentify(
      this.#config.http.tokens satisfies readonly TokenEntry[] | undefined,
    )
    this.#routing = new Routing({
      ledger: this.#ledger,
      steadyNow,
      identify,
      govern: this.#govern,
      surfaceAt: (mount) => this.#mounts.at(mount).surface,
      onTrouble: this.#onTrouble,
    })
    this.#handler = createHandler({
      mounts: this.#mounts.endpoints,
      records: {
        doors: this.#doors,
        newId: randomUUID,
        run: (mount, errand) =>
          governRequest(errand, {
            surface: this.#mounts.at(mount).surface,
            refine: this.#refine,
            govern: this.#govern,
          }),
      },
      guard: createGuard(toGuardOptions(this.#config.http)),
      identify,
      bodyLimit: this.#config.http.bodyLimit,
      approvals: this.approvals,
      frames: (path) => this.#routing.frames(path),
      health: () => ({ status: 'ok', name: this.identity.name, version: this.identity.version }),
    })
    this.ready = this.replace(sources.map(toPlaced))
    // Whoever uses it awaits it and hears of the trouble there.
    this.ready.catch(() => {})
  }

  get identity(): Identity {
    return this.#toIdentity(this.#mounts.snapshots.get('/mcp'))
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
    return [...this.mounts.values()]
      .flatMap(({ diagnostics }) => diagnostics)
      .map((one) => ({ ...one, message: this.#strike(one.message) }))
  }

  /** What cannot be reached at this moment, for whoever wants to know beforehand. */
  async probe(): Promise<readonly Diagnostic[]> {
    const unreachable = await this.#routing.probe()
    return unreachable.map((one) => ({ ...one, message: this.#strike(one.message) }))
  }

  /** Everything that was written down so far, oldest first. */
  get audit(): readonly AuditEntry[] {
    this.#ledger.flush()
    return [...this.#ledger.audit.records(0)].map(({ entry }) => entry)
  }

  /** Where humans decide what was asked of them. */
  get approvals(): Approvals {
    return new Approvals(this.#ledger, Date.now)
  }

  /** What was routed where, and how. */
  get executions(): ExecutionHistory {
    return this.#routing.executions
  }

  /** Goes on with an execution that a process before this one began. */
  async resume(id: string, by: string): Promise<ResumeResult> {
    await this.ready
    return this.#routing.resume(id, by)
  }

  get mounts(): ReadonlyMap<string, Snapshot> {
    return this.#mounts.snapshots
  }

  /** Whether callers of a mount have to prove who they are. */
  asksForToken(mount: string): boolean {
    return this.#config.http.tokens !== undefined || this.#doors.has(mount)
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
    checkPublic(this.#routing.placed, tokens !== undefined)
    const { onError = () => {} } = this.#options
    this.#server = await NodeServer.listen({ host, port, handler: this.#handler, onError })
    await this.#routing.serve()
    return { port: this.#server.port }
  }

  /** Serves one client on standard input and output, or on the streams given. */
  async stdio(streams: Partial<StdioStreams> = {}): Promise<StdioConnection> {
    await this.ready
    const { input = process.stdin, output = process.stdout, mount = this.#mounts.usual } = streams
    const { onError = () => {} } = this.#options
    const { surface } = this.#mounts.at(mount)
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
    const { mount = this.#mounts.usual, signal } = options
    if (this.#holdsOwner([input, options.meta]))
      throw new CredentialError(77, refusalMessages.owner)
    const caller = options.caller ?? this.#localCaller(mount)
    const cancellation = new Cancellation()
    const leave = () => cancellation.cancel('The caller left.')
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave, { once: true })
    const method = methods.get('tools/call')
    const exchange = { ...detachedExchange, caller, cancellation }
    const params = { name, arguments: input, ...(options.meta && { _meta: options.meta }) }
    return (await method?.(this.#mounts.at(mount).surface, params, exchange)) as CallToolResult
  }

  /** What every step would say to a call, without making it. */
  async explain(
    name: string,
    input: unknown = {},
    options: CallOptions = {},
  ): Promise<readonly Explanation[] | undefined> {
    await this.ready
    const { caller = localUser, mount = this.#mounts.usual, meta } = options
    const { surface } = this.#mounts.at(mount)
    const entry = surface.projection.findTool(name)?.entry
    if (!entry) return undefined
    const params = { ...(meta && { _meta: meta }) }
    const binding = { method: 'tools/call', name, input }
    const exchange = { ...detachedExchange, caller, cancellation: new Cancellation() }
    const run = { id: 'explained', entry, binding, params }
    const call = toCall(surface, run, exchange, undefined)
    return [...(await explainCall(this.#pipeline.checks, call)), ...this.#routing.foresee(call)]
  }

  /** The exact answer to `tools/list`. */
  async list(options: Omit<CallOptions, 'signal'> = {}): Promise<Lists['tools']> {
    await this.ready
    const { caller = localUser, mount = this.#mounts.usual } = options
    return this.#mounts.at(mount).surface.lists(caller).tools
  }

  /** Takes new sources in place of all old ones, on every mount or on none. */
  async replace(placed: readonly PlacedSource[], accepts: Accepts = () => true): Promise<boolean> {
    checkPlacement(placed)
    const intents = placed.filter(isIntents)
    if (this.#server) checkPublic(intents, this.#config.http.tokens !== undefined)
    this.#routing.connect(intents)
    for (const { tellTo } of placed) tellTo?.(this.#onTrouble)
    const accepted = await this.#mounts.replace(placed, accepts, () => {
      this.#routing.take(intents)
      this.#doors.clear()
      for (const { mount, door } of placed) if (door) this.#doors.set(mount, door)
    })
    if (accepted && this.#server) await this.#routing.serve()
    return accepted
  }

  /** Lets calls under way finish, then lets go of everything. */
  async close(patience = 5000): Promise<void> {
    await this.ready.catch(() => {})
    this.#server?.refuse()
    this.#routing.stop()
    this.#mounts.hush()
    await this.#inFlight.settle(patience)
    this.#routing.abandon()
    await this.#mounts.closeEndpoints()
    await this.#server?.close()
    await this.#mounts.closeCatalogs()
    await this.#ledger.close()
  }

  async #open(path: string, placed: readonly PlacedSource[]): Promise<Mount> {
    const naming: Naming = this.#config.mounts[path]?.names ?? 'portable'
    const catalog = await Catalog.open(placed, { naming, refine: this.#refine })
    const { instructions = placed[0]?.instructions } = this.#options
    const surface = new Surface({
      mount: path,
      identity: this.#toIdentity(catalog.snapshot),
      ...(instructions !== undefined && { instructions }),
      catalog,
      govern: this.#govern,
      forbids: (caller, capability) =>
        this.#config.policy.mode === 'enforce' && !permits(caller, capability),
      states: createRequestStates(this.#key, Date.now),
      newId: randomUUID,
      callersProveThemselves: this.asksForToken(path),
    })
    return { catalog, surface, endpoint: new HttpEndpoint(surface, Date.now) }
  }

  /** The one way in, for whatever comes. */
  readonly #govern = (call: Call): Promise<Outcome> =>
    this.#inFlight.watch(call, this.#pipeline.govern)

  #onError(error: unknown): void {
    this.#options.onError?.(error)
  }

  readonly #onTrouble = (error: unknown): void => {
    const { onTrouble, onError } = this.#options
    const tell = onTrouble ?? onError ?? warn
    tell(error)
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
      `DRAWBRIDGE_TOKEN: ${refusalMessages[refusal]}`,
    )
  }
}

const ownerRefusal = { code: 'owner_token_refused', message: refusalMessages.owner }

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

const toPlaced = (source: Source | PlacedSource): PlacedSource =>
  'read' in source ? { source, mount: '/mcp' } : source

/** Where nobody listens, the process itself says it: nobody could see afterwards what was lost. */
const warn = (error: unknown): void => process.emitWarning(String(error), 'DrawbridgeTrouble')
