import canonicalize from 'canonicalize'

/** Whether less is allowed than before, more, something else, or whether only words changed. */
export type KeywordVerdict = 'tighter' | 'looser' | 'other' | 'words'

export interface KeywordChange {
  readonly verdict: KeywordVerdict
  readonly kind: string
  readonly message: string
}

type Schema = Readonly<Record<string, unknown>>
type Compare = (before: Schema, now: Schema, keyword: string) => KeywordChange[]

/** What the change of one keyword means, where it holds no schemas that could be walked. */
export function compareKeyword(keyword: string, before: Schema, now: Schema): KeywordChange[] {
  if (canonicalize(before[keyword] ?? null) === canonicalize(now[keyword] ?? null)) return []
  if (isWords(keyword)) return compareWords(before, now, keyword)
  return (comparisons[keyword] ?? compareConstraint)(before, now, keyword)
}

const words = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$schema',
  '$id',
  '$anchor',
])

/** Whether a keyword only tells, and allows or forbids nothing. */
export const isWords = (keyword: string): boolean => words.has(keyword) || keyword.startsWith('x-')

const show = (value: unknown): string => JSON.stringify(value) ?? 'absent'

const became = (keyword: string, before: unknown, now: unknown): string =>
  `${keyword} was ${show(before)} and is ${show(now)}.`

const compareWords: Compare = (before, now, keyword) => [
  {
    verdict: 'words',
    kind: 'words_changed',
    message: became(keyword, before[keyword], now[keyword]),
  },
]

/** Any other condition: having it is tighter than not; of two, nobody can say. */
const compareConstraint: Compare = (before, now, keyword) => [
  {
    verdict:
      before[keyword] === undefined ? 'tighter' : now[keyword] === undefined ? 'looser' : 'other',
    kind: 'constraint_changed',
    message: became(keyword, before[keyword], now[keyword]),
  },
]

const upTo: Compare = (before, now, keyword) =>
  compareNumbers(toNumber(before[keyword], Infinity), toNumber(now[keyword], Infinity), {
    before,
    now,
    keyword,
  })

const downTo: Compare = (before, now, keyword) =>
  compareNumbers(-toNumber(before[keyword], -Infinity), -toNumber(now[keyword], -Infinity), {
    before,
    now,
    keyword,
  })

const toNumber = (value: unknown, fallback: number): number =>
  typeof value === 'number' ? value : fallback

function compareNumbers(
  old: number,
  current: number,
  { before, now, keyword }: { before: Schema; now: Schema; keyword: string },
): KeywordChange[] {
  if (old === current) return []
  const message = became(keyword, before[keyword], now[keyword])
  return [{ verdict: current < old ? 'tighter' : 'looser', kind: 'limit_changed', message }]
}

const compareFlag: Compare = (before, now, keyword) => {
  const [old, current] = [before[keyword] === true, now[keyword] === true]
  const message = became(keyword, old, current)
  return old === current
    ? []
    : [{ verdict: current ? 'tighter' : 'looser', kind: 'constraint_changed', message }]
}

const allTypes = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

/** A number may be whole, so `number` allows what `integer` does. */
const toTypes = (type: unknown): ReadonlySet<string> =>
  new Set(
    type === undefined
      ? allTypes
      : [type].flat().flatMap((one) => (one === 'number' ? ['integer', 'number'] : [String(one)])),
  )

const compareType: Compare = (before, now) => {
  const [old, current] = [toTypes(before.type), toTypes(now.type)]
  const keeps = [...old].every((type) => current.has(type))
  const adds = [...current].some((type) => !old.has(type))
  if (keeps && !adds) return []
  const verdict = keeps ? 'looser' : adds ? 'other' : 'tighter'
  const kind = { looser: 'type_widened', tighter: 'type_narrowed', other: 'type_changed' }[verdict]
  return [{ verdict, kind, message: became('type', before.type, now.type) }]
}

/** Values that are allowed by name; nothing where all are. */
const toValues = ({ enum: values, const: only }: Schema): ReadonlySet<string> | undefined =>
  Array.isArray(values)
    ? new Set(values.map((value) => canonicalize(value) ?? 'null'))
    : only === undefined
      ? undefined
      : new Set([canonicalize(only) ?? 'null'])

const compareValues: Compare = (before, now, keyword) => {
  const [old, current] = [toValues(before), toValues(now)]
  // Where a schema turns from const to enum, it is told once.
  if (keyword === 'const' && (before.enum ?? now.enum) !== undefined) return []
  if (!old || !current) return compareConstraint(before, now, keyword)
  const gone = [...old].filter((value) => !current.has(value)).sort()
  const added = [...current].filter((value) => !old.has(value)).sort()
  return [
    ...gone.map((value) => ({
      verdict: 'tighter' as const,
      kind: 'value_removed',
      message: `${value} is no longer among the values.`,
    })),
    ...added.map((value) => ({
      verdict: 'looser' as const,
      kind: 'value_added',
      message: `${value} is a new value.`,
    })),
  ]
}

const compareRequired: Compare = (before, now) => {
  const [old, current] = [toNames(before.required), toNames(now.required)]
  return [
    ...current
      .filter((name) => !old.includes(name))
      .map((name) => ({
        verdict: 'tighter' as const,
        kind: 'required_added',
        message: `${name} must be there now.`,
      })),
    ...old
      .filter((name) => !current.includes(name))
      .map((name) => ({
        verdict: 'looser' as const,
        kind: 'required_removed',
        message: `${name} need not be there any more.`,
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
  maximum: upTo,
  exclusiveMaximum: upTo,
  maxLength: upTo,
  maxItems: upTo,
  maxProperties: upTo,
  maxContains: upTo,
  minimum: downTo,
  exclusiveMinimum: downTo,
  minLength: downTo,
  minItems: downTo,
  minProperties: downTo,
  minContains: downTo,
}
