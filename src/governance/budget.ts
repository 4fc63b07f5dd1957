import type { Call } from '../capability/call.ts'
import type { Notice } from '../capability/outcome.ts'
import type { PlannedCharge } from '../capability/plan.ts'
import type { Budget } from '../capability/rules.ts'
import { dropUndefined } from '../json/drop-undefined.ts'

/** The balance of one budget after a call. */
export interface BudgetBalance {
  readonly budget: Budget
  readonly charge: PlannedCharge
  readonly after: number
  readonly state: 'silent' | 'alert' | 'reauthorise' | 'stop'
}

/** Decides the state of a budget: the same thresholds for budgets of all sources. */
export function toBalance(budget: Budget, charge: PlannedCharge, spent: number): BudgetBalance {
  const { limit, thresholds } = budget
  const { inclusive = false } = thresholds
  const after = spent + charge.amount
  const passes = (percent: number, isInclusive: boolean) =>
    passesCeiling(after * 100, limit * percent, isInclusive)
  const state = passes(thresholds.stop, inclusive)
    ? 'stop'
    : passes(thresholds.reauthorise, inclusive)
      ? 'reauthorise'
      : // A limit of 0 has no percentage to alert about.
        passes(thresholds.alert, true) && limit > 0
        ? 'alert'
        : 'silent'
  return { budget, charge, after, state }
}

/** The charge of a call on a budget: one call, or the expected cost in the budget's unit. */
export function toCharge(budget: Budget, call: Call, now: number): PlannedCharge | undefined {
  const { cost } = call.capability.rules
  const { reauthorise, stop, inclusive } = budget.thresholds
  const amount = budget.unit === 'calls' ? 1 : cost?.unit === budget.unit ? cost.amount : 0
  if (amount === 0) return undefined
  return dropUndefined({
    account: `${budget.id} ${toAccount(budget, call)}`,
    window: toWindow(budget, call, now),
    amount,
    unit: budget.unit,
    ceiling: (budget.limit * Math.min(reauthorise, stop)) / 100,
    isBelowCeiling: inclusive || undefined,
  })
}

function toAccount({ per }: Budget, { caller, capability, address }: Call): string {
  switch (per) {
    case 'caller':
      return caller.subject
    case 'source':
      return capability.origin.source
    case 'capability':
      return address
  }
}

function toWindow({ window }: Budget, call: Call, now: number): string {
  switch (window) {
    case 'call':
      return call.id
    case 'day':
      return toDay(now)
    case 'month':
      return toDay(now).slice(0, 7)
  }
}

const msPerDay = 86_400_000
let latestDay = { number: Number.NaN, text: '' }

/** The date in UTC. Cached: `toISOString` would take longer than the rest of the check. */
function toDay(now: number): string {
  const number = Math.floor(now / msPerDay)
  if (number !== latestDay.number)
    latestDay = { number, text: new Date(now).toISOString().slice(0, 10) }
  return latestDay.text
}

export function toNotice({ budget, after, state }: BudgetBalance): Notice {
  const { limit, unit, per, window } = budget
  const percent = Math.floor(roundAmount((after * 100) / limit))
  const verb = state === 'stop' ? 'would be' : 'are'
  const used = roundAmount(after)
  const text = `Budget: ${used} of ${limit} ${unit} per ${per} and ${window} ${verb} used (${percent} %).`
  return { about: 'budget', text, data: { state, unit, limit, used, per, window } }
}

/** Relative, and larger than the rounding error of a sum of a million amounts. */
const tolerance = 1e-9

/**
 * Whether an amount is above a ceiling, or with `isInclusive` at it. Sums of binary floats are not exact: an
 * amount counts as equal to a ceiling that it misses by rounding errors, such as 0.1 + 0.2 and 0.3.
 */
export const passesCeiling = (amount: number, ceiling: number, isInclusive: boolean): boolean =>
  isInclusive ? amount >= ceiling * (1 - tolerance) : amount > ceiling * (1 + tolerance)

/** Rounds to six decimals for texts, because sums of binary floats like 0.1 + 0.2 are not exact. */
export const roundAmount = (amount: number): number => Math.round(amount * 1e6) / 1e6
