import { randomBytes, randomUUID } from 'node:crypto'
import type { Call } from '../capability/call.ts'
import type { Outcome } from '../capability/outcome.ts'
import { Catalog } from '../catalog/catalog.ts'
import { Approvals } from '../governance/approvals.ts'
import { permits } from '../governance/permits.ts'
import { createPipeline, type Pipeline } from '../governance/pipeline.ts'
import { createRefine, type PolicyRule } from '../governance/policy.ts'
import { createRedactor } from '../governance/steps/redact-secrets.ts'
import { createIdentify, type TokenEntry } from '../http/callers.ts'
import { createHandler, type Handler } from '../http/handler.ts'
import { createGuard } from '../http/host-guard.ts'
import { HttpEndpoint } from '../mcp/http-endpoint.ts'
import { createRequestStates } from '../mcp/request-state.ts'
import { type ServerIdentity, Surface } from '../mcp/surface.ts'
import type { TokenGate } from '../sources/records/grants/token-gate.ts'
import type { SqliteLedger } from '../storage/ledger/sqlite-ledger.ts'
import { type CheckpointTimer, startCheckpoints } from './audit-checkpoints.ts'
import { createSteadyClock } from './clock.ts'
import { checkOptions } from './config/check-options.ts'
import type { Config } from './config/config-shape.ts'
import { toGuardOptions, toSettings } from './config/to-settings.ts'
import type { DrawbridgeOptions } from './drawbridge-options.ts'
import { governRequest } from './govern-request.ts'
import { toIdentity } from './identity.ts'
import { InFlight } from './in-flight.ts'
import { Routing } from './intent-routing.ts'
import { type Mount, Mounts } from './mounts.ts'
import { openLedger } from './open-ledger.ts'
import type { PlacedSource } from './placed-source.ts'

/** The parts of one Drawbridge, wired together. Mounts are empty until `Drawbridge.replace` adds sources. */
export interface Assembly {
  readonly config: Config
  readonly ledger: SqliteLedger
  readonly approvals: Approvals
  readonly checkpoints: CheckpointTimer | undefined
  readonly pipeline: Pipeline
  readonly mounts: Mounts
  readonly routing: Routing
  readonly handler: Handler
  readonly inFlight: InFlight
  /** Token gates of mounts that serve records, by path. */
  readonly tokenGates: Map<string, TokenGate>
  readonly onError: (error: unknown) => void
  readonly onOperationalError: (error: unknown) => void
  identity(): ServerIdentity
  /** Removes secrets from a text. */
  redact(text: string): string
  /** True if callers of a mount must authenticate. */
  requiresToken(mount: string): boolean
}

export function assemble(options: DrawbridgeOptions): Assembly {
  const { secrets = [], onOperatorFailure = () => {}, onError = () => {} } = options
  const { onOperationalError = options.onError ?? warnOfError } = options
  const config = checkOptions(options)
  const { keys, duplicates, executions, rules, mode } = config.policy
  const refine = createRefine(rules as readonly PolicyRule[])
  const redact = createRedactor(secrets)
  const steadyNow = createSteadyClock()
  const requestStateKey = randomBytes(32)
  const inFlight = new InFlight()
  const tokenGates = new Map<string, TokenGate>()
  const requiresToken = (mount: string) => config.http.tokens !== undefined || tokenGates.has(mount)

  const ledger = openLedger({
    file: options.store ?? ':memory:',
    keepRunsMs: Math.max(keys.window, duplicates.window) * 1000,
    keepExecutionsMs: executions.keep * 1000,
    onError,
    onDamage: onOperationalError,
  })
  const approvals = new Approvals(ledger, Date.now)
  const checkpoints = startCheckpoints(config.audit.checkpoints, {
    ledger,
    now: Date.now,
    onError: onOperationalError,
  })

  const mounts = new Mounts({ open: openMount, onError })
  const pipeline = createPipeline({
    ledger,
    onOperatorFailure: ({ id, capability, failure }) =>
      onOperatorFailure({
        id,
        capability,
        failure: { ...failure, cause: redact(failure.cause ?? '') },
      }),
    now: Date.now,
    steadyNow,
    newId: randomUUID,
    compare: (name, former, present) => mounts.compare(name, former, present),
    secrets,
    settings: toSettings(config.policy),
  })
  /** Every call passes here, from every transport. */
  const govern = (call: Call): Promise<Outcome> => inFlight.watch(call, pipeline.govern)

  async function openMount(path: string, sources: readonly PlacedSource[]): Promise<Mount> {
    const naming = config.mounts[path]?.names ?? 'portable'
    const catalog = await Catalog.open(sources, { naming, refine })
    const { instructions = sources[0]?.instructions } = options
    const surface = new Surface({
      mount: path,
      identity: toIdentity(options, catalog.snapshot),
      ...(instructions !== undefined && { instructions }),
      catalog,
      govern,
      forbids: (caller, capability) => mode === 'enforce' && !permits(caller, capability),
      states: createRequestStates(requestStateKey, Date.now),
      newId: randomUUID,
      requiresToken: requiresToken(path),
    })
    return { catalog, surface, endpoint: new HttpEndpoint(surface, Date.now) }
  }

  const identity = () => toIdentity(options, mounts.snapshots.get('/mcp'))
  const identify = createIdentify(config.http.tokens satisfies readonly TokenEntry[] | undefined)
  const routing = new Routing({
    ledger,
    steadyNow,
    identify,
    govern,
    surfaceAt: (mount) => mounts.at(mount).surface,
    onOperationalError,
  })
  const handler = createHandler({
    mounts: mounts.endpoints,
    records: {
      tokenGates,
      newId: randomUUID,
      run: (mount, request) =>
        governRequest(request, { surface: mounts.at(mount).surface, refine, govern }),
    },
    guard: createGuard(toGuardOptions(config.http)),
    identify,
    bodyLimit: config.http.bodyLimit,
    approvals,
    frames: (path) => routing.frames(path),
    health: () => {
      const { name, version } = identity()
      return { status: ledger.damage ? 'ledger_damaged' : 'ok', name, version }
    },
  })

  return {
    config,
    ledger,
    approvals,
    checkpoints,
    pipeline,
    mounts,
    routing,
    handler,
    inFlight,
    tokenGates,
    onError,
    onOperationalError,
    identity,
    redact,
    requiresToken,
  }
}

/** Node prints the warning, so that an operational error is not lost when there is no listener. */
const warnOfError = (error: unknown): void =>
  process.emitWarning(String(error), 'DrawbridgeWarning')
