import type { Call, Notice, PlannedCharge } from '../capability/call.ts'
import type { Budget } from '../capability/rules.ts'

/** Where one budget would stand after this call. */
export interface BudgetBalance {
  readonly budget: Budget
  readonly charge: PlannedCharge
  readonly after: number
  readonly state: 'silent' | 'alert' | 'reauthorise' | 'stop'
}

/** The one state machine of every budget, whatever source it came from. */
export function toBalance(budget: Budget, charge: PlannedCharge, spent: number): BudgetBalance {
  const { limit, thresholds } = budget
  const after = round(spent + charge.amount)
  const reaches = (percent: number) => round(after * 100) >= round(limit * percent)
  const exceeds = (percent: number) => round(after * 100) > round(limit * percent)
  // A budget of nothing is used up before it begins.
  const state = exceeds(thresholds.stop)
    ? 'stop'
    : exceeds(thresholds.reauthorise)
      ? 'reauthorise'
      : reaches(thresholds.alert) && limit > 0
        ? 'alert'
        : 'silent'
  return { budget, charge, after, state }
}

/** What a call would draw on a budget: one call, or what it is expected to cost. */
export function toCharge(budget: Budget, call: Call, now: number): PlannedCharge | undefined {
  const { cost } = call.capability.rules
  const { reauthorise, stop } = budget.thresholds
  const amount = budget.unit === 'calls' ? 1 : cost?.unit === budget.unit ? cost.amount : 0
  if (amount === 0) return undefined
  return {
    account: `${budget.id} ${accountOf(budget, call)}`,
    window: windowOf(budget, call, now),
    amount,
    unit: budget.unit,
    ceiling: (budget.limit * Math.min(reauthorise, stop)) / 100,
  }
}

function accountOf({ per }: Budget, { caller, capability, address }: Call): string {
  switch (per) {
    case 'caller':
      return caller.subject
    case 'source':
      return capability.origin.source
    case 'capability':
      return address
  }
}

function windowOf({ window }: Budget, call: Call, now: number): string {
  const day = new Date(now).toISOString().slice(0, 10)
  switch (window) {
    case 'call':
      return call.id
    case 'day':
      return day
    case 'month':
      return day.slice(0, 7)
  }
}

export function toNotice({ budget, after, state }: BudgetBalance): Notice {
  const { limit, unit, per, window } = budget
  const percent = Math.floor((after * 100) / limit)
  const verb = state === 'stop' ? 'would be' : 'are'
  const text = `Budget: ${round(after)} of ${limit} ${unit} per ${per} and ${window} ${verb} used (${percent} %).`
  return { about: 'budget', text, data: { state, unit, limit, used: round(after), per, window } }
}

/** Sums of decimal fractions are not what people expect. */
export const round = (amount: number): number => Math.round(amount * 1e6) / 1e6
