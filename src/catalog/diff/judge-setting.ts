import canonicalize from 'canonicalize'
import type { Json } from '../../capability/json.ts'
import type { Judgement, SettingRule } from '../../capability/trust-surface.ts'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isLoopbackHost } from '../../upstream/loopback.ts'
import { type Effect, type Finding, reviewAdvice, toEffect } from './difference.ts'
import { judgeAddress } from './judge-address.ts'

type Value = Json | undefined

/** One change of a setting. */
export interface Change {
  readonly old: Value
  readonly current: Value
  /** The items that contain the setting, for messages; empty at the top. */
  readonly context: string
}

/** A finding without its place. */
export type Verdict = Omit<Finding, 'pointer'>

/** The findings about one changed setting. */
export function judgeSetting(rule: SettingRule, change: Change): Verdict[] {
  const { judgement } = rule
  const isSwitch = judgement === 'on' || judgement === 'off'
  const absent = rule.absent === undefined && isSwitch ? false : rule.absent
  // A default that is written out changes nothing.
  if (absent !== undefined && isSame(change.old ?? absent, change.current ?? absent)) return []
  if (typeof judgement === 'object') return [judgeOrder(judgement.order, rule, change)]
  // Rules can come from JavaScript, where nothing checks them.
  const judge = Object.hasOwn(judges, judgement) ? judges[judgement] : judges.review
  return judge(rule, change)
}

type Judge = (rule: SettingRule, change: Change) => Verdict[]

/** Numbers: `absent` is the value of a setting that is not there. */
const judgeNumber =
  (sign: 1 | -1): Judge =>
  (rule, change) => {
    const toNumber = (value: Value) =>
      typeof value === 'number' ? value : Number(rule.absent ?? sign * Number.POSITIVE_INFINITY)
    const [old, current] = [toNumber(change.old), toNumber(change.current)]
    const effect = toEffect(sign * old, sign * current)
    return [effect === 'neutral' ? undecided(rule, change) : decided(rule, change, effect)]
  }

const judgeSwitch =
  (widest: boolean): Judge =>
  (rule, change) => {
    const isOn = (value: Value) => (value ?? rule.absent ?? false) === true
    const [old, current] = [isOn(change.old), isOn(change.current)]
    if (old === current) return [undecided(rule, change)]
    return [decided(rule, change, current === widest ? 'widening' : 'narrowing')]
  }

const judgePresence =
  (whenAdded: Effect, whenRemoved: Effect): Judge =>
  (rule, change) => {
    if (change.old === undefined) return [decided(rule, change, whenAdded)]
    if (change.current === undefined) return [decided(rule, change, whenRemoved)]
    return [undecided(rule, change)]
  }

/** Lists whose order does not matter. An absent list may mean everything. */
const judgeMembers =
  (whenAdded: 'widening' | 'narrowing'): Judge =>
  (rule, change) => {
    const whenRemoved = whenAdded === 'widening' ? 'narrowing' : 'widening'
    const isUnlimited = (value: Value) => value === undefined && rule.absent === '*'
    if (isUnlimited(change.old)) return [decided(rule, change, whenRemoved)]
    if (isUnlimited(change.current)) return [decided(rule, change, whenAdded)]
    const [old, current] = [toMembers(change.old), toMembers(change.current)]
    const added = [...current].filter((one) => !old.has(one)).sort(byCodeUnit)
    const removed = [...old].filter((one) => !current.has(one)).sort(byCodeUnit)
    const toVerdict =
      (effect: Effect, action: 'added' | 'removed', verb: string) => (one: string) =>
        toFinding(withKind(rule, 'member'), {
          effect,
          action,
          message: rule[effect === 'widening' ? 'wider' : 'narrower']
            ? toSentence(rule, change.context, effect)
            : `${toSubject(rule, change.context)} ${verb} ${showValue(one)}.`,
        })
    return [
      ...added.map(toVerdict(whenAdded, 'added', 'now includes')),
      ...removed.map(toVerdict(whenRemoved, 'removed', 'no longer includes')),
    ]
  }

