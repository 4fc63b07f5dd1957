import type { Aggregation } from '../aggregate/aggregate-records.ts'
import type { Scope } from '../grants/scope.ts'
import type { Field } from '../model/stream.ts'
import type { Reader } from './reader.ts'

export interface Noted {
  readonly tool: string
  readonly fields: readonly Field[]
  /** Keys of the records that were given out. */
  readonly records: readonly string[]
}

/** Writes down for the owner what was given out under the grant. */
export const recordDisclosure = (
  reader: Reader,
  scope: Scope,
  { tool, fields, records }: Noted,
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

/** The same where records were only counted: the fields that were looked at. */
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
