import type { Capability } from '../capability/capability.ts'
import type { ShareLimits } from '../capability/fair-shares.ts'
import {
  type AppliesTo,
  hasBudgets,
  hasPermissions,
  hasRates,
  mayBeRecorded,
  mayDependOnTime,
  mayNeedApproval,
  requiresKey,
  writes,
} from './applies-to.ts'
import { type ChainStep, compileChain, isCheck } from './chain.ts'
import type { Ledger } from './ledger.ts'
import type { Redactor } from './redactor.ts'
import { beginEffect } from './steps/begin-effect.ts'
import type { Check } from './steps/check.ts'
import { checkClock } from './steps/check-clock.ts'
import { type CompareDefinitions, checkDefinition } from './steps/check-definition.ts'
import { checkInput } from './steps/check-input.ts'
import { checkOutput } from './steps/check-output.ts'
import { checkPermissions } from './steps/check-permissions.ts'
import type { Interceptor } from './steps/interceptor.ts'
import { limitConcurrency } from './steps/limit-concurrency.ts'
import { limitTime } from './steps/limit-time.ts'
import { type OnOperatorFailure, recordAudit } from './steps/record-audit.ts'
import { redactSecrets, redactStored } from './steps/redact-secrets.ts'
import {
  type RepeatWindows,
  replayRepeats,
  requireKey,
  unlessRepeated,
} from './steps/replay-repeats.ts'
import { type ApprovalTimes, requireApproval } from './steps/require-approval.ts'
import { spendBudget } from './steps/spend-budget.ts'
import type { Next } from './steps/step.ts'

/** Dependencies of the steps. */
export interface Governance {
  readonly ledger: Ledger
  readonly onOperatorFailure: OnOperatorFailure
  readonly newId: () => string
  readonly compare: CompareDefinitions
  /** Whether the files of the code with this digest are still the ones that were loaded. */
  readonly isCodeCurrent: (code: string) => Promise<boolean>
  /** Removes secrets from results. */
  readonly redactor: Redactor
  /** The running calls. Kept when the policy changes, as the rates are. */
  readonly inFlight: Interceptor
  /** Kept when the policy changes: new buckets would be full. */
  readonly limitRate: Check
  readonly settings: GovernanceSettings
}

export interface GovernanceSettings {
  /** Policy violations are recorded but not enforced. */
  readonly observeOnly: boolean
  /** Default time limit of a call, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum size of a result, in characters of JSON. */
  readonly maxResultChars: number
  /** Calls that run at the same time. */
  readonly concurrency: ShareLimits
  readonly windows: RepeatWindows
  readonly approvals: ApprovalTimes
  /** Digest of the policy settings that apply to every call; approvals cover it. */
  readonly policyDigest: string
}

export interface Pipeline {
  readonly govern: Next
  /** The checks among the steps, in order: `explainCall` rehearses them. */
  readonly checks: readonly Check[]
}

export function createPipeline(governance: Governance): Pipeline {
  const { ledger, newId, settings, onOperatorFailure } = governance
  const { clock } = ledger
  const { windows, observeOnly } = settings
  /** Every call passes these top to bottom; its outcome comes back bottom to top. */
  const steps: readonly (ChainStep | ConditionalStep)[] = [
    governance.inFlight, // first: a shutdown waits for everything below
    recordAudit(ledger, onOperatorFailure), // refused calls are recorded too
    redactSecrets(governance.redactor), // outside every step that produces text
    only(hasPermissions, checkPermissions), // before any message about the input
    limitConcurrency(settings.concurrency), // before the rate: a call refused here uses no token
    only(hasRates, governance.limitRate),
    checkDefinition(governance.compare),
    checkInput,
    only(requiresKey, requireKey),
    only(writes, replayRepeats(ledger, windows)), // a replay is not charged and needs no second approval
    only(mayDependOnTime, unlessRepeated(checkClock(clock, windows), ledger, windows)), // replays are safe at any time
    only(hasBudgets, unlessRepeated(spendBudget(ledger), ledger, windows)), // before the approval, which a budget may require
    only(
      mayNeedApproval,
      requireApproval({
        ledger,
        times: settings.approvals,
        policyDigest: settings.policyDigest,
        isCodeCurrent: governance.isCodeCurrent,
        newId,
      }),
    ),
    only(mayBeRecorded, beginEffect(ledger, windows)), // checks all of it again, in the transaction that records it
    only(writes, redactStored(governance.redactor)), // only outcomes of writes are stored, for replay
    limitTime(settings.timeoutMs), // last, so that waiting for anything above does not count
    checkOutput(settings.maxResultChars),
  ]
  /** One chain for each capability, of the steps that apply to it; linked at its first call. */
  const chains = new WeakMap<Capability, Next>()
  const linkChain = (capability: Capability): Next => {
    const applicable = steps.filter((step) => !isConditional(step) || step.appliesTo(capability))
    const chain = compileChain(applicable.map(toChainStep), observeOnly)
    chains.set(capability, chain)
    return chain
  }
  return {
    govern: (call) => (chains.get(call.capability) ?? linkChain(call.capability))(call),
    checks: steps.map(toChainStep).filter(isCheck),
  }
}

/** A step that some capabilities do not need: what has no budget has no budget step. */
interface ConditionalStep {
  readonly appliesTo: AppliesTo
  readonly step: ChainStep
}

const only = (appliesTo: AppliesTo, step: ChainStep): ConditionalStep => ({ appliesTo, step })

const isConditional = (step: ChainStep | ConditionalStep): step is ConditionalStep =>
  'appliesTo' in step

const toChainStep = (step: ChainStep | ConditionalStep): ChainStep =>
  isConditional(step) ? step.step : step
