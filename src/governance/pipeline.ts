import type { Outcome } from '../capability/outcome.ts'
import { catchEverything } from './catch-everything.ts'
import { checkInput } from './check-input.ts'
import { checkOutput } from './check-output.ts'
import { checkPermissions } from './check-permissions.ts'
import { limitTime } from './limit-time.ts'
import { type Audit, recordAudit } from './record-audit.ts'
import type { Next, Step } from './step.ts'
import { withholdSecrets } from './withhold-secrets.ts'

/** What the steps need from outside. */
export interface Governance {
  readonly audit: Audit
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Values that must never be part of an answer. */
  readonly secrets: readonly string[]
  readonly limits: Limits
}

export interface Limits {
  /** Milliseconds a call may take where its capability does not say. */
  readonly timeout: number
  /** How large an answer may be, in characters of JSON. */
  readonly resultSize: number
}

/** Every call passes these top to bottom; its outcome comes back bottom to top. */
export function createPipeline(governance: Governance): Next {
  const { audit, now, secrets, limits } = governance
  return compose([
    recordAudit(audit, now), // first, so that refused calls are recorded too
    catchEverything,
    ...withholdSecrets(secrets), // outside all that makes text
    checkPermissions, // before anything is said about the input
    checkInput,
    // Budgets, approvals and repeats stand here: they need valid input, and nothing has run yet.
    limitTime(limits.timeout), // last, so that waiting for an answer does not count
    checkOutput(limits.resultSize),
  ])
}

/** Linked once, from the last step up: nothing is looked up while a call passes. */
const compose = (steps: readonly Step[]): Next =>
  steps.reduceRight<Next>(
    (next, step) => (call) => step(call, next),
    (call): Promise<Outcome> => call.capability.invoke(call),
  )
