import type { JsonObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { toData } from '../grants/narrow-fields.ts'
import type { Scope } from '../grants/scope.ts'
import { type Field, isScalar, type Relation } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'
import { type Reader, yieldRepeatedly } from '../reading/reader.ts'
import { recordDisclosure } from '../reading/record-disclosure.ts'
import type { Position, Row } from '../record-store.ts'
import type { RecordsQuery, ServedRecord, Warning } from './query-records.ts'

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

/** Where more was asked for than a relation gives. */
export const toClampedExpansions = (
  expansions: readonly Expansion[],
  { expandLimit = {} }: Pick<RecordsQuery, 'expandLimit'>,
): readonly Warning[] =>
  expansions.flatMap(({ relation: { name, maxLimit } }) => {
    const asked = expandLimit[name] ?? 0
    return asked <= maxLimit
      ? []
      : [
          {
            code: 'limit_clamped',
            param: 'expand_limit',
            message: `expand_limit of ${name} was set to ${maxLimit}.`,
            detail: { requested_limit: asked, max_limit: maxLimit },
          },
        ]
  })

/** Puts what belongs to each record into it, under the name of the relation. */
export async function expandPage(
  reader: Reader,
  ...page: Expandable
): Promise<readonly ServedRecord[] | Failed> {
  const expanded = await yieldRepeatedly(reader, expandEach(reader, ...page))
  return 'kind' in expanded ? expanded : giveOut(reader, expanded)
}

type Expandable = readonly [
  scope: Scope,
  rows: readonly Row[],
  records: readonly ServedRecord[],
  expansions: readonly Expansion[],
]

interface Expanded {
  readonly records: readonly ServedRecord[]
  /** What was put into them: keys of records by where they are from. */
  readonly followed: ReadonlyMap<Scope, ReadonlySet<string>>
}

function giveOut(reader: Reader, { records, followed }: Expanded): readonly ServedRecord[] {
  for (const [target, keys] of followed)
    recordDisclosure(reader, target, {
      tool: 'expand',
      fields: [...target.fields.values()],
      records: [...keys],
    })
  return records
}

/** Pauses wherever others may have a turn. */
function* expandEach(
  reader: Reader,
  ...[scope, rows, records, expansions]: Expandable
): Generator<undefined, Expanded> {
  const followed = new Map<Scope, Set<string>>()
  if (expansions.length === 0) return { records, followed }
  const expanded: ServedRecord[] = []
  for (const [index, record] of records.entries()) {
    const row = rows[index]
    const lists: [string, JsonObject][] = []
    for (const one of row ? expansions : []) {
      const { found, hasMore } = yield* follow(reader, scope, row as Row, one)
      const { relation, target } = one
      lists.push([relation.name, toList(target, found, hasMore)])
      const keys = followed.get(target) ?? new Set()
      for (const { key } of found) followed.set(target, keys.add(key))
    }
    expanded.push(row ? { ...record, expanded: Object.fromEntries(lists) } : record)
    yield
  }
  return { records: expanded, followed }
}

const toList = (target: Scope, found: readonly Row[], hasMore: boolean): JsonObject => ({
  object: 'list',
  data: found.map(({ key, body }) => ({
    id: key,
    data: toData(body, [...target.fields.values()]) as JsonObject,
  })),
  has_more: hasMore,
})

interface Related {
  readonly found: readonly Row[]
  readonly hasMore: boolean
}

const nothing: Related = { found: [], hasMore: false }

function* follow(
  { store }: Reader,
  scope: Scope,
  row: Row,
  { relation, target, foreignKey, limit }: Expansion,
): Generator<undefined, Related> {
  if (relation.cardinality === 'belongs_to') {
    const named = toData(row.body, [foreignKey])[foreignKey.name]
    if (typeof named !== 'string' && typeof named !== 'number') return nothing
    const found = store.find(target, String(named))
    return found ? { found: [found], hasMore: false } : nothing
  }
  const value = toComparable(foreignKey, foreignKey.type === 'string' ? row.key : Number(row.key))
  if (value === undefined || scope.source.stream.primaryKey.length !== 1) return nothing
  const most = relation.cardinality === 'has_one' ? 1 : limit
  const found: Row[] = []
  for (let after: Position | undefined; ; ) {
    const slice = store.slice(target, {
      sort: foreignKey,
      descending: false,
      conditions: [{ field: foreignKey, operator: 'eq', value }],
      limit: most + 1 - found.length,
      ...(after && { after }),
    })
    found.push(...slice.rows)
    after = slice.resume
    if (!after || found.length > most)
      return { found: found.slice(0, most), hasMore: found.length > most }
    yield
  }
}
