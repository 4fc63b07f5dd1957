import type { Aggregation } from '../aggregate/aggregate-records.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import type { Hit } from '../search/search-records.ts'
import type { Reader } from './reader.ts'

export interface DisclosedRead {
  readonly tool: string
  readonly fields: readonly Field[]
  /** Keys of the disclosed records. */
  readonly records: readonly string[]
}

/** Appends a read to the owner's disclosure log. */
export const recordDisclosure = (
  reader: Reader,
  scope: Scope,
  { tool, fields, records }: DisclosedRead,
): void =>
  reader.store.disclose({
    package: reader.package.id,
    grant: scope.grant,
    tool,
    connection: scope.source.connection.id,
    stream: scope.source.stream.name,
    fields: fields.map(({ name }) => name),
    records,
  })

/** Logs an aggregation: no records, but the fields that were read. */
export function recordAggregation(
  reader: Reader,
  { scope, query }: Aggregation,
  tool: string,
): void {
  const fields = [query.field, query.groupBy, query.groupByTime].flatMap((name) =>
    name === undefined ? [] : (scope.fields.get(name) ?? []),
  )
  recordDisclosure(reader, scope, { tool, fields, records: [] })
}

/** Logs search hits, one entry per scope. */
export function recordHits(reader: Reader, hits: readonly Hit[]): void {
  const byScope = new Map<Hit['scope'], string[]>()
  for (const { scope, row } of hits) byScope.set(scope, [...(byScope.get(scope) ?? []), row.key])
  for (const [scope, records] of byScope)
    recordDisclosure(reader, scope, { tool: 'search', fields: [...scope.fields.values()], records })
}
