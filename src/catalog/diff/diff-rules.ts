import type { Capability } from '../../capability/capability.ts'
import type { Effects } from '../../capability/effects.ts'
import type { Budget, Rate, Rules } from '../../capability/rules.ts'
import {
  type Effect,
  type Finding,
  opposite,
  pairById,
  reviewAdvice,
  toEffect,
} from './difference.ts'

/** Compares effects and rules: what calls may do, who may make them, and which limits apply. */
export const diffRules = (before: Capability, after: Capability): Finding[] => [
  ...diffSwitches(before, after),
  ...diffPermissions(before.rules.permissions, after.rules.permissions),
  ...diffApprovers(before.rules, after.rules),
  ...diffCost(before.rules, after.rules),
  ...diffBudgets(before.rules.budgets, after.rules.budgets),
  ...diffRates(before.rules.rates, after.rules.rates),
  ...diffTimeout(before.rules.timeout, after.rules.timeout),
]

interface Switch {
  readonly pointer: string
  readonly is: (capability: Capability) => boolean
  /** The findings when it was switched on, and off. */
  readonly on: SwitchFinding
  readonly off: SwitchFinding
  /** The message when it was switched off by a declaration alone, which takes oversight away: that is widening. */
  readonly undeclared?: string
}

type SwitchFinding = readonly [
  kind: string,
  effect: Effect,
  breaks: 'breaks' | 'fits',
  message: string,
]

const effect = (name: keyof Effects) => ({
  pointer: `/effects/${name}`,
  is: ({ effects }: Capability) => effects[name],
})

const rule = (name: 'approval' | 'idempotencyKey' | 'recordArguments' | 'repeatsAreMeant') => ({
  pointer: `/rules/${name}`,
  is: ({ rules }: Capability) => rules[name] === true,
})

// biome-ignore format: table
const switches: readonly Switch[] = [
  { ...effect('writes'),
    on:  ['newly_writing',        'widening',  'fits',   'It now has side effects.'],
    off: ['no_longer_writing',    'narrowing', 'fits',   'It no longer has side effects.'],
    undeclared: 'It is no longer declared as having side effects: keys, the detection of duplicates and rules for writes no longer apply.' },
  { ...effect('irreversible'),
    on:  ['newly_irreversible',   'widening',  'fits',   'Its effects can no longer be undone.'],
    off: ['no_longer_irreversible', 'narrowing', 'fits', 'Its effects can now be undone.'],
    undeclared: 'Its effects are no longer declared as irreversible.' },
  { ...effect('reachesOut'),
    on:  ['newly_reaching_out',   'widening',  'fits',   'It now talks to other systems.'],
    off: ['no_longer_reaching_out', 'narrowing', 'fits', 'It no longer talks to other systems.'] },
  { ...effect('repeatable'),
    on:  ['newly_repeatable',     'neutral',   'fits',   'It is now idempotent: a retry is safe.'],
    off: ['no_longer_repeatable', 'neutral',   'breaks', 'It is no longer idempotent: a retry may have effects.'] },
  { ...rule('approval'),
    on:  ['newly_approved',       'narrowing', 'breaks', 'Every call now requires human approval.'],
    off: ['newly_unapproved',     'widening',  'fits',   'Calls no longer require human approval.'] },
  { ...rule('idempotencyKey'),
    on:  ['key_required',         'narrowing', 'breaks', 'Calls now require an idempotency key.'],
    off: ['key_optional',         'widening',  'fits',   'Calls no longer require an idempotency key.'] },
  { ...rule('repeatsAreMeant'),
    on:  ['duplicates_allowed',   'widening',  'fits',   'Identical calls are no longer detected as duplicates.'],
    off: ['duplicates_detected',  'narrowing', 'breaks', 'Identical calls are now detected as duplicates.'] },
  { ...rule('recordArguments'),
    on:  ['arguments_recorded',   'narrowing', 'fits',   'The audit now stores the arguments.'],
    off: ['arguments_unrecorded', 'widening',  'fits',   'The audit no longer stores the arguments.'] },
]

