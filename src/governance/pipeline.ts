import type { ShareLimits } from '../capability/fair-shares.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Ledger } from './ledger.ts'
import type { Redactor } from './redactor.ts'
import { beginEffect } from './steps/begin-effect.ts'
import { catchEverything } from './steps/catch-everything.ts'
import { type Check, toStep } from './steps/check.ts'
import { checkClock } from './steps/check-clock.ts'
import { type CompareDefinitions, checkDefinition } from './steps/check-definition.ts'
import { checkInput } from './steps/check-input.ts'
import { checkOutput } from './steps/check-output.ts'
import { checkPermissions } from './steps/check-permissions.ts'
import { limitConcurrency } from './steps/limit-concurrency.ts'
import { limitTime } from './steps/limit-time.ts'
import { type OnOperatorFailure, recordAudit } from './steps/record-audit.ts'
import { redactOutcome, redactSecrets } from './steps/redact-secrets.ts'
import { type RepeatWindows, replayRepeats, requireKey } from './steps/replay-repeats.ts'
import { type ApprovalTimes, requireApproval } from './steps/require-approval.ts'
import { spendBudget } from './steps/spend-budget.ts'
import type { Next, Step } from './steps/step.ts'

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
  const { now } = clock
  const { windows, observeOnly } = settings
  /** Every call passes these top to bottom; its outcome comes back bottom to top. */
  const steps: readonly (Step | Check)[] = [
    recordAudit(ledger, now, onOperatorFailure), // first, so that refused calls are recorded too
    catchEverything,
    redactSecrets(governance.redactor), // outside every step that produces text
    checkPermissions, // before any message about the input
    limitConcurrency(settings.concurrency), // before the rate: a call refused here uses no token
    governance.limitRate,
    checkDefinition(governance.compare),
    checkInput,
    requireKey,
    replayRepeats(ledger, windows), // a replay is not charged and needs no second approval
    checkClock(clock, windows), // after replays, which are safe at any time
    spendBudget(ledger), // before the approval, which a budget may require
    requireApproval({
      ledger,
      times: settings.approvals,
      policyDigest: settings.policyDigest,
      isCodeCurrent: governance.isCodeCurrent,
      newId,
    }),
    beginEffect(ledger, windows), // checks all of it again, in the transaction that records it
    onlyForWrites(redactOutcome(governance.redactor)), // stored outcomes are redacted too
    limitTime(settings.timeoutMs), // last, so that waiting for anything above does not count
    checkOutput(settings.maxResultChars),
  ]
  return {
    govern: compose(steps.map((step) => (isCheck(step) ? toStep(step, observeOnly) : step))),
    checks: steps.filter(isCheck),
  }
}

const isCheck = (step: Step | Check): step is Check => typeof step === 'object'

/** Only the outcomes of writes are stored for replay; the outer step redacts all others. */
const onlyForWrites =
  (step: Step): Step =>
  (call, next) =>
    call.capability.effects.writes ? step(call, next) : next(call)

/** Linked once, from the last step to the first: no lookup or allocation of links per call. */
const compose = (steps: readonly Step[]): Next =>
  steps.reduceRight<Next>(
    (next, step) => (call) => step(call, next),
    (call): Promise<Outcome> => call.capability.invoke(call),
  )
