import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { toData } from '../model/record-data.ts'
import type { Scope } from '../model/scope.ts'
import { type Field, isScalar, type Relation } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'
import { type Reader, yieldRepeatedly } from '../reading/reader.ts'
import { recordDisclosure } from '../reading/record-disclosure.ts'
import { toServedKey } from '../reading/record-key.ts'
import type { Position, Row } from '../record-store.ts'
import type { RecordsQuery, ServedRecord, Warning } from './record-page.ts'

export interface Expansion {
  readonly relation: Relation
  readonly target: Scope
  readonly foreignKey: Field
  readonly limit: number
}

/**
 * Relations that can be expanded: both streams, the foreign key, and the primary key that it refers to are
 * granted. An expansion shows that the two are equal, which would reveal a primary key outside the grant.
 */
export function findRelations(
  { scopes }: Pick<Reader, 'scopes'>,
  scope: Scope,
): readonly Expansion[] {
  return scope.source.stream.relations.flatMap((relation) => {
    const target = scopes.find(
      ({ source }) =>
        source.connection.id === scope.source.connection.id &&
        source.stream.name === relation.stream,
    )
    const holder = relation.cardinality === 'belongs_to' ? scope : target
    const referred = relation.cardinality === 'belongs_to' ? target : scope
    const foreignKey = holder?.fields.get(relation.foreignKey)
    const isKeyGranted = referred?.idKey === undefined
    return target && foreignKey && isScalar(foreignKey) && isKeyGranted
      ? [{ relation, target, foreignKey, limit: relation.defaultLimit }]
      : []
  })
}

export function toExpansions(
  reader: Pick<Reader, 'scopes'>,
  scope: Scope,
  { expand = [], expandLimit = {} }: Pick<RecordsQuery, 'expand' | 'expandLimit'>,
): readonly Expansion[] | Failed {
  if (expand.length === 0 && Object.keys(expandLimit).length === 0) return []
  const available = findRelations(reader, scope)
  const names = available.map(({ relation }) => relation.name)
  const unknown = [...expand, ...Object.keys(expandLimit)].find((name) => !names.includes(name))
  if (unknown !== undefined)
    return cannotRead(
      'invalid_expand',
      `${JSON.stringify(unknown.slice(0, 200))} cannot be expanded. ${names.length === 0 ? 'This stream has no relations to expand.' : `Available: ${names.join(', ')}.`}`,
    )
  return available
    .filter(({ relation }) => expand.includes(relation.name))
    .map((one) => ({
      ...one,
      limit: Math.min(expandLimit[one.relation.name] ?? one.limit, one.relation.maxLimit),
    }))
}

/** Warnings for limits above a relation's maximum. */
export const toClampedExpansions = (
  expansions: readonly Expansion[],
  { expandLimit = {} }: Pick<RecordsQuery, 'expandLimit'>,
): readonly Warning[] =>
  expansions.flatMap(({ relation: { name, maxLimit } }) => {
    const requestedLimit = expandLimit[name] ?? 0
    return requestedLimit <= maxLimit
      ? []
      : [
          {
            code: 'limit_clamped',
            param: 'expand_limit',
            message: `expand_limit of ${name} was reduced to ${maxLimit}.`,
            detail: { requested_limit: requestedLimit, max_limit: maxLimit },
          },
        ]
  })

/** Adds the related records to each record, under the name of the relation. */
export async function expandPage(
  reader: Reader,
  ...page: Expandable
): Promise<readonly ServedRecord[] | Failed> {
  const expandedPage = await yieldRepeatedly(reader, expandEach(reader, ...page))
  return isFailed(expandedPage) ? expandedPage : disclose(reader, expandedPage)
}

type Expandable = readonly [
  scope: Scope,
  rows: readonly Row[],
  records: readonly ServedRecord[],
  expansions: readonly Expansion[],
]

interface ExpandedPage {
  readonly records: readonly ServedRecord[]
  /** Keys of the related records, by scope. */
  readonly relatedKeys: ReadonlyMap<Scope, ReadonlySet<string>>
}

function disclose(reader: Reader, { records, relatedKeys }: ExpandedPage): readonly ServedRecord[] {
  for (const [target, keys] of relatedKeys)
    recordDisclosure(reader, target, {
      tool: 'expand',
      fields: [...target.fields.values()],
      records: [...keys],
    })
  return records
}

/** Yields after every record, so that other work can run. */
function* expandEach(
  reader: Reader,
  ...[scope, rows, records, expansions]: Expandable
): Generator<undefined, ExpandedPage> {
  const relatedKeys = new Map<Scope, Set<string>>()
  if (expansions.length === 0) return { records, relatedKeys }
  const expandedRecords: ServedRecord[] = []
  for (const [index, record] of records.entries()) {
    const row = rows[index]
    const lists: [string, JsonObject][] = []
    for (const one of row ? expansions : []) {
      const { rows: relatedRows, hasMore } = yield* follow(reader, scope, row as Row, one)
      const { relation, target } = one
      lists.push([relation.name, toList(target, relatedRows, hasMore)])
      const keys = relatedKeys.get(target) ?? new Set()
      for (const { key } of relatedRows) relatedKeys.set(target, keys.add(key))
    }
    expandedRecords.push(row ? { ...record, expanded: Object.fromEntries(lists) } : record)
    yield
  }
  return { records: expandedRecords, relatedKeys }
}

const toList = (target: Scope, rows: readonly Row[], hasMore: boolean): JsonObject => ({
  object: 'list',
  data: rows.map(({ key, body, isUnreadable }) => ({
    id: toServedKey(target, key),
    ...(isUnreadable
      ? { unreadable: true }
      : { data: toData(body, [...target.fields.values()]) as JsonObject }),
  })),
  has_more: hasMore,
})

interface RelatedRows {
  readonly rows: readonly Row[]
  readonly hasMore: boolean
}

const none: RelatedRows = { rows: [], hasMore: false }

function* follow(
  { store }: Reader,
  scope: Scope,
  row: Row,
  { relation, target, foreignKey, limit }: Expansion,
): Generator<undefined, RelatedRows> {
  if (relation.cardinality === 'belongs_to') {
    const reference = toData(row.body, [foreignKey])[foreignKey.name]
    if (typeof reference !== 'string' && typeof reference !== 'number') return none
    const relatedRow = store.find(target, String(reference))
    return relatedRow ? { rows: [relatedRow], hasMore: false } : none
  }
  const value = toComparable(foreignKey, foreignKey.type === 'string' ? row.key : Number(row.key))
  if (value === undefined || scope.source.stream.primaryKey.length !== 1) return none
  const max = relation.cardinality === 'has_one' ? 1 : limit
  const rows: Row[] = []
  for (let after: Position | undefined; ; ) {
    const slice = store.slice(target, {
      sort: foreignKey,
      descending: false,
      conditions: [{ field: foreignKey, operator: 'eq', value }],
      limit: max + 1 - rows.length,
      after,
    })
    rows.push(...slice.rows)
    after = slice.resume
    if (!after || rows.length > max) return { rows: rows.slice(0, max), hasMore: rows.length > max }
    yield
  }
}