const diffSwitches = (before: Capability, after: Capability): Finding[] =>
  switches.flatMap(({ pointer, is, on, off, undeclared }) => {
    if (is(before) === is(after)) return []
    if (undeclared !== undefined && is(before) && !isOtherRequest(before, after))
      return [{ pointer, kind: off[0], effect: 'widening', breaking: false, message: undeclared }]
    const [kind, effect, breaks, message] = is(after) ? on : off
    return [{ pointer, kind, effect, breaking: breaks === 'breaks', message }]
  })

/** Calls use another HTTP method, from which the effects follow. */
const isOtherRequest = (before: Capability, after: Capability): boolean =>
  before.destination?.method !== after.destination?.method

/** All listed scopes are required: an added one excludes callers, a removed one admits more. */
const diffPermissions = (before: readonly string[], after: readonly string[]): Finding[] => [
  ...after
    .filter((scope) => !before.includes(scope))
    .map((scope) => ({
      pointer: '/rules/permissions',
      kind: 'permission_added',
      effect: 'narrowing' as const,
      breaking: true,
      message: `A caller now needs ${scope}.`,
    })),
  ...before
    .filter((scope) => !after.includes(scope))
    .map((scope) => ({
      pointer: '/rules/permissions',
      kind: 'permission_removed',
      effect: 'widening' as const,
      breaking: false,
      message: `A caller no longer needs ${scope}.`,
    })),
]

type Approvers = Rules['approvers']

function diffApprovers(before: Rules, after: Rules): Finding[] {
  const [old, current] = [before.approvers, after.approvers]
  if (showApprovers(old) === showApprovers(current)) return []
  // Matters only if approval was and is required.
  const effect = before.approval && after.approval ? compareApprovers(old, current) : 'neutral'
  const message = `Approvers changed from ${showApprovers(old)} to ${showApprovers(current)}.`
  return [
    { pointer: '/rules/approvers', kind: 'approvers_changed', effect, breaking: false, message },
  ]
}

const showApprovers = (approvers: Approvers): string =>
  approvers === undefined
    ? 'the person at the client'
    : typeof approvers === 'string'
      ? describedApprovers[approvers]
      : [...approvers].sort().join(', ')

const describedApprovers = { self: 'anyone, also the caller', others: 'all but the caller' }

function compareApprovers(before: Approvers, after: Approvers): Effect {
  if (typeof before !== 'object' || typeof after !== 'object')
    return toEffect(toBreadth(before), toBreadth(after))
  const addsSome = after.some((name) => !before.includes(name))
  const removesSome = before.some((name) => !after.includes(name))
  return addsSome === removesSome ? 'neutral' : addsSome ? 'widening' : 'narrowing'
}

const toBreadth = (approvers: Approvers): number =>
  approvers === 'self' ? 3 : approvers === undefined ? 2 : approvers === 'others' ? 1 : 0

/** A lower cost is widening: the same budget pays for more calls. */
function diffCost({ cost: before }: Rules, { cost: after }: Rules): Finding[] {
  const [old, current] = [before?.amount ?? 0, after?.amount ?? 0]
  const sameUnit = !before || !after || before.unit === after.unit
  if (old === current && sameUnit) return []
  const show = (cost: Rules['cost']) => (cost ? `${cost.amount} ${cost.unit}` : 'nothing')
  const message = `The cost of a call changed from ${show(before)} to ${show(after)}.`
  return [
    {
      pointer: '/rules/cost',
      kind: 'cost_changed',
      breaking: !sameUnit,
      ...(sameUnit
        ? { effect: toEffect(current, old), message }
        : { effect: 'neutral', review: true, message: `${message} ${reviewAdvice}` }),
    },
  ]
}

function diffBudgets(before: readonly Budget[], after: readonly Budget[]): Finding[] {
  const { both, removed, added } = pairById(before, after, ({ id }) => id)
  return [
    ...removed.map((budget) => limitRemoved('budget', showBudget(budget))),
    ...added.map((budget) => limitAdded('budget', showBudget(budget))),
    ...both.flatMap(([old, current]) => diffBudget(old, current)),
  ]
}

const showBudget = ({ limit, unit, per, window }: Budget): string =>
  `${limit} ${unit} per ${per} and ${window}`

const windows = ['call', 'day', 'month']

