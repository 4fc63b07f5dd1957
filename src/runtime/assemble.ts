import { randomUUID } from 'node:crypto'
import type { Call } from '../capability/call.ts'
import { FairShares } from '../capability/fair-shares.ts'
import type { Outcome } from '../capability/outcome.ts'
import { Catalog } from '../catalog/catalog.ts'
import type { Refine } from '../catalog/snapshot.ts'
import { Approvals } from '../governance/approvals.ts'
import { createPipeline, type Governance, type Pipeline } from '../governance/pipeline.ts'
import { createRefine, type PolicyRule } from '../governance/policy.ts'
import { Redactor } from '../governance/redactor.ts'
import { limitRate } from '../governance/steps/limit-rate.ts'
import { BodyAdmission } from '../http/body-admission.ts'
import { createIdentify, type TokenEntry } from '../http/callers.ts'
import type { Handler, HandlerOptions } from '../http/handler.ts'
import { createGuard } from '../http/host-guard.ts'
import { removeHidden } from '../json/hidden-characters.ts'
import { HttpEndpoint } from '../mcp/http-endpoint.ts'
import { SessionRegistry } from '../mcp/legacy/session-registry.ts'
import { subscriptionLimits } from '../mcp/modern/subscriptions.ts'
import { createRequestStates } from '../mcp/request-state.ts'
import { type ServerIdentity, Surface } from '../mcp/surface.ts'
import type { TokenGate } from '../sources/records/grants/token-gate.ts'
import type { SqliteLedger } from '../storage/ledger/sqlite-ledger.ts'
import { Egress } from '../upstream/egress/egress.ts'
import type { UpstreamHost } from '../upstream/egress/upstream-source.ts'
import { createSteadyClock } from './clock.ts'
import { checkOptions, checkPolicy } from './config/check-options.ts'
import type { Config } from './config/config-shape.ts'
import { toGuardOptions, toSettings } from './config/to-settings.ts'
import type { DrawbridgeOptions } from './drawbridge-options.ts'
import { governRequest } from './govern-request.ts'
import { toIdentity } from './identity.ts'
import { InFlight } from './in-flight.ts'
import { Routing } from './intents/intent-routing.ts'
import { isCodeCurrent } from './modules/load-modules.ts'
import { type Mount, Mounts } from './mounts.ts'
import { createNewId } from './new-id.ts'
import type { PlacedSource } from './placed-source.ts'
import {
  type ApproverCredential,
  openApproverCredential,
  toApprovalAccess,
} from './store/approver-credential.ts'
import { type CheckpointTimer, startCheckpoints } from './store/audit-checkpoints.ts'
import { openLedger } from './store/open-ledger.ts'
import { readRequestStateKey } from './store/request-state-key.ts'
import { toRetention } from './store/retention.ts'
import { findStoreProblems } from './store/store-diagnostics.ts'

/** The parts of one Drawbridge, wired together. Mounts are empty until `Drawbridge.replace` adds sources. */
export interface Assembly {
  readonly config: Config
  readonly ledger: SqliteLedger
  readonly approvals: Approvals
  readonly approver: ApproverCredential
  readonly checkpoints: CheckpointTimer | undefined
  readonly inForce: PolicyInForce
  readonly mounts: Mounts
  readonly routing: Routing
  /** Answers HTTP requests; loaded when they can come. */
  readonly openHandler: () => Promise<Handler>
  readonly admission: BodyAdmission
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
  /** Compiles a changed policy, or returns the present one; it applies to new calls after `enforce`. */
  preparePolicy(
    options: DrawbridgeOptions['policy'],
  ): PolicyInForce & { readonly enforce: () => void }
}

/** A policy, compiled. */
interface PolicyInForce {
  readonly policy: Config['policy']
  readonly pipeline: Pipeline
  readonly refine: Refine
  readonly upstreamHost: UpstreamHost
}

