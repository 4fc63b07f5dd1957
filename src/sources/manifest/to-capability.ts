import type { Origin } from '../../capability/capability.ts'
import type { Effects } from '../../capability/effects.ts'
import type { JsonObject } from '../../capability/json.ts'
import { type Budget, noRules, type Rate, type Rules } from '../../capability/rules.ts'
import type { ManifestCapability, ManifestInterface } from './reading/manifest-shape.ts'
import type { Indexed, ValidManifest } from './reading/read-manifest.ts'

/** A capability as the manifest declares it: everything but how it is called. */
export interface CapabilityDeclaration {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly effects: Effects
  readonly rules: Rules
  readonly origin: Origin
  readonly extras: JsonObject
}

/** The same bytes for the same manifest: no clock, no order of hashes, nothing from outside. */
export function toCapability(
  manifest: ValidManifest,
  capability: Indexed<ManifestCapability>,
  /** The one it is called over, where there is one. */
  by: ManifestInterface | undefined,
  source: string,
): CapabilityDeclaration {
  const pointer = `/capabilities/${capability.index}`
  const doors = [findAgentInterface(manifest, capability), by].filter((one) => one !== undefined)
  return {
    name: capability.id,
    title: capability.name,
    description: capability.description,
    effects: toEffects(capability, by),
    rules: toRules(manifest, capability, doors, source),
    origin: { source, pointer },
    extras: toExtras(manifest, capability, doors, pointer),
  }
}

/** The interface a client of the agent itself would come through. */
export function findAgentInterface(
  { interfaces }: ValidManifest,
  { protocols }: ManifestCapability,
): Indexed<ManifestInterface> | undefined {
  const offered = new Set<string>(protocols)
  const open = interfaces.filter(({ protocol }) => offered.has(protocol))
  return open.find(({ protocol }) => protocol === 'MCP') ?? open[0]
}

function toEffects(capability: ManifestCapability, by: ManifestInterface | undefined): Effects {
  const { side_effect_level, idempotent } = capability
  return {
    writes: side_effect_level !== 'none',
    irreversible: side_effect_level === 'high',
    repeatable: side_effect_level === 'none' || idempotent === true,
    reachesOut: by !== undefined && by.protocol !== 'INTERNAL',
  }
}

function toRules(
  manifest: ValidManifest,
  capability: ManifestCapability,
  doors: readonly ManifestInterface[],
  source: string,
): Rules {
  const { runtime, requirements } = manifest
  const cost = capability.cost?.estimated_cost
  return {
    ...noRules,
    permissions: [
      ...new Set([
        ...(capability.permissions ?? []),
        ...doors.flatMap((door) => (door.privileged ? (door.permissions ?? []) : [])),
      ]),
    ],
    approval: needsApproval(manifest, capability, doors),
    idempotencyKey: capability.idempotency_key_required,
    ...(cost !== undefined && {
      cost: { amount: cost, unit: currencyOf(requirements?.budget?.currency) },
    }),
    budgets: toBudgets(manifest, source),
    rates: [...new Set(doors)].flatMap((door) => toRates(door, source)),
    timeout: runtime.timeout_seconds * 1000,
  }
}

const currencyOf = (currency: string | undefined): string => currency ?? 'USD'

/**
 * Every sample manifest asks for approvals, also those that only read: taken literally, nothing
 * could be called without a human. It is meant for what is privileged or high-risk.
 */
function needsApproval(
  { trust: { policy } }: ValidManifest,
  { id, side_effect_level, permissions = [] }: ManifestCapability,
  doors: readonly ManifestInterface[],
): boolean {
  const named = new Set(policy.human_approval_actions ?? [])
  if (named.has(id) || permissions.some((permission) => named.has(permission))) return true
  const risky = side_effect_level === 'high' || doors.some(({ privileged }) => privileged)
  return policy.high_risk_approval_required && risky
}

function toBudgets({ requirements, trust }: ValidManifest, source: string): Budget[] {
  const { currency, per_task_limit, monthly_limit } = requirements?.budget ?? {}
  const { soft_alert_pct, reauthorization_pct, hard_stop_pct } = trust.budget_guardrails
  const common = {
    unit: currencyOf(currency),
    per: 'source' as const,
    thresholds: { alert: soft_alert_pct, reauthorise: reauthorization_pct, stop: hard_stop_pct },
  }
  return [
    ...(per_task_limit === undefined
      ? []
      : [{ ...common, id: `${source} per task`, limit: per_task_limit, window: 'call' as const }]),
    ...(monthly_limit === undefined
      ? []
      : [{ ...common, id: `${source} monthly`, limit: monthly_limit, window: 'month' as const }]),
  ]
}

function toRates(by: ManifestInterface, source: string): Rate[] {
  if (!by.rate_limit) return []
  const calls = by.rate_limit.requests_per_minute
  // One interface has one limit, whoever comes through it.
  return [{ id: `${source} interface ${by.name}`, calls, seconds: 60, shared: true }]
}

/** The literal keys the mapping asks for, and what has no field in MCP at all. */
function toExtras(
  manifest: ValidManifest,
  capability: ManifestCapability,
  doors: readonly ManifestInterface[],
  pointer: string,
): JsonObject {
  const { category, protocols, idempotent, cost, permissions = [] } = capability
  const { soft_alert_pct, reauthorization_pct, hard_stop_pct } = manifest.trust.budget_guardrails
  return {
    annotations: {
      permissions,
      idempotency: { required: capability.idempotency_key_required },
      sideEffects: capability.side_effect_level,
      requiresApproval: needsApproval(manifest, capability, doors),
      budgetGuardrails: { soft_alert_pct, reauthorization_pct, hard_stop_pct },
    },
    category,
    protocols,
    ...(idempotent !== undefined && { idempotent }),
    ...(cost && { cost }),
    ...manifest.extensions.get(pointer),
  }
}