const toMembers = (value: Value): ReadonlySet<string> =>
  new Set(
    (Array.isArray(value) ? value : value === undefined ? [] : [value]).map((one) =>
      typeof one === 'string' ? one : (canonicalize(one) ?? 'null'),
    ),
  )

function judgeOrder(
  order: readonly (string | readonly string[])[],
  rule: SettingRule,
  change: Change,
): Verdict {
  const rank = (value: Value) => {
    const text = String(value ?? rule.absent)
    const exact = order.findIndex(
      (one) => one === text || (Array.isArray(one) && one.includes(text)),
    )
    return exact >= 0 || value === undefined ? exact : order.indexOf('*')
  }
  const [old, current] = [rank(change.old), rank(change.current)]
  if (old < 0 || current < 0 || old === current) return undecided(rule, change)
  return decided(rule, change, toEffect(old, current))
}

/** All addresses of this machine are equally narrow. */
const judgeListener: Judge = (rule, change) => {
  const reach = (value: Value) => Number(!isLoopbackHost(String(value ?? rule.absent)))
  const effect = toEffect(reach(change.old), reach(change.current))
  return [effect === 'neutral' ? undecided(rule, change) : decided(rule, change, effect)]
}

/** A new secret is sent somewhere. Values are never printed, only references to them. */
const judgeSecret =
  (toText: (value: Value) => string): Judge =>
  (rule, { old, current, context }) => {
    const subject = toSubject(rule, context)
    const secret = withKind(rule, 'secret')
    if (old === undefined) {
      const message = `${subject} was added: ${toText(current)}.`
      return [toFinding(secret, { effect: 'widening', action: 'added', message })]
    }
    if (current === undefined) {
      const message = `${subject} was removed: ${toText(old)}.`
      return [toFinding(secret, { effect: 'narrowing', action: 'removed', message })]
    }
    const message = `${subject} changed from ${toText(old)} to ${toText(current)}.`
    return [toFinding(secret, { effect: 'neutral', action: 'changed', message, review: true })]
  }

const withKind = (rule: SettingRule, kind: string): SettingRule => ({
  ...rule,
  kind: rule.kind ?? kind,
})

const isReference = (value: Value): value is string =>
  typeof value === 'string' && /^(?:env|vault|kms):\/\/\S+$/.test(value)

const toSecretText = (value: Value): string =>
  isReference(value) ? shorten(value) : 'a value that is not shown'

const judgeOpaque: Judge = (rule, { old, current, context }) => {
  const verb = old === undefined ? 'was added' : current === undefined ? 'was removed' : 'changed'
  const message = `${toSubject(rule, context)} ${verb}.`
  return [
    toFinding(rule, { effect: 'neutral', action: toAction(old, current), message, review: true }),
  ]
}

const judgeText: Judge = (rule, change) => [
  toFinding(rule, {
    effect: 'neutral',
    action: rule.kind === undefined ? toAction(change.old, change.current) : 'changed',
    message: toMetadataSentence(rule, change),
  }),
]

const judges: Readonly<Record<Exclude<Judgement, object>, Judge>> = {
  more: judgeNumber(1),
  less: judgeNumber(-1),
  on: judgeSwitch(true),
  off: judgeSwitch(false),
  members: judgeMembers('widening'),
  restrictions: judgeMembers('narrowing'),
  presence: judgePresence('widening', 'narrowing'),
  restriction: judgePresence('narrowing', 'widening'),
  address: (rule, change) =>
    judgeAddress(change).map(({ action, effect, text, kind }) =>
      toFinding(
        { ...rule, kind },
        {
          effect,
          action,
          message: `${toSubject(rule, change.context)} ${text}.`,
          ...dropUndefined({ review: effect === 'neutral' ? (true as const) : undefined }),
        },
      ),
    ),
  listener: judgeListener,
  secret: judgeSecret(toSecretText),
  reference: judgeSecret(showValue),
  review: (rule, change) => [undecided(rule, change)],
  opaque: judgeOpaque,
  code: (rule, { context }) => [
    toFinding(
      { ...rule, kind: rule.kind ?? 'code' },
      {
        effect: 'neutral',
        action: 'changed',
        message: `${toSubject(rule, context)} changed.`,
        review: true,
      },
    ),
  ],
  text: judgeText,
}

