import { isPlainObject } from '../../../json/is-plain-object.ts'
import { toMilliseconds } from '../model/to-comparable.ts'
import { findPrimaryKey, type InferredKey } from './find-key.ts'

/**
 * Drafts a stream declaration from sample records. The owner has to review it: the consent time field
 * and the searchable and summable fields are guesses.
 */
export function inferStream(
  connector: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): { readonly declaration: object; readonly key: InferredKey } {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const properties = Object.fromEntries(
    names.map((name) => [name, inferType(rows.map((row) => row[name]))]),
  )
  const times = names.filter((name) => properties[name]?.format !== undefined)
  const key = findPrimaryKey(names, rows, times)
  const numbers = names.filter(
    (name) =>
      ['number', 'integer'].includes(properties[name]?.type ?? '') && !key.fields.includes(name),
  )
  const texts = names.filter(
    (name) =>
      properties[name]?.type === 'string' &&
      properties[name]?.format === undefined &&
      rows.some((row) => String(row[name] ?? '').includes(' ')),
  )
  const [time] = times
  const declaration = {
    connector,
    primary_key: key.fields,
    cursor_field: time,
    consent_time_field: time,
    schema: { type: 'object', properties },
    query: {
      range_filters: Object.fromEntries(
        [...times, ...numbers].map((name) => [name, ['gte', 'gt', 'lte', 'lt']]),
      ),
      search: { lexical_fields: texts },
      aggregations: { sum: numbers, min: numbers, max: numbers, group_by_time: times },
    },
  }
  return { declaration, key }
}

interface Inferred {
  readonly type?: string
  readonly format?: string
}

function inferType(values: readonly unknown[]): Inferred {
  const definedValues = values.filter((value) => value !== null && value !== undefined)
  const every = (test: (value: unknown) => boolean) =>
    definedValues.length > 0 && definedValues.every(test)
  if (every((value) => typeof value === 'boolean')) return { type: 'boolean' }
  if (every(Number.isInteger)) return { type: 'integer' }
  if (every((value) => typeof value === 'number')) return { type: 'number' }
  if (!every((value) => typeof value === 'string'))
    return every(Array.isArray) ? { type: 'array' } : every(isPlainObject) ? { type: 'object' } : {}
  if (every((value) => /^\d{4}-\d{2}-\d{2}$/.test(String(value))))
    return { type: 'string', format: 'date' }
  return every((value) => toMilliseconds(String(value)) !== undefined)
    ? { type: 'string', format: 'date-time' }
    : { type: 'string' }
}
