import { text } from '../../capability/content.ts'
import { isFailed, type Outcome } from '../../capability/outcome.ts'
import { aggregateRecords } from './aggregate/aggregate-records.ts'
import { toAggregateAnswer } from './answers/aggregate-answer.ts'
import { toPageAnswer } from './answers/page-answer.ts'
import { toSearchAnswer, toSearchResult } from './answers/search-answer.ts'
import { fetchDocument } from './fetch/fetch-document.ts'
import { queryRecords } from './query/query-records.ts'
import type { Reader } from './reading/reader.ts'
import { recordAggregation, recordDisclosure, recordHits } from './reading/record-disclosure.ts'
import type { Reads } from './reads.ts'
import { describeSchema, type SchemaQuery } from './schema/describe-schema.ts'
import { searchRecords } from './search/search-records.ts'

/** Reads of a store in this process. Every disclosed record is logged for the owner. */
export const localReads = (reader: Reader): Reads => ({
  schema: (query) => answerSchema(reader, query),
  async query(query) {
    const page = await queryRecords(reader, query)
    if (isFailed(page)) return page
    const { scope, fields, keys } = page
    recordDisclosure(reader, scope, { tool: 'query_records', fields, records: keys })
    return toPageAnswer(page)
  },
  async aggregate(query) {
    const answer = await aggregateRecords(reader, query)
    if (isFailed(answer)) return answer
    recordAggregation(reader, answer, 'aggregate')
    return toAggregateAnswer(answer)
  },
  async search(query) {
    const page = await searchRecords(reader, query)
    if (isFailed(page)) return page
    recordHits(reader, page.hits)
    return toSearchAnswer({ ...page, results: page.hits.map(toSearchResult) })
  },
  fetch(query) {
    const result = fetchDocument(reader, query)
    if (isFailed(result)) return result
    const { scope, fields, row, document } = result
    recordDisclosure(reader, scope, { tool: 'fetch', fields, records: [row.key] })
    return { kind: 'done', data: document, content: [text(JSON.stringify(document))] }
  },
})

/** Needs no store: the schema follows from the granted scopes alone. */
export function answerSchema(reader: Pick<Reader, 'scopes'>, query: SchemaQuery): Outcome {
  const answer = describeSchema(reader, query)
  if (isFailed(answer)) return answer
  return { kind: 'done', data: { data: answer.data }, content: [text(answer.text)] }
}
