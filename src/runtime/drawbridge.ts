import { localUser } from '../capability/caller.ts'
import { Cancellation } from '../capability/cancellation.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import { toCause } from '../capability/to-cause.ts'
import type { Entry, Snapshot } from '../catalog/snapshot.ts'
import type { ApprovalResult, Approvals } from '../governance/approvals.ts'
import { type Explanation, explainCall } from '../governance/explain.ts'
import type { Approval, ApprovalView, AuditEntry } from '../governance/ledger.ts'
import type { PolicyRule } from '../governance/policy.ts'
import type { OperatorFailure } from '../governance/steps/record-audit.ts'
import type { NodeServer } from '../http/node-server.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { detachedExchange } from '../mcp/exchange.ts'
import { methods, toCall } from '../mcp/methods.ts'
import type { ToolList } from '../mcp/projection.ts'
import { RpcError } from '../mcp/rpc-error.ts'
import { connectStdio, type StdioConnection } from '../mcp/stdio/stdio.ts'
import type { ServerIdentity } from '../mcp/surface.ts'
import type { CallToolResult } from '../mcp/to-result.ts'
import { requestMeta } from '../mcp/wire-names.ts'
import { refusalMessages } from '../sources/records/grants/token-refusal.ts'
import { isUpstreamSource, type UpstreamSource } from '../upstream/egress/upstream-source.ts'
import { isLoopbackHost } from '../upstream/loopback.ts'
import { type Assembly, assemble } from './assemble.ts'
import { checkPlacement, checkPublic } from './config/check-placement.ts'
import { diagnoseConfiguration } from './diagnose-configuration.ts'
import type {
  CallOptions,
  DrawbridgeOptions,
  ExplainOptions,
  ListenOptions,
  ListOptions,
  ProbeOptions,
  StdioOptions,
} from './drawbridge-options.ts'
import { explainDestinations } from './explain-destinations.ts'
import type { ExecutionHistory, ResumeResult } from './intents/execution-history.ts'
import { isIntents } from './intents/intent-routing.ts'
import type { AcceptSnapshot } from './mounts.ts'
import type { OpenedSource, PlacedSource } from './placed-source.ts'
import { probeUpstreams } from './probe-upstreams.ts'
import { CredentialError } from './records/credential-error.ts'
import { messageContainsOwnerToken, toLocalCaller } from './records/local-credentials.ts'
import { diagnoseCheckpoints } from './store/audit-checkpoints.ts'

export type {
  AcceptSnapshot,
  Approval,
  ApprovalResult,
  Approvals,
  ApprovalView,
  AuditEntry,
  CallToolResult,
  Entry,
  ExecutionHistory,
  Explanation,
  OperatorFailure,
  ResumeResult,
  ServerIdentity,
  Snapshot,
  StdioConnection,
  ToolList,
}
export { RpcError }

/**
 * Puts sources behind one governed MCP server. It starts reading the sources at once; `ready` resolves
 * when all of them are read. Every method that serves or calls waits for it.
 *
 * @example
 * ```ts
 * import { createDrawbridge, definitionSource, defineTool, z } from 'drawbridge-mcp'
 *
 * const hello = defineTool({
 *   name: 'say_hello',
 *   description: 'Greets a person by name.',
 *   category: 'read',
 *   schema: z.object({ name: z.string() }),
 *   execute: ({ name }) => `Hello ${name}`,
 * })
 * const bridge = createDrawbridge({ name: 'demo', sources: [definitionSource([hello])] })
 * ```
 */
export const createDrawbridge = (options: DrawbridgeOptions): Drawbridge => new Drawbridge(options)

/** A governed MCP server: serves clients over HTTP and stdio, and makes calls in process. */
export class Drawbridge {
  /** Resolves when all sources are read; rejects with a `SetupError` when they cannot be served together. */
  readonly ready: Promise<unknown>
  readonly #options: DrawbridgeOptions
  readonly #parts: Assembly
  #server: NodeServer | undefined
  #upstreamSources: readonly UpstreamSource[] = []

