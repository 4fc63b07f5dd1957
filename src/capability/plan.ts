import type { Notice } from './outcome.ts'

/** Collected by the steps, committed in one transaction by the step that begins the effect. */
export interface Plan {
  readonly charges?: readonly PlannedCharge[]
  readonly approvalId?: string
  /** Set when a budget requires an approval: its balance, in words. */
  readonly approvalReason?: string
  /** The balance of every budget after this call, in words. */
  readonly budgetTexts?: readonly string[]
  /** Sent with the result. */
  readonly notices?: readonly Notice[]
}

export interface PlannedCharge {
  readonly account: string
  readonly window: string
  readonly amount: number
  readonly unit: string
  /** The highest balance the account may have after this charge. */
  readonly ceiling: number
  /** The balance must stay below the ceiling. */
  readonly isBelowCeiling?: true
}

export const emptyPlan: Plan = Object.freeze({})

/** The data of an audit entry that the steps collect during a call. */
export interface AuditTrail {
  readonly decisions: Decision[]
  /** When the call arrived, in ledger time. */
  startedAt?: number | undefined
  /** SHA-256 of the arguments as canonical JSON (RFC 8785), computed on first use. */
  digest?: string | undefined
  cost?: number | undefined
}

/** One step's decision, for the audit. */
export interface Decision {
  /** Name of the step. */
  readonly step: string
  /** `would_…`: the policy is only observed, and the call went on. */
  readonly decision: 'refused' | 'asked' | 'allowed' | 'would_refuse' | 'would_ask'
  /** Failure code of a refusal. */
  readonly code?: string
  /** Further information, such as who approved. */
  readonly note?: string
}