/** The comparable parts of a budget; a higher number allows more. */
const amounts: readonly (readonly [name: string, toAmount: (budget: Budget) => number])[] = [
  ['limit', ({ limit }) => limit],
  // Negated: the same limit for a longer window allows less.
  ['window', ({ window }) => -windows.indexOf(window)],
  ['threshold of the notice', ({ thresholds }) => thresholds.alert],
  ['threshold of the approval', ({ thresholds }) => thresholds.reauthorise],
  ['threshold of the stop', ({ thresholds }) => thresholds.stop],
  ['comparison with its thresholds', ({ thresholds }) => (thresholds.inclusive ? 0 : 1)],
]

function diffBudget(before: Budget, after: Budget): Finding[] {
  const change = `changed from ${showBudget(before)} to ${showBudget(after)}`
  const incomparable = before.unit !== after.unit || before.per !== after.per
  return [
    ...(incomparable ? [limitIncomparable('budget', `The budget ${change}.`)] : []),
    ...amounts.flatMap(([name, toAmount]) => {
      const effect = toEffect(toAmount(before), toAmount(after))
      return effect === 'neutral'
        ? []
        : [
            limitChanged(
              'budget',
              effect,
              `The budget ${change}: its ${name} is ${comparative[effect]}.`,
            ),
          ]
    }),
  ]
}

const comparative = { widening: 'looser', narrowing: 'tighter', neutral: 'other' }

function diffRates(before: readonly Rate[], after: readonly Rate[]): Finding[] {
  const { both, removed, added } = pairById(before, after, ({ id }) => id)
  return [
    ...removed.map((rate) => limitRemoved('rate', showRate(rate))),
    ...added.map((rate) => limitAdded('rate', showRate(rate))),
    ...both.flatMap(([old, current]) => {
      const average = toEffect(old.calls / old.seconds, current.calls / current.seconds)
      // At the same average rate, a larger number of calls allows a larger burst.
      const burst = average === 'neutral' ? toEffect(old.calls, current.calls) : average
      // One bucket for all callers together allows less than one for each.
      const shares = toEffect(Number(!old.shared), Number(!current.shared))
      const effect = burst === 'neutral' ? shares : burst
      return effect === 'neutral'
        ? []
        : [
            limitChanged(
              'rate',
              effect,
              `The rate limit changed from ${showRate(old)} to ${showRate(current)}.`,
            ),
          ]
    }),
  ]
}

const showRate = ({ calls, seconds, shared }: Rate): string =>
  `${calls} calls in ${seconds} s${shared ? ' for all callers together' : ''}`

function diffTimeout(before: number | undefined, after: number | undefined): Finding[] {
  if (before === after) return []
  const show = (limit: number | undefined) =>
    limit === undefined ? "the operator's default" : `${limit} ms`
  // The operator's default is unknown here, so it cannot be compared.
  const effect = before === undefined || after === undefined ? 'neutral' : toEffect(before, after)
  const message = `The time limit changed from ${show(before)} to ${show(after)}.`
  return [{ pointer: '/rules/timeout', kind: 'timeout_changed', effect, breaking: false, message }]
}

/** Limits change how often a call succeeds, not how it is made: they are never breaking. */
type Limit = 'budget' | 'rate'

const limitChanged = (limit: Limit, effect: Effect, message: string): Finding => ({
  pointer: `/rules/${limit}s`,
  kind: `${limit}_${effect === 'widening' ? 'raised' : 'lowered'}`,
  effect,
  breaking: false,
  message,
})

const limitAdded = (limit: Limit, description: string): Finding => ({
  ...limitChanged(limit, 'narrowing', `New ${limit} limit: ${description}.`),
  kind: `${limit}_added`,
})

const limitRemoved = (limit: Limit, description: string): Finding => ({
  ...limitChanged(limit, opposite.narrowing, `Removed ${limit} limit: ${description}.`),
  kind: `${limit}_removed`,
})

/** The two cannot be ordered, so a human has to judge: reported as breaking. */
const limitIncomparable = (limit: Limit, message: string): Finding => ({
  ...limitChanged(limit, 'neutral', `${message} ${reviewAdvice}`),
  kind: `${limit}_changed`,
  breaking: true,
  review: true,
})