  constructor(options: DrawbridgeOptions) {
    this.#options = options
    this.#parts = assemble(options)
    this.ready = this.replace(options.sources)
    // Methods that await `ready` reject with its error; without this, Node reports an unhandled rejection.
    this.ready.catch(() => {})
  }

  /** Name, version, title and description of the server. */
  get identity(): ServerIdentity {
    return this.#parts.identity()
  }

  /**
   * Problems of the configuration and of the sources on all mounts: capabilities that were left out,
   * renamed or look wrong, rules that match nothing, and approvals that nobody can give.
   */
  get diagnostics(): readonly Diagnostic[] {
    const snapshots = [...this.mounts.values()]
    const { config, inForce } = this.#parts
    const { policy, upstreamHost } = inForce
    return this.#redact([
      ...diagnoseConfiguration(
        this.#options,
        { rules: policy.rules as readonly PolicyRule[], tokens: config.http.tokens },
        snapshots,
      ),
      ...diagnoseCheckpoints(config.audit.checkpoints, upstreamHost.egress),
      ...snapshots.flatMap(({ diagnostics }) => diagnostics),
      ...this.#parts.mounts.surfaces.flatMap(({ diagnostics }) => diagnostics),
    ])
  }

  /** Connects to the configured NATS servers now, and returns a diagnostic for each that cannot be reached. */
  async probe(): Promise<readonly Diagnostic[]> {
    return this.#redact(await this.#parts.routing.probe())
  }

  /**
   * Asks the servers behind the sources whether what is declared is there, without running anything, and
   * returns a diagnostic for each that is unreachable, refuses its credentials, or offers something else.
   */
  async probeUpstreams(options: ProbeOptions = {}): Promise<readonly Diagnostic[]> {
    await this.ready
    return this.#redact(await probeUpstreams(this.#upstreamSources, options))
  }

  /** All entries of the audit, oldest first. */
  get audit(): readonly AuditEntry[] {
    const { ledger } = this.#parts
    ledger.flush()
    return [...ledger.audit.records(0)].map(({ entry }) => entry)
  }

  /** Lists and decides approvals. */
  get approvals(): Approvals {
    return this.#parts.approvals
  }

  /**
   * The bearer token for `/approvals` when no `http.tokens` are configured: the content of the file
   * `<store>.approver`, or a value of this process without a `store`. Whoever has it can decide every
   * approval. Throws when the file cannot be used.
   */
  get approverToken(): string {
    return this.#parts.approver.read()
  }

  /** The log of routed intents. */
  get executions(): ExecutionHistory {
    return this.#parts.routing.executions
  }

  /** Resumes an execution that an earlier process started and did not finish; `by` is recorded. */
  async resume(id: string, by: string): Promise<ResumeResult> {
    await this.ready
    return this.#parts.routing.resume(id, by)
  }

  /** Current snapshot of capabilities, views and prompts of every mount, by path. */
  get mounts(): ReadonlyMap<string, Snapshot> {
    return this.#parts.mounts.snapshots
  }

  /** `true` if HTTP callers of a mount must send a bearer token. */
  requiresToken(mount: string): boolean {
    return this.#parts.requiresToken(mount)
  }

  /** Describes a thrown value for a log, without secrets. */
  describe(thrown: unknown): string {
    return this.#parts.redact(toCause(thrown))
  }

  /**
   * Serves one web-standard request. Use it in frameworks and runtimes that have their own server.
   *
   * @example
   * ```ts
   * import { createDrawbridge, manifestSource } from 'drawbridge-mcp'
   *
   * const { fetch } = createDrawbridge({ sources: [manifestSource('./agent.yaml')] })
   * export default { fetch } // Bun, Deno; in Hono: app.all('/mcp', ({ req }) => fetch(req.raw))
   * ```
   */
  readonly fetch = async (request: Request): Promise<Response> => {
    await this.ready
    const { openHandler, admission } = this.#parts
    const { toFetch } = await import('../http/web-handler.ts')
    return toFetch(await openHandler(), admission)(request)
  }

  /**
   * Starts an HTTP server and returns its port. Refuses an address that other machines can reach, unless
   * `http.tokens` is configured.
   *
   * @example
   * ```ts
   * import { createDrawbridge, manifestSource } from 'drawbridge-mcp'
   *
   * const bridge = createDrawbridge({ sources: [manifestSource('./agent.yaml')] })
   * const { port } = await bridge.listen({ port: 0 })
   * console.log(`http://127.0.0.1:${port}/mcp`)
   * process.once('SIGTERM', () => bridge.close())
   * ```
   */
  async listen(address: ListenOptions = {}): Promise<{ port: number }> {
    await this.ready
    const { config, openHandler, admission, routing, onError } = this.#parts
    const { host, port, tokens } = { ...config.http, ...address }
    if (tokens === undefined && !isLoopbackHost(host))
      throw new SetupError(
        `Other machines can reach ${host}, and callers would not have to authenticate. Configure http.tokens ("drawbridge token" creates one), or use 127.0.0.1.`,
      )
    checkPublic(routing.sources, tokens !== undefined)
    const { NodeServer } = await import('../http/node-server.ts')
    const handler = await openHandler()
    this.#server = await NodeServer.listen({ host, port, handler, admission, onError })
    await routing.serve()
    return { port: this.#server.port }
  }

  /**
   * Serves one client over standard input and output, or over other streams.
   *
   * @example
   * ```ts
   * import { createDrawbridge, manifestSource } from 'drawbridge-mcp'
   *
   * const bridge = createDrawbridge({ sources: [manifestSource('./agent.yaml')] })
   * const connection = await bridge.stdio()
   * await connection.closed
   * await bridge.close()
   * ```
   */
  async stdio(options: StdioOptions = {}): Promise<StdioConnection> {
    await this.ready
    const { mounts, tokenGates, onError } = this.#parts
    const { input = process.stdin, output = process.stdout, mount = mounts.defaultPath } = options
    return connectStdio(mounts.at(mount).surface, {
      input,
      output,
      ...dropUndefined({ graceMs: options.graceMs }),
      onError,
      caller: options.caller ?? toLocalCaller(tokenGates.get(mount), this.#options.token),
      refuse: (message) =>
        messageContainsOwnerToken(tokenGates, message) ? ownerTokenRefusal : undefined,
    })
  }

  /**
   * Makes one governed call in process, as a client would, and returns the result of `tools/call`. A
   * failed call is a result with `isError`. Throws an {@link RpcError} for an unknown tool and for a
   * missing scope, and a `SetupError` for an unknown mount or a refused credential.
   *
   * @example
   * ```ts
   * import { createDrawbridge, manifestSource } from 'drawbridge-mcp'
   *
   * const bridge = createDrawbridge({ sources: [manifestSource('./agent.yaml')] })
   * const input = { order: 'A-1' }
   * const result = await bridge.call('refund_order', input, { idempotencyKey: 'refund-A-1' })
   * console.log(result.isError ? 'failed' : 'done', result.content)
   * ```
   */
  async call(
    name: string,
    input: unknown = {},
    options: CallOptions = {},
  ): Promise<CallToolResult> {
    await this.ready
    const { mounts, tokenGates } = this.#parts
    const { mount = mounts.defaultPath, signal } = options
    const meta = toMeta(options)
    if (messageContainsOwnerToken(tokenGates, [input, meta]))
      throw new CredentialError('owner', refusalMessages.owner)
    const caller = options.caller ?? toLocalCaller(tokenGates.get(mount), this.#options.token)
    const cancellation = new Cancellation()
    const cancel = () => cancellation.cancel('The caller cancelled the call.')
    if (signal?.aborted) cancel()
    else signal?.addEventListener('abort', cancel, { once: true })
    const method = methods.get('tools/call')
    const exchange = { ...detachedExchange, caller, cancellation }
    const params = { name, arguments: input, ...(meta && { _meta: meta }) }
    return (await method?.(mounts.at(mount).surface, params, exchange)) as CallToolResult
  }

  /** Returns what every step would decide about a call, without making it; `undefined` for an unknown tool. */
  async explain(
    name: string,
    input: unknown = {},
    options: ExplainOptions = {},
  ): Promise<readonly Explanation[] | undefined> {
    await this.ready
    const { mounts, inForce, routing } = this.#parts
    const { caller = localUser, mount = mounts.defaultPath } = options
    const meta = toMeta(options)
    const { surface } = mounts.at(mount)
    const entry = surface.projection.findTool(name)?.entry
    if (!entry) return undefined
    const params = { ...(meta && { _meta: meta }) }
    const binding = { method: 'tools/call', name, input }
    const exchange = { ...detachedExchange, caller, cancellation: new Cancellation() }
    const run = { id: 'explained', entry, binding, params }
    const call = toCall(surface, run, exchange, undefined)
    const { origin } = call.capability
    const source = this.#upstreamSources.find(({ id }) => id === origin.source)
    const destinations = source?.destinations(call.capability) ?? []
    return [
      ...(await explainCall(inForce.pipeline.checks, call)),
      ...(await explainDestinations(destinations, inForce.upstreamHost.egress)),
      ...routing.explain(call),
    ]
  }

  /** The result of `tools/list`, as the caller would see it. */
  async list(options: ListOptions = {}): Promise<ToolList> {
    await this.ready
    const { mounts } = this.#parts
    const { caller = localUser, mount = mounts.defaultPath } = options
    return mounts.at(mount).surface.lists(caller).tools
  }

  /**
   * Replaces all sources, on every mount or on none, and returns whether it did. `accepts` may reject
   * the new snapshot of a mount; then the old sources keep serving. A `policy` takes effect at the same
   * time, for calls that begin later; without one, the present policy stays.
   */
  async replace(
    sources: DrawbridgeOptions['sources'],
    accepts: AcceptSnapshot = () => true,
    policy?: DrawbridgeOptions['policy'],
  ): Promise<boolean> {
    const { config, routing, mounts, tokenGates, onOperationalError } = this.#parts
    const next = this.#parts.preparePolicy(policy)
    const opened = sources.map(toOpened)
    checkPlacement(opened)
    const intents = opened.filter(isIntents)
    if (this.#server) checkPublic(intents, config.http.tokens !== undefined)
    routing.connect(intents)
    const upstreamSources = opened.map(({ source }) => source).filter(isUpstreamSource)
    for (const source of upstreamSources) source.connectUpstreams(next.upstreamHost)
    for (const { reportTo } of opened) reportTo?.(onOperationalError)
    const { refine, policy: settings } = next
    const isAccepted = await mounts.replace(
      opened,
      { refine, text: settings.text },
      accepts,
      () => {
        next.enforce()
        routing.setSources(intents)
        this.#upstreamSources = upstreamSources
        tokenGates.clear()
        for (const { mount, gate } of opened) if (gate) tokenGates.set(mount, gate)
      },
    )
    if (isAccepted && this.#server) await routing.serve()
    return isAccepted
  }

  /** Waits up to `graceMs` for running calls, cancels the rest, and closes everything. */
  async close(graceMs = 5000): Promise<void> {
    await this.ready.catch(() => {})
    const { routing, mounts, inFlight, checkpoints, ledger } = this.#parts
    this.#server?.refuse()
    routing.stop()
    mounts.closeSurfaces()
    await inFlight.settle(graceMs)
    routing.abandon()
    await mounts.closeEndpoints()
    await this.#server?.close()
    await mounts.closeCatalogs()
    await checkpoints?.close()
    await ledger.close()
  }

  #redact(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
    return diagnostics.map((one) => ({
      ...one,
      message: this.#parts.redact(one.message),
      ...dropUndefined({ alike: one.alike && this.#parts.redact(one.alike) }),
    }))
  }
}

const toMeta = ({ meta, idempotencyKey }: ExplainOptions): ExplainOptions['meta'] =>
  idempotencyKey === undefined ? meta : { ...meta, [requestMeta.idempotencyKey]: idempotencyKey }

const ownerTokenRefusal = { code: 'owner_token_refused', message: refusalMessages.owner }

const toOpened = (source: Source | PlacedSource): OpenedSource =>
  'read' in source ? { source, mount: '/mcp' } : source
