import type { Outcome } from '../capability/outcome.ts'
import type { Ledger } from './ledger.ts'
import { beginEffect } from './steps/begin-effect.ts'
import { catchEverything } from './steps/catch-everything.ts'
import { type Check, toStep } from './steps/check.ts'
import { type Compare, checkDefinition } from './steps/check-definition.ts'
import { checkInput } from './steps/check-input.ts'
import { checkOutput } from './steps/check-output.ts'
import { checkPermissions } from './steps/check-permissions.ts'
import { limitRate } from './steps/limit-rate.ts'
import { limitTime } from './steps/limit-time.ts'
import { type OnFault, recordAudit } from './steps/record-audit.ts'
import { type RepeatWindows, replayRepeats, requireKey } from './steps/replay-repeats.ts'
import { type ApprovalTimes, requireApproval } from './steps/require-approval.ts'
import { spendBudget } from './steps/spend-budget.ts'
import type { Next, Step } from './steps/step.ts'
import { withholdSecrets } from './steps/withhold-secrets.ts'

/** What the steps need from outside. */
export interface Governance {
  readonly ledger: Ledger
  readonly onFault: OnFault
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The same, but nobody can set it: it does not jump while this process lives. */
  readonly steadyNow: () => number
  readonly newId: () => string
  readonly compare: Compare
  /** Values that must never be part of an answer. */
  readonly secrets: readonly string[]
  readonly settings: Settings
}

export interface Settings {
  /** Policy is only written down, not enforced. */
  readonly observes: boolean
  /** Milliseconds a call may take where its capability does not say. */
  readonly timeout: number
  /** How large an answer may be, in characters of JSON. */
  readonly resultSize: number
  readonly windows: RepeatWindows
  readonly approvals: ApprovalTimes
}

export interface Pipeline {
  readonly govern: Next
  /** The checks in order, for explaining what they would say. */
  readonly checks: readonly Check[]
}

/** Every call passes these top to bottom; its outcome comes back bottom to top. */
export function createPipeline(governance: Governance): Pipeline {
  const { ledger, now, steadyNow, settings, onFault } = governance
  const { windows, observes } = settings
  const permissions = checkPermissions
  const definition = checkDefinition(governance.compare)
  const rate = limitRate(steadyNow)
  const repeats = replayRepeats(ledger, windows, now)
  const budget = spendBudget(ledger, steadyNow)
  const approval = requireApproval(ledger, settings.approvals, governance)
  const steps = [
    recordAudit(ledger, now, onFault), // first, so that refused calls are recorded too
    catchEverything,
    ...withholdSecrets(governance.secrets), // outside all that makes text
    toStep(permissions, observes), // before anything is said about the input
    toStep(counting(rate), observes),
    toStep(definition, false),
    toStep(checkInput, false),
    toStep(requireKey, observes),
    toStep(repeats, false), // a repeated call costs nothing and needs nobody's approval again
    toStep(budget, observes), // before the approval, which may be about money
    toStep(approval, observes),
    beginEffect(ledger, windows, now), // looks at all of it again, and writes it down
    ...withholdSecrets(governance.secrets).map(whereItIsKept),
    limitTime(settings.timeout), // last, so that waiting for anything above does not count
    checkOutput(settings.resultSize),
  ]
  return {
    govern: compose(steps),
    checks: [permissions, rate, definition, checkInput, requireKey, repeats, budget, approval],
  }
}

/** Counted even where it is only observed: else nothing would ever be too often. */
const counting = (check: Check): Check => ({
  ...check,
  decide: (call) => check.decide(call, false),
})

/** Only what has effects is kept for a repeat; everything else is struck out on its way out. */
const whereItIsKept =
  (step: Step): Step =>
  (call, next) =>
    call.capability.effects.writes ? step(call, next) : next(call)

/** Linked once, from the last step up: nothing is looked up while a call passes. */
const compose = (steps: readonly Step[]): Next =>
  steps.reduceRight<Next>(
    (next, step) => (call) => step(call, next),
    (call): Promise<Outcome> => call.capability.invoke(call),
  )
