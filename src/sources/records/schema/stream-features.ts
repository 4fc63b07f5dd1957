import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { Scope } from '../model/scope.ts'
import { aggregateUses, type Field, isScalar, rangeOperators } from '../model/stream.ts'
import { findRelations } from '../query/expand.ts'
import { findView } from '../reading/project-fields.ts'
import type { Reader } from '../reading/reader.ts'

/** A compact summary of the operations a grant allows on a stream. */
export interface StreamFeatures extends JsonObject {
  readonly name: string
  readonly title?: string
  /** Field names, grouped by type and flags. */
  readonly fields: Readonly<Record<string, readonly string[]>>
  readonly sort: readonly string[]
  readonly count: readonly string[]
  readonly projection: readonly string[]
  readonly views?: Readonly<Record<string, readonly string[]>>
  readonly expand?: Readonly<Record<string, string>>
  readonly search?: { readonly lexical: readonly string[] }
  readonly aggregations: Readonly<Record<string, readonly string[]>>
}

export const featureLegend =
  'eq: filter {"field": value}. range: filter {"field": {"gte": v, "lt": v}} with gte, gt, lte, lt. search: the search tool matches this field. A type without flags: can only be read and projected.'

export function toStreamFeatures(reader: Pick<Reader, 'scopes'>, scope: Scope): StreamFeatures {
  const { stream } = scope.source
  const fields = [...scope.fields.values()]
  const byFlags: Record<string, string[]> = {}
  for (const field of fields) {
    const flags = toFlags(field)
    byFlags[flags] = [...(byFlags[flags] ?? []), field.name]
  }
  const cursor = stream.cursorField
  const sort = cursor !== undefined && scope.fields.has(cursor) ? [`-${cursor}`, cursor] : []
  const views = stream.views.flatMap(({ name }) => {
    const viewFields = findView(scope, name)
    return viewFields ? [[name, viewFields.map((field) => field.name)] as const] : []
  })
  // The foreign key lets the model read the rest of a long relation with query_records.
  const relations = findRelations(reader, scope).map(
    ({ relation, foreignKey }) =>
      [
        relation.name,
        `${relation.cardinality} ${quoteName(relation.stream)} by ${quoteName(foreignKey.name)}`,
      ] as const,
  )
  const lexical = fields.filter((field) => field.lexical).map(({ name }) => name)
  const uses = aggregateUses.flatMap((use) => {
    const useFields = fields.filter(({ aggregates }) => aggregates.includes(use))
    return useFields.length > 0 ? [[use, useFields.map(({ name }) => name)] as const] : []
  })
  return dropUndefined({
    name: stream.name,
    title: stream.title,
    fields: byFlags,
    sort,
    count: ['none', 'exact'],
    projection: views.length > 0 ? ['fields', 'view'] : ['fields'],
    views: views.length > 0 ? Object.fromEntries(views) : undefined,
    expand: relations.length > 0 ? Object.fromEntries(relations) : undefined,
    search: lexical.length > 0 ? { lexical } : undefined,
    aggregations: { count: [], ...Object.fromEntries(uses) },
  })
}

function toFlags(field: Field): string {
  const { type, range, lexical } = field
  const flags: string[] = [type === 'other' ? 'json' : type]
  if (isScalar(field) && field.exact !== false) flags.push('eq')
  if (range.length === rangeOperators.length) flags.push('range')
  else if (range.length > 0) flags.push(`range(${range.join('|')})`)
  if (lexical) flags.push('search')
  return flags.join(' ')
}

/** The features as text: some clients show the model only the text. */
export function toFeatureLines(features: StreamFeatures): readonly string[] {
  const { fields, sort, views = {}, expand = {}, search, aggregations } = features
  const uses = Object.entries(aggregations).map(([use, names]) =>
    [use, ...names.map(quoteName)].join(' '),
  )
  return [
    ...Object.entries(fields).map(
      ([flags, names]) => `  ${flags}: ${names.map(quoteName).join(', ')}`,
    ),
    `  sort: ${sort.length > 0 ? `${sort.map(quoteName).join(' or ')} (newest first when left out)` : 'none (by id)'}`,
    `  count: none or exact. projection: fields${toViews(views)}`,
    `  expand: ${toPairs(expand) || 'none'}`,
    `  search modes: ${search ? `lexical over ${search.lexical.map(quoteName).join(', ')}` : 'none'}`,
    `  aggregate: ${uses.join('; ')}`,
    '  changes_since: "beginning", then next_changes_since of the last page',
  ]
}

const toViews = (views: Readonly<Record<string, readonly string[]>>): string =>
  Object.keys(views).length === 0
    ? ''
    : `, or view ${Object.entries(views)
        .map(([name, fields]) => `${quoteName(name)} (${fields.map(quoteName).join(' ')})`)
        .join(', ')}`

const toPairs = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([name, description]) => `${quoteName(name)} (${description})`)
    .join(', ')

/** Quotes names that would be ambiguous in a line of text. */
export const quoteName = (name: string): string =>
  /^-?[\w.-]+$/.test(name) ? name : JSON.stringify(name)
