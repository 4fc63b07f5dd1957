import { isPlainObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../grants/scope.ts'
import { type Field, isScalar, type RangeOperator, rangeOperators } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'
import type { Condition } from '../record-store.ts'

const mostConditions = 16

/** From `{ field: value }` and `{ field: { gte, lt } }` to conditions on granted fields. */
export function toConditions(scope: Scope, filter: unknown): readonly Condition[] | Failed {
  if (filter === undefined) return []
  if (!isPlainObject(filter))
    return cannotRead('invalid_filter', 'filter must be an object such as { "field": "value" }.')
  const conditions: Condition[] = []
  for (const [name, wanted] of Object.entries(filter)) {
    const field = scope.fields.get(name)
    if (!field) return unknownField(scope, name)
    if (!isScalar(field))
      return cannotRead(
        'invalid_filter',
        `${name} cannot be filtered: it is no single value. Those that can are marked eq in schema.`,
      )
    const pairs: [Condition['operator'], unknown][] = isPlainObject(wanted)
      ? (Object.entries(wanted) as [RangeOperator, unknown][])
      : [['eq', wanted]]
    if (pairs.length === 0)
      return cannotRead('invalid_filter', `filter.${name} is empty: give a value or a range.`)
    for (const [operator, value] of pairs) {
      const condition = toCondition(field, operator, value)
      if ('kind' in condition) return condition
      conditions.push(condition)
    }
  }
  if (conditions.length > mostConditions)
    return cannotRead('invalid_filter', `A filter has at most ${mostConditions} conditions.`)
  return conditions
}

function toCondition(
  field: Field,
  operator: Condition['operator'],
  value: unknown,
): Condition | Failed {
  const { name, type, range } = field
  if (operator !== 'eq' && !rangeOperators.includes(operator))
    return cannotRead(
      'invalid_filter',
      `filter.${name} can use ${rangeOperators.join(', ')}, not ${JSON.stringify(String(operator).slice(0, 40))}.`,
    )
  if (operator !== 'eq' && !range.includes(operator))
    return cannotRead(
      'invalid_filter',
      range.length === 0
        ? `${name} cannot be filtered by range; give it an exact value.`
        : `${name} can be filtered by ${range.join(', ')}.`,
    )
  const comparable = toComparable(field, value)
  if (comparable === undefined)
    return cannotRead('invalid_filter', `filter.${name} must be ${words[type]}${toHint(value)}.`)
  return { field, operator, value: comparable }
}

/** What others understand, and what to do here instead. */
function toHint(value: unknown): string {
  if (value === null)
    return ', not null: there is no filter for records without a value; leave it out, and look at what comes'
  if (Array.isArray(value)) return ', not a list: read once for each value'
  return typeof value === 'string' || Number.isNaN(value)
    ? ''
    : `, not ${JSON.stringify(value)?.slice(0, 40)}`
}

const words: Readonly<Record<Field['type'], string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a number',
  boolean: 'true or false',
  date: 'a date such as 2026-01-31',
  'date-time': 'a time such as 2026-01-31T12:00:00Z',
  other: 'left out',
}

/** Not there and not granted are the same. */
export const unknownField = ({ source }: Scope, name: string): Failed =>
  cannotRead(
    'unknown_field',
    `There is no field ${JSON.stringify(name.slice(0, 200))} to use here in ${source.stream.name}. Call schema with this stream for its fields.`,
    { details: { param: name.slice(0, 200) } },
  )
