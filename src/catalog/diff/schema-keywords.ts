import canonicalize from 'canonicalize'
import { annotationKeywords } from '../../json/schema/keywords.ts'

/** The new schema allows fewer values, more, different ones; or only an annotation changed. */
export type KeywordVerdict = 'tighter' | 'looser' | 'other' | 'annotation'

export interface KeywordChange {
  readonly verdict: KeywordVerdict
  readonly kind: string
  readonly message: string
}

type Schema = Readonly<Record<string, unknown>>
type Compare = (before: Schema, after: Schema, keyword: string) => KeywordChange[]

/** Judges the change of one keyword without subschemas. */
export function compareKeyword(keyword: string, before: Schema, after: Schema): KeywordChange[] {
  if (toText(before, keyword) === toText(after, keyword)) return []
  if (isAnnotation(keyword)) return compareAnnotation(before, after, keyword)
  return (comparisons[keyword] ?? compareConstraint)(before, after, keyword)
}

/** Absent is not the same as null, which is a value of `const`. */
const toText = (schema: Schema, keyword: string): string | undefined =>
  Object.hasOwn(schema, keyword) ? canonicalize(schema[keyword]) : undefined

/** They name the schema, and decide nothing about values. */
const identifiers = new Set(['$schema', '$id', '$anchor'])

/** Annotation keywords do not affect validation. */
export const isAnnotation = (keyword: string): boolean =>
  annotationKeywords.has(keyword) || identifiers.has(keyword) || keyword.startsWith('x-')

const show = (value: unknown): string => JSON.stringify(value) ?? 'absent'

const toMessage = (keyword: string, before: unknown, after: unknown): string =>
  `${keyword} changed from ${show(before)} to ${show(after)}.`

const compareAnnotation: Compare = (before, after, keyword) => [
  {
    verdict: 'annotation',
    kind: 'words_changed',
    message: toMessage(keyword, before[keyword], after[keyword]),
  },
]

/** Other constraints: adding one is tighter, removing it looser, two values are not comparable. */
const compareConstraint: Compare = (before, after, keyword) => [
  {
    verdict:
      before[keyword] === undefined ? 'tighter' : after[keyword] === undefined ? 'looser' : 'other',
    kind: 'constraint_changed',
    message: toMessage(keyword, before[keyword], after[keyword]),
  },
]

const compareMaximum: Compare = (before, after, keyword) =>
  compareNumbers(toNumber(before[keyword], Infinity), toNumber(after[keyword], Infinity), {
    before,
    after,
    keyword,
  })

const compareMinimum: Compare = (before, after, keyword) =>
  compareNumbers(-toNumber(before[keyword], -Infinity), -toNumber(after[keyword], -Infinity), {
    before,
    after,
    keyword,
  })

const toNumber = (value: unknown, fallback: number): number =>
  typeof value === 'number' ? value : fallback

function compareNumbers(
  old: number,
  current: number,
  { before, after, keyword }: { before: Schema; after: Schema; keyword: string },
): KeywordChange[] {
  if (old === current) return []
  const message = toMessage(keyword, before[keyword], after[keyword])
  return [{ verdict: current < old ? 'tighter' : 'looser', kind: 'limit_changed', message }]
}

const compareFlag: Compare = (before, after, keyword) => {
  const [old, current] = [before[keyword] === true, after[keyword] === true]
  const message = toMessage(keyword, old, current)
  return old === current
    ? []
    : [{ verdict: current ? 'tighter' : 'looser', kind: 'constraint_changed', message }]
}

const allTypes = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

/** `number` includes `integer`. */
const toTypes = (type: unknown): ReadonlySet<string> =>
  new Set(
    type === undefined
      ? allTypes
      : [type]
          .flat()
          .flatMap((name) => (name === 'number' ? ['integer', 'number'] : [String(name)])),
  )

const compareType: Compare = (before, after) => {
  const [old, current] = [toTypes(before.type), toTypes(after.type)]
  const keepsAll = [...old].every((type) => current.has(type))
  const addsSome = [...current].some((type) => !old.has(type))
  if (keepsAll && !addsSome) return []
  const verdict = keepsAll ? 'looser' : addsSome ? 'other' : 'tighter'
  const kind = { looser: 'type_widened', tighter: 'type_narrowed', other: 'type_changed' }[verdict]
  return [{ verdict, kind, message: toMessage('type', before.type, after.type) }]
}

/** The values that `enum` and `const` both allow; `undefined` without either. */
function toValues({ enum: values, const: single }: Schema): ReadonlySet<string> | undefined {
  const only = single === undefined ? undefined : (canonicalize(single) ?? 'null')
  if (!Array.isArray(values)) return only === undefined ? undefined : new Set([only])
  const listed = values.map((value) => canonicalize(value) ?? 'null')
  return new Set(only === undefined ? listed : listed.filter((value) => value === only))
}

const compareValues: Compare = (before, after, keyword) => {
  const [old, current] = [toValues(before), toValues(after)]
  // A change of both keywords is reported once, under enum.
  if (keyword === 'const' && toText(before, 'enum') !== toText(after, 'enum')) return []
  if (!old || !current) return compareConstraint(before, after, keyword)
  const removed = [...old].filter((value) => !current.has(value)).sort()
  const added = [...current].filter((value) => !old.has(value)).sort()
  return [
    ...removed.map((value) => ({
      verdict: 'tighter' as const,
      kind: 'value_removed',
      message: `The value ${value} is no longer allowed.`,
    })),
    ...added.map((value) => ({
      verdict: 'looser' as const,
      kind: 'value_added',
      message: `The value ${value} is now allowed.`,
    })),
  ]
}

const compareRequired: Compare = (before, after) => {
  const [old, current] = [toNames(before.required), toNames(after.required)]
  return [
    ...current
      .filter((name) => !old.includes(name))
      .map((name) => ({
        verdict: 'tighter' as const,
        kind: 'required_added',
        message: `${name} is now required.`,
      })),
    ...old
      .filter((name) => !current.includes(name))
      .map((name) => ({
        verdict: 'looser' as const,
        kind: 'required_removed',
        message: `${name} is no longer required.`,
      })),
  ]
}

const toNames = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : []

const comparisons: Readonly<Record<string, Compare | undefined>> = {
  type: compareType,
  enum: compareValues,
  const: compareValues,
  required: compareRequired,
  uniqueItems: compareFlag,
  maximum: compareMaximum,
  exclusiveMaximum: compareMaximum,
  maxLength: compareMaximum,
  maxItems: compareMaximum,
  maxProperties: compareMaximum,
  maxContains: compareMaximum,
  minimum: compareMinimum,
  exclusiveMinimum: compareMinimum,
  minLength: compareMinimum,
  minItems: compareMinimum,
  minProperties: compareMinimum,
  minContains: compareMinimum,
}
