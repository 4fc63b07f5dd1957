import type { JsonObject } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import { cannotRead } from './failures.ts'
import { type Field, isScalar, type Relation } from './model.ts'
import { toData } from './project.ts'
import type { RecordsQuery, ServedRecord } from './query-records.ts'
import type { Reader } from './reader.ts'
import type { Row } from './record-store.ts'
import type { Scope } from './scope.ts'
import { toComparable } from './to-comparable.ts'

export interface Expansion {
  readonly relation: Relation
  readonly target: Scope
  readonly foreignKey: Field
  readonly limit: number
}

/** Relations that can be followed: both ends are granted, and so is the field that joins them. */
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
    const foreignKey = holder?.fields.get(relation.foreignKey)
    return target && foreignKey && isScalar(foreignKey)
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
  const known = findRelations(reader, scope)
  const names = known.map(({ relation }) => relation.name)
  const unknown = [...expand, ...Object.keys(expandLimit)].find((name) => !names.includes(name))
  if (unknown !== undefined)
    return cannotRead(
      'invalid_expand',
      `${JSON.stringify(unknown.slice(0, 200))} cannot be expanded. ${names.length === 0 ? 'Nothing can here.' : `There is: ${names.join(', ')}.`}`,
    )
  return known
    .filter(({ relation }) => expand.includes(relation.name))
    .map((one) => ({
      ...one,
      limit: Math.min(expandLimit[one.relation.name] ?? one.limit, one.relation.maxLimit),
    }))
}

/** Puts what belongs to each record into it, under the name of the relation. */
export function expandRecords(
  reader: Reader,
  scope: Scope,
  rows: readonly Row[],
  records: readonly ServedRecord[],
  expansions: readonly Expansion[],
): readonly ServedRecord[] {
  if (expansions.length === 0) return records
  return records.map((record, index) => {
    const row = rows[index]
    if (!row) return record
    const expanded = expansions.map((one) => [one.relation.name, follow(reader, scope, row, one)])
    return { ...record, expanded: Object.fromEntries(expanded) as JsonObject }
  })
}

function follow(
  { store }: Reader,
  scope: Scope,
  row: Row,
  { relation, target, foreignKey, limit }: Expansion,
): JsonObject {
  const toItem = ({ key, body }: Row): JsonObject => ({
    id: key,
    data: toData(body, [...target.fields.values()]) as JsonObject,
  })
  if (relation.cardinality === 'belongs_to') {
    const named = toData(row.body, [foreignKey])[foreignKey.name]
    const found =
      typeof named === 'string' || typeof named === 'number'
        ? store.find(target, String(named))
        : undefined
    return { object: 'list', data: found ? [toItem(found)] : [], has_more: false }
  }
  const value = toComparable(foreignKey, foreignKey.type === 'string' ? row.key : Number(row.key))
  if (value === undefined || scope.source.stream.primaryKey.length !== 1)
    return { object: 'list', data: [], has_more: false }
  const most = relation.cardinality === 'has_one' ? 1 : limit
  const found: Row[] = []
  let after: { readonly value: string | number | null; readonly key: string | null } | undefined
  do {
    const slice = store.slice(target, {
      descending: false,
      conditions: [{ field: foreignKey, operator: 'eq', value }],
      limit: most + 1 - found.length,
      ...(after && { after }),
    })
    found.push(...slice.rows)
    after = slice.resume
  } while (after && found.length <= most)
  return {
    object: 'list',
    data: found.slice(0, most).map(toItem),
    has_more: found.length > most,
  }
}
