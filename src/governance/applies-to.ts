import type { Capability } from '../capability/capability.ts'

/**
 * Whether calls of a capability can need a step. Capabilities are immutable, and a changed policy makes new
 * ones. True in doubt: what depends on the call is decided by the step itself.
 */
export type AppliesTo = (capability: Capability) => boolean

export const writes: AppliesTo = ({ effects }) => effects.writes

export const hasPermissions: AppliesTo = ({ rules }) => rules.permissions.length > 0

export const hasRates: AppliesTo = ({ rules }) => rules.rates.length > 0

export const hasBudgets: AppliesTo = ({ rules }) => rules.budgets.length > 0

export const requiresKey: AppliesTo = ({ effects, rules }) => effects.writes && rules.idempotencyKey

/** A budget may require an approval. */
export const mayNeedApproval: AppliesTo = (capability) =>
  capability.rules.approval || hasBudgets(capability)

/** Approvals expire, budgets have days, and keys and duplicates of writes are remembered for a time. */
export const mayDependOnTime: AppliesTo = (capability) =>
  writes(capability) || mayNeedApproval(capability) || capability.rules.cost !== undefined

/** Calls that write, charge a budget or use an approval are recorded in the ledger. */
export const mayBeRecorded: AppliesTo = (capability) =>
  writes(capability) || mayNeedApproval(capability)
