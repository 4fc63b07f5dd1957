import type { Outcome } from '../../capability/outcome.ts'
import type { AggregateQuery } from './aggregate/plan-aggregation.ts'
import type { FetchQuery } from './fetch/fetch-document.ts'
import type { RecordsQuery } from './query/record-page.ts'
import type { SchemaQuery } from './schema/describe-schema.ts'
import type { SearchQuery } from './search/search-records.ts'

/** The five tools' reads, implemented by a local store and by a remote server. */
export interface Reads {
  schema(query: SchemaQuery): Promise<Outcome> | Outcome
  query(query: RecordsQuery): Promise<Outcome> | Outcome
  aggregate(query: AggregateQuery): Promise<Outcome> | Outcome
  search(query: SearchQuery): Promise<Outcome> | Outcome
  fetch(query: FetchQuery): Promise<Outcome> | Outcome
}
