import type { Origin } from '../../capability/capability.ts'
import type { Effects } from '../../capability/effects.ts'
import type { JsonObject } from '../../capability/json.ts'
import { type Budget, noRules, type Rate, type Rules } from '../../capability/rules.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { ManifestCapability, ManifestInterface } from './reading/manifest-shape.ts'
import type { Indexed, ValidManifest } from './reading/read-manifest.ts'
import { toCost, toCurrency } from './to-cost.ts'
import { toEffects } from './to-effects.ts'

/** A capability as the manifest declares it: everything but contracts and `invoke`. */
export interface CapabilityDeclaration {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly effects: Effects
  readonly rules: Rules
  readonly origin: Origin
  readonly extras: JsonObject
}

/** Deterministic: the same manifest gives the same bytes, independent of clock and environment. */
export function toCapability(
  manifest: ValidManifest,
  capability: Indexed<ManifestCapability>,
  /** The interface it is called over; absent for handlers without one. */
  route: ManifestInterface | undefined,
  source: string,
): CapabilityDeclaration {
  const pointer = `/capabilities/${capability.index}`
  const interfaces = [findAgentInterface(manifest, capability), route].filter(
    (one) => one !== undefined,
  )
  return {
    name: capability.id,
    title: capability.name,
    description: capability.description,
    effects: toEffects(capability, route),
    rules: toRules(manifest, capability, interfaces, source),
    origin: { source, pointer },
    extras: toExtras(manifest, capability, interfaces, pointer),
  }
}

/** The interface that a direct client of the agent would use. */
export function findAgentInterface(
  { interfaces }: ValidManifest,
  { protocols }: ManifestCapability,
): Indexed<ManifestInterface> | undefined {
  const capabilityProtocols = new Set<string>(protocols)
  const candidates = interfaces.filter(({ protocol }) => capabilityProtocols.has(protocol))
  return candidates.find(({ protocol }) => protocol === 'MCP') ?? candidates[0]
}

function toRules(
  manifest: ValidManifest,
  capability: ManifestCapability,
  interfaces: readonly ManifestInterface[],
  source: string,
): Rules {
  const { runtime } = manifest
  return {
    ...noRules,
    permissions: [
      ...new Set([
        ...(capability.permissions ?? []),
        ...interfaces.flatMap((one) => (one.privileged ? (one.permissions ?? []) : [])),
      ]),
    ],
    approval: needsApproval(manifest, capability, interfaces),
    idempotencyKey: capability.idempotency_key_required,
    ...dropUndefined({ cost: toCost(manifest, capability) }),
    budgets: toBudgets(manifest, source),
    rates: [...new Set(interfaces)].flatMap((one) => toRates(one, source)),
    timeout: runtime.timeout_seconds * 1000,
  }
}

/**
 * All sample manifests set `high_risk_approval_required`, even read-only ones. Taken literally, every
 * call would need a human; it applies to privileged interfaces and high side effects.
 */
function needsApproval(
  { trust: { policy } }: ValidManifest,
  { id, side_effect_level, permissions = [] }: ManifestCapability,
  interfaces: readonly ManifestInterface[],
): boolean {
  const approvalActions = new Set(policy.human_approval_actions ?? [])
  if (approvalActions.has(id) || permissions.some((permission) => approvalActions.has(permission)))
    return true
  const isHighRisk = side_effect_level === 'high' || interfaces.some(({ privileged }) => privileged)
  return policy.high_risk_approval_required && isHighRisk
}

function toBudgets(manifest: ValidManifest, source: string): Budget[] {
  const { requirements, trust } = manifest
  const { per_task_limit, monthly_limit } = requirements?.budget ?? {}
  const { soft_alert_pct, reauthorization_pct, hard_stop_pct } = trust.budget_guardrails
  const base = {
    unit: toCurrency(manifest),
    per: 'source' as const,
    // AgentHub's guardrails act from these percentages on.
    thresholds: {
      alert: soft_alert_pct,
      reauthorise: reauthorization_pct,
      stop: hard_stop_pct,
      inclusive: true,
    },
  }
  return [
    ...(per_task_limit === undefined
      ? []
      : [
          {
            ...base,
            id: `${source} per task`,
            limit: per_task_limit,
            window: 'call' as const,
          },
        ]),
    ...(monthly_limit === undefined
      ? []
      : [
          {
            ...base,
            id: `${source} monthly`,
            limit: monthly_limit,
            window: 'month' as const,
          },
        ]),
  ]
}

function toRates({ name, rate_limit }: ManifestInterface, source: string): Rate[] {
  if (!rate_limit) return []
  const calls = rate_limit.requests_per_minute
  // The limit belongs to the interface, so all callers share it.
  return [{ id: `${source} interface ${name}`, calls, seconds: 60, shared: true }]
}

/** The literal keys of the AgentHub mapping, and fields that MCP has no place for. */
function toExtras(
  manifest: ValidManifest,
  capability: ManifestCapability,
  interfaces: readonly ManifestInterface[],
  pointer: string,
): JsonObject {
  const { category, protocols, idempotent, cost, permissions = [] } = capability
  const { soft_alert_pct, reauthorization_pct, hard_stop_pct } = manifest.trust.budget_guardrails
  return {
    annotations: {
      permissions,
      idempotency: { required: capability.idempotency_key_required },
      sideEffects: capability.side_effect_level,
      requiresApproval: needsApproval(manifest, capability, interfaces),
      budgetGuardrails: { soft_alert_pct, reauthorization_pct, hard_stop_pct },
    },
    category,
    protocols,
    ...dropUndefined({ idempotent, cost }),
    ...manifest.extensions.get(pointer),
  }
}
