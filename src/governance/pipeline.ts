import type { Outcome } from '../capability/outcome.ts'
import type { Ledger } from './ledger.ts'
import { beginEffect } from './steps/begin-effect.ts'
import { catchEverything } from './steps/catch-everything.ts'
import { type Check, toStep } from './steps/check.ts'
import { checkClock } from './steps/check-clock.ts'
import { type CompareDefinitions, checkDefinition } from './steps/check-definition.ts'
import { checkInput } from './steps/check-input.ts'
import { checkOutput } from './steps/check-output.ts'
import { checkPermissions } from './steps/check-permissions.ts'
import { limitRate } from './steps/limit-rate.ts'
import { limitTime } from './steps/limit-time.ts'
import { type OnOperatorFailure, recordAudit } from './steps/record-audit.ts'
import { redactSecrets } from './steps/redact-secrets.ts'
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
  /** Values that must never be part of a result. */
  readonly secrets: readonly string[]
  readonly settings: GovernanceSettings
}

export interface GovernanceSettings {
  /** Policy violations are recorded but not enforced. */
  readonly observeOnly: boolean
  /** Default time limit of a call, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum size of a result, in characters of JSON. */
  readonly maxResultChars: number
  readonly windows: RepeatWindows
  readonly approvals: ApprovalTimes
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
    ...redactSecrets(governance.secrets), // outside every step that produces text
    checkPermissions, // before any message about the input
    limitRate(now),
    checkDefinition(governance.compare),
    checkInput,
    requireKey,
    replayRepeats(ledger, windows), // a replay is not charged and needs no second approval
    checkClock(clock, windows), // after replays, which are safe at any time
    spendBudget(ledger), // before the approval, which a budget may require
    requireApproval(ledger, settings.approvals, newId),
    beginEffect(ledger, windows), // checks all of it again, in the transaction that records it
    ...redactSecrets(governance.secrets).map(onlyForWrites), // stored outcomes are redacted too
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
