import type { Call } from '../../src/capability/call.ts'
import type { Capability } from '../../src/capability/capability.ts'
import type { Effects } from '../../src/capability/effects.ts'
import { done, type Outcome } from '../../src/capability/outcome.ts'
import type { Rules } from '../../src/capability/rules.ts'
import { aCapability } from './builders.ts'

export const movesMoney: Effects = {
  writes: true,
  irreversible: true,
  repeatable: false,
  reachesOut: true,
}

export interface PaymentParts extends Partial<Omit<Capability, 'rules'>> {
  readonly rules?: Partial<Rules>
}

/** A capability that must not run twice, and the calls that reached it. */
export function aPayment({ invoke, ...rest }: PaymentParts = {}): {
  readonly pay: Capability
  readonly ran: readonly Call[]
} {
  const ran: Call[] = []
  const pay = aCapability({
    name: 'pay',
    effects: movesMoney,
    ...rest,
    invoke: async (call) => {
      ran.push(call)
      return invoke ? invoke(call) : done({ receipt: ran.length })
    },
  })
  return { pay, ran }
}

/** The outcome as one word: `done`, `asking`, or the code of the failure. */
export const verdictOf = (outcome: Outcome): string =>
  outcome.kind === 'failed' ? outcome.failure.code : outcome.kind

/** Counts outcomes by verdict. */
export function countVerdicts(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) counts[verdictOf(outcome)] = (counts[verdictOf(outcome)] ?? 0) + 1
  return counts
}

export const detailsOf = (outcome: Outcome): Readonly<Record<string, unknown>> =>
  (outcome.kind === 'failed' ? outcome.failure.details : undefined) ?? {}
