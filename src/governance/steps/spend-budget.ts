import type { Call } from '../../capability/call.ts'
import { type BudgetBalance, round, toBalance, toCharge, toNotice } from '../budget.ts'
import { refused } from '../failures.ts'
import type { Ledger } from '../ledger.ts'
import type { Check, Verdict } from './check.ts'

/**
 * Looks at every budget the call would draw on. Below its limit it goes on, perhaps with a notice;
 * above it a human has to agree; far above it the call ends. What is looked at here is reserved
 * later, with everything else, in one transaction that looks again.
 */
export const spendBudget = (ledger: Ledger, budgetNow: () => number): Check => ({
  name: 'budget',
  decide(call, rehearsal) {
    const { budgets } = call.capability.rules
    if (budgets.length === 0) return { passes: call }
    const now = budgetNow()
    const standings = budgets.flatMap((budget) => {
      const charge = toCharge(budget, call, now)
      if (!charge) return []
      return [toBalance(budget, charge, ledger.read.spent(charge.account, charge.window))]
    })
    return toVerdict(call, standings, rehearsal)
  },
})

function toVerdict(call: Call, standings: readonly BudgetBalance[], rehearsal: boolean): Verdict {
  const stopped = standings.find(({ state }) => state === 'stop')
  if (stopped) {
    const charges = standings.map(({ charge }) => ({ ...charge, ceiling: Number.MAX_VALUE }))
    const otherwise = { ...call, plan: { ...call.plan, charges } }
    return { ends: exceeded(call, stopped), otherwise }
  }
  const charges = standings.map(({ charge, budget, state }) =>
    state === 'reauthorise'
      ? { ...charge, ceiling: (budget.limit * budget.thresholds.stop) / 100 }
      : charge,
  )
  const notices = standings.filter(({ state }) => state !== 'silent').map(toNotice)
  const agreement = standings.find(({ state }) => state === 'reauthorise')
  return {
    passes: {
      ...call,
      plan: {
        ...call.plan,
        charges,
        standings: standings.map((one) => toNotice(one).text),
        ...(notices.length > 0 && { notices }),
        ...(agreement && { reauthorise: toNotice(agreement).text }),
      },
    },
    ...(agreement
      ? { note: 'over budget, needs an approval' }
      : rehearsal && standings.length > 0
        ? { note: `would charge: ${standings.map((one) => toNotice(one).text).join(' ')}` }
        : {}),
  }
}

export function exceeded(call: Call, { budget, after, charge }: BudgetBalance) {
  const { limit, unit, per, window } = budget
  const left = Math.max(0, round(limit - (after - charge.amount)))
  const message = `${call.capability.name} is over its budget: ${left} of ${limit} ${unit} per ${per} and ${window} are left, and it needs ${charge.amount}. ${hint(window)}`
  return refused('budget_exceeded', message, { details: { limit, unit, left, per, window } })
}

const hint = (window: 'call' | 'day' | 'month'): string =>
  window === 'call'
    ? 'Ask for something smaller, or have the operator raise the limit.'
    : `It begins anew with the next ${window} (UTC); the operator can raise the limit.`