export function assemble(options: DrawbridgeOptions): Assembly {
  const { onOperatorFailure = () => {}, onError = () => {} } = options
  const { onOperationalError = options.onError ?? warnOfError } = options
  const config = checkOptions(options)
  const toServed = (declared: string) =>
    inForce.policy.text === 'keep' ? declared : removeHidden(declared)
  const steadyNow = createSteadyClock()
  const inFlight = new InFlight()
  const sessions = new SessionRegistry(steadyNow)
  const subscriptions = new FairShares(subscriptionLimits)
  const tokenGates = new Map<string, TokenGate>()
  const requiresToken = (mount: string) => config.http.tokens !== undefined || tokenGates.has(mount)

  const ledger = openLedger({
    file: options.store ?? ':memory:',
    ...toRetention(config.policy),
    onError,
    onWarning: (message) => onOperationalError(new Error(message)),
    onDamage: onOperationalError,
  })
  for (const { message } of options.store ? findStoreProblems(options.store, 'store') : [])
    onOperationalError(new Error(message))
  const { clock } = ledger
  const requestStateKey = readRequestStateKey(ledger, onOperationalError)
  const approvals = new Approvals(ledger)
  const approver = openApproverCredential(options.store, onOperationalError)
  const checkpoints = startCheckpoints(config.audit.checkpoints, {
    ledger,
    now: clock.calendarNow,
    egress: () => inForce.upstreamHost.egress,
    onError: onOperationalError,
  })
  // A tool that reads files must not give the credential to a model, which could then decide.
  const secrets = [
    ...(options.secrets ?? []),
    ...(approver.storedValue ? [approver.storedValue] : []),
  ]
  const redactor = new Redactor(secrets)
  const redact = redactor.text

  const mounts = new Mounts({ open: openMount, onError })
  const governance: Omit<Governance, 'settings'> = {
    ledger,
    onOperatorFailure({ id, capability, failure }) {
      const redacted = { ...failure, cause: redact(failure.cause ?? '') }
      try {
        onOperatorFailure({ id, capability, failure: redacted })
      } catch (error) {
        // The outcome of the call stays what it is.
        onOperationalError(error)
      }
    },
    newId: randomUUID,
    compare: (name, former, present) => mounts.compare(name, former, present),
    isCodeCurrent,
    redactor,
    inFlight,
    limitRate: limitRate(clock.now),
  }
  const toPolicyInForce = (policy: Config['policy']): PolicyInForce => ({
    policy,
    pipeline: createPipeline({ ...governance, settings: toSettings(policy) }),
    refine: createRefine(policy.rules as readonly PolicyRule[]),
    upstreamHost: { egress: new Egress(policy.egress), onSecret: redactor.add },
  })
  let inForce = toPolicyInForce(config.policy)
  /** Every call passes here, from every transport. A call ends under the policy it began with. */
  const govern = (call: Call): Promise<Outcome> => inForce.pipeline.govern(call)

  async function openMount(path: string, sources: readonly PlacedSource[]): Promise<Mount> {
    const naming = config.mounts[path]?.names ?? 'portable'
    const { refine, policy } = inForce
    const catalog = await Catalog.open(sources, { naming, refine, text: policy.text })
    const declared = options.instructions ?? sources[0]?.instructions
    const instructions = declared === undefined ? undefined : toServed(declared)
    const surface = new Surface({
      mount: path,
      identity: toIdentity(options, catalog.snapshot, toServed),
      ...(instructions !== undefined && { instructions }),
      catalog,
      govern,
      states: createRequestStates(requestStateKey, clock.now),
      newId: createNewId(clock.now),
      requiresToken: requiresToken(path),
      subscriptions,
      schemas: config.mounts[path]?.schemas ?? 'portable',
    })
    return { catalog, surface, endpoint: new HttpEndpoint(surface, sessions) }
  }

  const identity = () => toIdentity(options, mounts.snapshots.get('/mcp'), toServed)
  const identify = createIdentify(config.http.tokens satisfies readonly TokenEntry[] | undefined)
  const routing = new Routing({
    ledger,
    steadyNow,
    identify,
    govern,
    surfaceAt: (mount) => mounts.at(mount).surface,
    onOperationalError,
  })
  const admission = new BodyAdmission(steadyNow)
  const handlerOptions: HandlerOptions = {
    mounts: mounts.endpoints,
    records: {
      tokenGates,
      newId: randomUUID,
      run: (mount, request) =>
        governRequest(request, {
          surface: mounts.at(mount).surface,
          refine: inForce.refine,
          govern,
        }),
    },
    guard: createGuard(toGuardOptions(config.http)),
    identify,
    body: { maxBytes: config.http.bodyLimit, maxValues: config.http.bodyValues, admission },
    approvals: {
      approvals,
      ...toApprovalAccess(config.http.tokens && identify, approver, onOperationalError),
    },
    frames: (path) => routing.frames(path),
    health: () => {
      const { name, version } = identity()
      return { status: ledger.damage ? 'ledger_damaged' : 'ok', name, version }
    },
  }
  let handler: Promise<Handler> | undefined
  const openHandler = () => {
    handler ??= import('../http/handler.ts').then(({ createHandler }) =>
      createHandler(handlerOptions),
    )
    return handler
  }

  return {
    config,
    ledger,
    approvals,
    approver,
    checkpoints,
    mounts,
    routing,
    openHandler,
    admission,
    inFlight,
    tokenGates,
    onError,
    onOperationalError,
    identity,
    redact,
    requiresToken,
    get inForce() {
      return inForce
    },
    preparePolicy(options) {
      const next = options === undefined ? inForce : toPolicyInForce(checkPolicy(options))
      return {
        ...next,
        enforce: () => {
          inForce = next
          ledger.setRetention(toRetention(next.policy))
        },
      }
    },
  }
}

/** Node prints the warning, so that an operational error is not lost when there is no listener. */
const warnOfError = (error: unknown): void =>
  process.emitWarning(String(error), 'DrawbridgeWarning')
