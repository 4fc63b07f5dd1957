import type { Capability } from '../../capability/capability.ts'
import type { Effects } from '../../capability/effects.ts'
import type { Budget, Rate, Rules } from '../../capability/rules.ts'
import { type Effect, type Finding, opposite, pair, toEffect } from './difference.ts'

/** What a call may do to the world, who may make it, and who watches. */
export const diffRules = (before: Capability, now: Capability): Finding[] => [
  ...diffSwitches(before, now),
  ...diffPermissions(before.rules.permissions, now.rules.permissions),
  ...diffApprovers(before.rules, now.rules),
  ...diffCost(before.rules, now.rules),
  ...diffBudgets(before.rules.budgets, now.rules.budgets),
  ...diffRates(before.rules.rates, now.rules.rates),
  ...diffTimeout(before.rules.timeout, now.rules.timeout),
]

interface Switch {
  readonly pointer: string
  readonly is: (capability: Capability) => boolean
  /** What it means that it is on now, and that it is off now. */
  readonly on: Turn
  readonly off: Turn
}

type Turn = readonly [kind: string, effect: Effect, breaks: 'breaks' | 'fits', message: string]

const effect = (name: keyof Effects) => ({
  pointer: `/effects/${name}`,
  is: ({ effects }: Capability) => effects[name],
})

const rule = (name: 'approval' | 'idempotencyKey' | 'recordArguments') => ({
  pointer: `/rules/${name}`,
  is: ({ rules }: Capability) => rules[name] === true,
})

// biome-ignore format: table
const switches: readonly Switch[] = [
  { ...effect('writes'),
    on:  ['newly_writing',        'widening',  'fits',   'It changes something now.'],
    off: ['no_longer_writing',    'narrowing', 'fits',   'It no longer changes anything.'] },
  { ...effect('irreversible'),
    on:  ['newly_irreversible',   'widening',  'fits',   'What it does cannot be undone now.'],
    off: ['no_longer_irreversible', 'narrowing', 'fits', 'What it does can be undone now.'] },
  { ...effect('reachesOut'),
    on:  ['newly_reaching_out',   'widening',  'fits',   'It talks to other systems now.'],
    off: ['no_longer_reaching_out', 'narrowing', 'fits', 'It no longer talks to other systems.'] },
  { ...effect('repeatable'),
    on:  ['newly_repeatable',     'neutral',   'fits',   'A second identical call is harmless now.'],
    off: ['no_longer_repeatable', 'neutral',   'breaks', 'A second identical call is no longer harmless.'] },
  { ...rule('approval'),
    on:  ['newly_approved',       'narrowing', 'breaks', 'A human must say yes to every call now.'],
    off: ['newly_unapproved',     'widening',  'fits',   'No human has to say yes any more.'] },
  { ...rule('idempotencyKey'),
    on:  ['key_required',         'narrowing', 'breaks', 'A call must bring an idempotency key now.'],
    off: ['key_optional',         'widening',  'fits',   'A call need not bring an idempotency key any more.'] },
  { ...rule('recordArguments'),
    on:  ['arguments_recorded',   'narrowing', 'fits',   'The audit keeps the arguments now.'],
    off: ['arguments_unrecorded', 'widening',  'fits',   'The audit no longer keeps the arguments.'] },
]

const diffSwitches = (before: Capability, now: Capability): Finding[] =>
  switches.flatMap(({ pointer, is, on, off }) => {
    if (is(before) === is(now)) return []
    const [kind, effect, breaks, message] = is(now) ? on : off
    return [{ pointer, kind, effect, breaking: breaks === 'breaks', message }]
  })

/** Every scope is a condition: one less lets more callers in, one more shuts some out. */
const diffPermissions = (before: readonly string[], now: readonly string[]): Finding[] => [
  ...now
    .filter((scope) => !before.includes(scope))
    .map((scope) => ({
      pointer: '/rules/permissions',
      kind: 'permission_added',
      effect: 'narrowing' as const,
      breaking: true,
      message: `A caller needs ${scope} now.`,
    })),
  ...before
    .filter((scope) => !now.includes(scope))
    .map((scope) => ({
      pointer: '/rules/permissions',
      kind: 'permission_removed',
      effect: 'widening' as const,
      breaking: false,
      message: `A caller no longer needs ${scope}.`,
    })),
]

type Approvers = Rules['approvers']

function diffApprovers(before: Rules, now: Rules): Finding[] {
  const [old, current] = [before.approvers, now.approvers]
  if (showApprovers(old) === showApprovers(current)) return []
  // Where nobody is asked, or was, it makes no difference who would be.
  const effect = before.approval && now.approval ? compareApprovers(old, current) : 'neutral'
  const message = `Who may say yes was ${showApprovers(old)} and is ${showApprovers(current)}.`
  return [
    { pointer: '/rules/approvers', kind: 'approvers_changed', effect, breaking: false, message },
  ]
}

const showApprovers = (approvers: Approvers): string =>
  approvers === undefined
    ? 'whoever sits at the client'
    : approvers === 'others'
      ? 'anybody but the caller'
      : [...approvers].sort().join(', ')

