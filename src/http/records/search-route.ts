import { isFailed } from '../../capability/outcome.ts'
import { toSearchEnvelope } from '../../sources/records/answers/search-answer.ts'
import { recordHits } from '../../sources/records/reading/record-disclosure.ts'
import { searchRecords } from '../../sources/records/search/search-records.ts'
import { type ReadRoute, toClampWarnings, toLimit } from './read-route.ts'

/** Full-text search over streams. */
export const searchRoute: ReadRoute = {
  path: /^\/v1\/search$/,
  tool: 'search',
  parameters: ['q', 'streams', 'streams[]', 'limit', 'cursor', 'filter'],
  async read(reader, { one, many, filter, warnings }) {
    const page = await searchRecords(reader, {
      q: one('q') ?? '',
      streams: many('streams') ?? many('streams[]'),
      connection: one('connection_id'),
      limit: toLimit(one('limit')),
      cursor: one('cursor'),
      filter: filter(),
      filterOf: filter,
    })
    if (isFailed(page)) return page
    recordHits(reader, page.hits)
    return toSearchEnvelope(page, [...warnings, ...toClampWarnings(one('limit'))])
  },
}
