import type { Call } from '../../capability/call.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { type BudgetBalance, roundAmount, toBalance, toCharge, toNotice } from '../budget.ts'
import { refused } from '../failures.ts'
import type { Ledger } from '../ledger.ts'
import type { Check, CheckMode, Verdict } from './check.ts'

/**
 * Checks every budget the call draws on: below the limit it passes, perhaps with a notice; above it
 * a human must approve; above the stop threshold it is refused. `beginEffect` checks again and
 * charges, in one transaction.
 */
export const spendBudget = (ledger: Ledger): Check => ({
  name: 'budget',
  decide(call, mode) {
    const { budgets } = call.capability.rules
    if (budgets.length === 0) return { passes: call }
    const now = ledger.clock.calendarNow()
    const balances = budgets.flatMap((budget) => {
      const charge = toCharge(budget, call, now)
      if (!charge) return []
      return [toBalance(budget, charge, ledger.read.spent(charge.account, charge.window))]
    })
    return toVerdict(call, balances, mode)
  },
})

function toVerdict(call: Call, balances: readonly BudgetBalance[], mode: CheckMode): Verdict {
  const stoppedBalance = balances.find(({ state }) => state === 'stop')
  if (stoppedBalance) {
    const charges = balances.map(({ charge }) => ({ ...charge, ceiling: Number.MAX_VALUE }))
    const continuesAs = { ...call, plan: { ...call.plan, charges } }
    return { ends: budgetExceeded(call, stoppedBalance), continuesAs }
  }
  const charges = balances.map(({ charge, budget, state }) =>
    state === 'reauthorise'
      ? { ...charge, ceiling: (budget.limit * budget.thresholds.stop) / 100 }
      : charge,
  )
  const notices = balances.filter(({ state }) => state !== 'silent').map(toNotice)
  const texts = balances.map((balance) => toNotice(balance).text)
  const overLimit = balances.find(({ state }) => state === 'reauthorise')
  const plan = dropUndefined({
    ...call.plan,
    charges,
    budgetTexts: texts,
    notices: notices.length > 0 ? notices : call.plan.notices,
    approvalReason: overLimit ? toNotice(overLimit).text : call.plan.approvalReason,
  })
  const note = overLimit
    ? 'over budget, needs an approval'
    : mode !== 'enforce' && texts.length > 0
      ? `would charge: ${texts.join(' ')}`
      : undefined
  return dropUndefined({ passes: { ...call, plan }, note })
}

function budgetExceeded(call: Call, { budget, after, charge }: BudgetBalance) {
  const { limit, unit, per, window } = budget
  const remaining = Math.max(0, roundAmount(limit - (after - charge.amount)))
  const { stop, inclusive } = budget.thresholds
  const message = `${call.capability.name} is over its budget: ${remaining} of ${limit} ${unit} per ${per} and ${window} are left, and it needs ${charge.amount}. Calls ${inclusive ? 'from' : 'above'} ${stop} % of the budget are refused. ${toAdvice(window)}`
  return refused('budget_exceeded', message, {
    details: { limit, unit, left: remaining, per, window },
  })
}

const toAdvice = (window: 'call' | 'day' | 'month'): string =>
  window === 'call'
    ? 'Ask for something smaller, or have the operator raise the limit.'
    : `It resets with the next ${window} (UTC); the operator can raise the limit.`