function compareApprovers(before: Approvers, now: Approvers): Effect {
  if (typeof before !== 'object' || typeof now !== 'object')
    return toEffect(toBreadth(before), toBreadth(now))
  const more = now.some((name) => !before.includes(name))
  const fewer = before.some((name) => !now.includes(name))
  return more === fewer ? 'neutral' : more ? 'widening' : 'narrowing'
}

const toBreadth = (approvers: Approvers): number =>
  approvers === undefined ? 2 : approvers === 'others' ? 1 : 0

/** Of a cheaper call, the same budget pays for more. */
function diffCost({ cost: before }: Rules, { cost: now }: Rules): Finding[] {
  const [old, current] = [before?.amount ?? 0, now?.amount ?? 0]
  const sameUnit = !before || !now || before.unit === now.unit
  if (old === current && sameUnit) return []
  const show = (cost: Rules['cost']) => (cost ? `${cost.amount} ${cost.unit}` : 'nothing')
  return [
    {
      pointer: '/rules/cost',
      kind: 'cost_changed',
      effect: sameUnit ? toEffect(current, old) : 'neutral',
      breaking: !sameUnit,
      message: `A call cost ${show(before)} and costs ${show(now)}.`,
    },
  ]
}

function diffBudgets(before: readonly Budget[], now: readonly Budget[]): Finding[] {
  const { both, gone, added } = pair(before, now, ({ id }) => id)
  return [
    ...gone.map((budget) => removed('budget', showBudget(budget))),
    ...added.map((budget) => put('budget', showBudget(budget))),
    ...both.flatMap(([old, current]) => diffBudget(old, current)),
  ]
}

const showBudget = ({ limit, unit, per, window }: Budget): string =>
  `${limit} ${unit} per ${per} and ${window}`

const windows = ['call', 'day', 'month']

/** What can be ordered, and by what; more of it lets more happen. */
const amounts: readonly (readonly [name: string, of: (budget: Budget) => number])[] = [
  ['limit', ({ limit }) => limit],
  // The same amount, for a longer time, is less.
  ['window', ({ window }) => -windows.indexOf(window)],
  ['alert', ({ thresholds }) => thresholds.alert],
  ['reauthorise', ({ thresholds }) => thresholds.reauthorise],
  ['stop', ({ thresholds }) => thresholds.stop],
]

function diffBudget(before: Budget, now: Budget): Finding[] {
  const was = `${showBudget(before)} became ${showBudget(now)}`
  const incomparable = before.unit !== now.unit || before.per !== now.per
  return [
    ...(incomparable ? [unordered('budget', `The budget of ${was}.`)] : []),
    ...amounts.flatMap(([name, of]) => {
      const effect = toEffect(of(before), of(now))
      return effect === 'neutral'
        ? []
        : [
            changed(
              'budget',
              effect,
              `The budget of ${was}: its ${name} is ${comparative[effect]}.`,
            ),
          ]
    }),
  ]
}

const comparative = { widening: 'looser', narrowing: 'tighter', neutral: 'other' }

function diffRates(before: readonly Rate[], now: readonly Rate[]): Finding[] {
  const { both, gone, added } = pair(before, now, ({ id }) => id)
  return [
    ...gone.map((rate) => removed('rate', showRate(rate))),
    ...added.map((rate) => put('rate', showRate(rate))),
    ...both.flatMap(([old, current]) => {
      const steady = toEffect(old.calls / old.seconds, current.calls / current.seconds)
      // At the same pace, more calls over more time are a longer burst.
      const effect = steady === 'neutral' ? toEffect(old.calls, current.calls) : steady
      return effect === 'neutral'
        ? []
        : [changed('rate', effect, `The rate of ${showRate(old)} became ${showRate(current)}.`)]
    }),
  ]
}

const showRate = ({ calls, seconds }: Rate): string => `${calls} calls in ${seconds} s`

function diffTimeout(before: number | undefined, now: number | undefined): Finding[] {
  if (before === now) return []
  const show = (limit: number | undefined) =>
    limit === undefined ? "the operator's limit" : `${limit} ms`
  // What the operator's limit is, a capability does not know.
  const effect = before === undefined || now === undefined ? 'neutral' : toEffect(before, now)
  const message = `A call was stopped after ${show(before)} and is after ${show(now)}.`
  return [{ pointer: '/rules/timeout', kind: 'timeout_changed', effect, breaking: false, message }]
}

/** How much and how often does not decide whether a call is understood: limits never break. */
type Limit = 'budget' | 'rate'

const changed = (limit: Limit, effect: Effect, message: string): Finding => ({
  pointer: `/rules/${limit}s`,
  kind: `${limit}_${effect === 'widening' ? 'raised' : 'lowered'}`,
  effect,
  breaking: false,
  message,
})

const put = (limit: Limit, what: string): Finding => ({
  ...changed(limit, 'narrowing', `There is a ${limit} now: ${what}.`),
  kind: `${limit}_added`,
})

const removed = (limit: Limit, what: string): Finding => ({
  ...changed(limit, opposite.narrowing, `There is no ${limit} of ${what} any more.`),
  kind: `${limit}_removed`,
})

/** Nobody can say which of the two allows more: somebody should look. */
const unordered = (limit: Limit, message: string): Finding => ({
  ...changed(limit, 'neutral', message),
  kind: `${limit}_changed`,
  breaking: true,
})
