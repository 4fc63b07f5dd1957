import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import { type Field, isScalar, type RangeOperator, rangeOperators } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'
import type { Condition } from '../record-store.ts'

const maxConditions = 16

/** Converts `{ field: value }` and `{ field: { gte, lt } }` to conditions on granted fields. */
export function toConditions(scope: Scope, filter: unknown): readonly Condition[] | Failed {
  if (filter === undefined) return []
  if (!isPlainObject(filter))
    return cannotRead('invalid_filter', 'filter must be an object such as { "field": "value" }.')
  const conditions: Condition[] = []
  for (const [name, operand] of Object.entries(filter)) {
    const field = scope.fields.get(name)
    if (!field) return unknownField(scope, name)
    if (!isScalar(field))
      return cannotRead(
        'invalid_filter',
        `${name} cannot be filtered because it is not a single value. Fields marked eq in schema can be.`,
      )
    const pairs: [Condition['operator'], unknown][] = isPlainObject(operand)
      ? (Object.entries(operand) as [RangeOperator, unknown][])
      : [['eq', operand]]
    if (pairs.length === 0)
      return cannotRead('invalid_filter', `filter.${name} is empty: give a value or a range.`)
    for (const [operator, value] of pairs) {
      const condition = toCondition(field, operator, value)
      if (isFailed(condition)) return condition
      conditions.push(condition)
    }
  }
  if (conditions.length > maxConditions)
    return cannotRead('invalid_filter', `A filter has at most ${maxConditions} conditions.`)
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
    return cannotRead(
      'invalid_filter',
      `filter.${name} must be ${expectations[type]}${toHint(value)}.`,
    )
  return { field, operator, value: comparable }
}

/** Explains filters that other APIs support, and what to do here instead. */
function toHint(value: unknown): string {
  if (value === null)
    return ', not null: records without a value cannot be filtered for; leave it out and inspect the results'
  if (Array.isArray(value)) return ', not a list: read once for each value'
  return typeof value === 'string' || Number.isNaN(value)
    ? ''
    : `, not ${JSON.stringify(value)?.slice(0, 40)}`
}

const expectations: Readonly<Record<Field['type'], string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a number',
  boolean: 'true or false',
  date: 'a date such as 2026-01-31',
  'date-time': 'a time such as 2026-01-31T12:00:00Z',
  other: 'left out',
}

/** Does not distinguish an undeclared field from one that is not granted. */
export const unknownField = ({ source }: Scope, name: string): Failed =>
  cannotRead(
    'unknown_field',
    `Unknown field ${JSON.stringify(name.slice(0, 200))} in ${source.stream.name}. Call schema with this stream for its fields.`,
    { details: { param: name.slice(0, 200) } },
  )
