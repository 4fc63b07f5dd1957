import type { Json, JsonObject } from '../../capability/json.ts'
import type { ItemRule, SettingRule, TrustSurface } from '../../capability/trust-surface.ts'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import type { Finding } from './difference.ts'
import { isSame, judgeSetting, showValue } from './judge-setting.ts'

/** Compares settings, leaf by leaf, by the rules that their owner gives. */
export function diffSettings(before: TrustSurface, after: TrustSurface): Finding[] {
  const rules = toRuleFinder(after.rules.length > 0 ? after.rules : before.rules)
  return diffValues({ path: [], context: [] }, before.settings, after.settings, rules)
}

type Value = Json | undefined

interface Place {
  readonly path: readonly (string | number)[]
  /** The items that contain it, such as `interface agents`. */
  readonly context: readonly string[]
}

type FindRule = (path: Place['path']) => SettingRule | undefined

/** An object under one of these is compared as a whole: its parts mean nothing alone. */
const wholes = new Set<unknown>(['review', 'opaque', 'code', 'text', 'reference'])

function diffValues(place: Place, old: Value, current: Value, find: FindRule): Finding[] {
  if (isSame(old, current)) return []
  const rule = find(place.path)
  const items = rule?.items && { ...rule.items, find }
  if (items) {
    // A list that has no meaning of its own is empty where it is absent.
    const isSum = rule.judgement === 'review'
    const [from, to] = isSum ? [old ?? current, current ?? old] : [old, current]
    if (isList(from) && isList(to))
      return diffItems(place, isList(old) ? old : [], isList(current) ? current : [], items)
    if (isObject(from) && isObject(to))
      return diffFields(place, toObject(old), toObject(current), rule, find)
  } else if (!rule || !wholes.has(rule.judgement)) {
    if (isObject(old) && isObject(current)) return diffFields(place, old, current, rule, find)
  }
  if (rule) return judgeAt(place, rule, old, current)
  const container = old ?? current
  // Without a rule of its own, a new mapping is the sum of its fields.
  if ((old === undefined || current === undefined) && isObject(container))
    return diffFields(place, toObject(old), toObject(current), rule, find)
  return judgeAt(place, toUnknownRule(place), old, current)
}

function diffFields(
  place: Place,
  old: JsonObject,
  current: JsonObject,
  rule: SettingRule | undefined,
  find: FindRule,
): Finding[] {
  const keys = [...new Set([...Object.keys(old), ...Object.keys(current)])].sort(byCodeUnit)
  return keys.flatMap((key) => {
    const context = rule?.items ? [`${rule.items.noun} ${showValue(key)}`] : []
    const child = toChild(place, key, context)
    return diffValues(child, ownValue(old, key), ownValue(current, key), find)
  })
}

/** `__proto__` and the like are names as any other. */
const ownValue = (object: JsonObject, key: string): Value =>
  Object.hasOwn(object, key) ? object[key] : undefined

type ItemComparison = ItemRule & { readonly find: FindRule }

function diffItems(
  place: Place,
  old: readonly Json[],
  current: readonly Json[],
  items: ItemComparison,
): Finding[] {
  const pairs = pairItems(old, current, items)
  const findings = pairs.flatMap(([oldIndex, index]) => {
    const item = index === undefined ? old[oldIndex ?? 0] : current[index]
    const position = index ?? oldIndex ?? 0
    const child = toChild(place, position, [`${items.noun} ${toItemName(item, position, items)}`])
    return diffValues(
      child,
      oldIndex === undefined ? undefined : old[oldIndex],
      index === undefined ? undefined : current[index],
      items.find,
    )
  })
  const common = pairs.filter(([a, b]) => a !== undefined && b !== undefined)
  const isReordered = [...common]
    .sort(([a = 0], [b = 0]) => a - b)
    .some(([, index = 0], at, sorted) => index < (sorted[at - 1]?.[1] ?? 0))
  if (!items.isOrdered || !isReordered) return findings
  const label = `the order of the ${items.noun}s`
  const rule = { at: '', label, judgement: 'review', kind: 'order' } as const
  const names = (list: readonly Json[]) => list.map((item, index) => toItemName(item, index, items))
  return [...findings, ...judgeAt(place, rule, names(old), names(current))]
}

type Pair = readonly [oldIndex: number | undefined, index: number | undefined]

/** First by identity, then by similarity; the rest was removed or added. In the order of the new list. */
function pairItems(old: readonly Json[], current: readonly Json[], items: ItemRule): Pair[] {
  const unmatchedOld = new Set(old.keys())
  const matches = new Map<number, number>()
  const match = (toKey: (item: Json, index: number) => string | undefined) => {
    const candidates = new Map<string, number[]>()
    for (const index of unmatchedOld) {
      const key = toKey(old[index] as Json, index)
      if (key !== undefined) candidates.set(key, [...(candidates.get(key) ?? []), index])
    }
    for (const [index, item] of current.entries()) {
      const key = matches.has(index) ? undefined : toKey(item, index)
      const found = key === undefined ? undefined : candidates.get(key)?.shift()
      if (found === undefined) continue
      matches.set(index, found)
      unmatchedOld.delete(found)
    }
  }
  const { identity, similarity } = items
  match((item, index) =>
    identity ? JSON.stringify(identity.map((field) => fieldOf(item, field) ?? null)) : `${index}`,
  )
  if (similarity !== undefined)
    match((item) => (similarity === '' ? '' : JSON.stringify(fieldOf(item, similarity))))
  return [
    ...[...unmatchedOld].map((index): Pair => [index, undefined]),
    ...[...current.keys()].map((index): Pair => [matches.get(index), index]),
  ]
}

const fieldOf = (item: Value, field: string): Value =>
  isObject(item) ? ownValue(item, field) : undefined

function toItemName(item: Value, index: number, { name }: ItemRule): string {
  const value = name === undefined ? undefined : fieldOf(item, name)
  if (value === undefined) return typeof item === 'string' ? showValue(item) : `${index + 1}`
  const words = [value].flat()
  return showValue(words.every((word) => typeof word === 'string') ? words.join(', ') : value)
}

const toChild = (place: Place, key: string | number, context: readonly string[]): Place => ({
  path: [...place.path, key],
  context: [...place.context, ...context],
})

const judgeAt = (
  { path, context }: Place,
  rule: SettingRule,
  old: Value,
  current: Value,
): Finding[] =>
  judgeSetting(rule, { old, current, context: context.join(', ') }).map((finding) => ({
    pointer: toPointer(path),
    ...finding,
  }))

const toUnknownRule = ({ path }: Place): SettingRule => ({
  at: '',
  label: `the setting ${showValue(String(path.at(-1) ?? ''))}`,
  judgement: 'review',
})

function toRuleFinder(rules: readonly SettingRule[]): FindRule {
  const patterns = rules.map((rule) => ({ rule, parts: rule.at.split('/').slice(1) }))
  return (path) => {
    const segments = path.map((key) => toPointer([key]).slice(1))
    return patterns.find(
      ({ parts }) =>
        parts.length === segments.length &&
        parts.every((part, index) => part === '*' || part === segments[index]),
    )?.rule
  }
}

const isList = (value: Value): value is readonly Json[] => Array.isArray(value)
const isObject = (value: Value): value is JsonObject => isPlainObject(value)
const toObject = (value: Value): JsonObject => (isObject(value) ? value : {})