const decided = (rule: SettingRule, change: Change, effect: Effect): Verdict =>
  toFinding(rule, {
    effect,
    action: toAction(change.old, change.current),
    message:
      effect !== 'neutral' && rule[effect === 'widening' ? 'wider' : 'narrower']
        ? toSentence(rule, change.context, effect)
        : toChangeSentence(rule, change),
  })

const undecided = (rule: SettingRule, change: Change): Verdict =>
  toFinding(rule, {
    effect: 'neutral',
    action: toAction(change.old, change.current),
    message: toChangeSentence(rule, change),
    review: true,
  })

type Action = 'added' | 'removed' | 'changed'

const toAction = (old: Value, current: Value): Action =>
  old === undefined ? 'added' : current === undefined ? 'removed' : 'changed'

interface FindingParts extends Pick<Finding, 'effect' | 'message' | 'review'> {
  readonly action: Action
}

const toFinding = (
  { breaks, kind = 'setting' }: SettingRule,
  { effect, action, message, review }: FindingParts,
): Verdict => ({
  kind: `${kind}_${action}`,
  effect,
  breaking: breaks === 'all' || (breaks !== undefined && breaks === effect),
  ...dropUndefined({ review }),
  message: review ? `${message} ${reviewAdvice}` : message,
})

const toSubject = ({ label }: SettingRule, context: string): string =>
  context === ''
    ? capitalise(label)
    : label === ''
      ? capitalise(context)
      : `${capitalise(context)}: ${label}`

function toSentence(rule: SettingRule, context: string, effect: Effect): string {
  const sentence = (effect === 'widening' ? rule.wider : rule.narrower) ?? ''
  return context === '' ? sentence : `${capitalise(context)}: ${sentence}`
}

/** An item has its name in the context, and no text of its own. Mappings are not printed: they may contain secrets. */
function toChangeSentence(rule: SettingRule, { old, current, context }: Change): string {
  const subject = toSubject(rule, context)
  const isShown = rule.label !== '' && isPlain(old) && isPlain(current)
  if (old === undefined) return `${subject} was added${isShown ? `: ${showValue(current)}` : ''}.`
  if (current === undefined) return `${subject} was removed${isShown ? `: ${showValue(old)}` : ''}.`
  return isPlain(old) && isPlain(current)
    ? `${subject} changed from ${showValue(old)} to ${showValue(current)}.`
    : `${subject} changed.`
}

/** Metadata is sent to clients anyway, so it is printed whatever it is. */
function toMetadataSentence(rule: SettingRule, { old, current, context }: Change): string {
  const subject = toSubject(rule, context)
  if (old === undefined) return `${subject} was added: ${showValue(current)}.`
  if (current === undefined) return `${subject} was removed: ${showValue(old)}.`
  return `${subject} changed from ${showValue(old)} to ${showValue(current)}.`
}

const isPlain = (value: Value): boolean =>
  Array.isArray(value) ? value.every(isScalar) : isScalar(value)

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const maxLength = 80

/** A value for a message. */
export function showValue(value: Value): string {
  if (value === undefined) return 'absent'
  return shorten(typeof value === 'string' && plainWord.test(value) ? value : JSON.stringify(value))
}

const plainWord = /^[\w.:/@*+-]+$/

const shorten = (text: string): string =>
  text.length > maxLength ? `${text.slice(0, maxLength)}…` : text

export const isSame = (old: Value, current: Value): boolean =>
  old === current ||
  (old !== undefined && current !== undefined && canonicalize(old) === canonicalize(current))
