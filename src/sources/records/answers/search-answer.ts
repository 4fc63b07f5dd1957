import { text } from '../../../capability/content.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Done } from '../../../capability/outcome.ts'
import { toAuthoredAt, toTitle } from '../fetch/title.ts'
import { toRecordId, toUrl } from '../model/record-id.ts'
import type { Warning } from '../query/record-page.ts'
import { toServedKey } from '../reading/record-key.ts'
import { quoteName } from '../schema/stream-features.ts'
import type { Hit, SearchPage } from '../search/search-records.ts'
import { toSnippet } from '../search/snippet.ts'
import { toContinuation } from './continuation.ts'

/** Search results of a local store or a remote server. */
export interface SearchHits {
  readonly results: readonly SearchResult[]
  readonly nextCursor?: string | undefined
  readonly rankedCount?: number | undefined
  readonly warnings?: readonly Warning[]
}

export interface SearchResult extends JsonObject {
  readonly id: string
  readonly title: string
  readonly stream: string
  readonly record_id: string
  readonly connection_id: string
  readonly connector_key: string
  readonly display_name?: string | undefined
  readonly snippet: string
}

export function toSearchAnswer(hits: SearchHits): Done {
  const { results, nextCursor, rankedCount, warnings = [] } = hits
  const mix = toSourceMix(results)
  const hasMore = nextCursor !== undefined
  const head = [
    `${results.length} ${results.length === 1 ? 'hit' : 'hits'}.`,
    ...toContinuation({ hasMore, nextCursor }),
    ...(mix.length > 1
      ? [
          `Sources: ${mix
            .slice(0, 12)
            .map(
              ({ connection_id, display_name, count }) =>
                `${quoteName(connection_id)}${display_name === undefined ? '' : ` (${JSON.stringify(display_name)})`} ${count}`,
            )
            .join(', ')}${mix.length > 12 ? `, and ${mix.length - 12} more` : ''}.`,
        ]
      : []),
    ...(rankedCount === undefined ? [] : [toRankingNote(rankedCount)]),
    ...warnings.map(({ message }) => message),
    ...(results.length > 0
      ? [
          'Pass an id to fetch to read the record. Line format: id | connector_key connection_id, stream | title | snippet.',
        ]
      : [
          'No granted, searchable field contains all of these words. Only whole words match: try fewer words or other forms.',
        ]),
  ].join(' ')
  const lines = results.map((one) => {
    const { id, title, connector_key, connection_id, display_name, stream, snippet } = one
    const label = display_name === undefined ? '' : ` (${JSON.stringify(display_name)})`
    const source = `${quoteName(connector_key)} ${quoteName(connection_id)}${label}, ${quoteName(stream)}`
    return `id ${JSON.stringify(id)} | ${source} | ${title} | ${snippet}`
  })
  return {
    kind: 'done',
    data: {
      data: {
        object: 'list',
        result_count: results.length,
        has_more: hasMore,
        next_cursor: nextCursor,
        meta: toSearchMeta(mix, rankedCount, warnings),
      },
      results,
    },
    content: [text([head, ...lines].join('\n'))],
  }
}

export function toSearchEnvelope(
  { hits, nextCursor, rankedCount }: SearchPage,
  warnings: readonly Warning[],
): JsonObject {
  const results = hits.map(toSearchResult)
  return {
    object: 'list',
    data: results.map(({ id, record_id, snippet, score = 0, ...hit }) => ({
      object: 'search_result',
      ...hit,
      score: { ...lexicalScore, value: score },
      record_key: record_id,
      connector_id: hit.connector_key,
      snippet: { field: (hit.matched_fields as readonly string[])[0] ?? '', text: snippet },
    })),
    has_more: nextCursor !== undefined,
    next_cursor: nextCursor,
    meta: toSearchMeta(toSourceMix(results), rankedCount, warnings),
  }
}

/** The read contract's description of a hit's score. */
export const lexicalScore = { kind: 'lexical', order: 'higher_is_better' } as const

const toSearchMeta = (
  mix: readonly SourceCount[],
  rankedCount: number | undefined,
  warnings: readonly Warning[] = [],
): JsonObject => ({
  source_mix: mix,
  warnings: [
    ...warnings,
    ...(rankedCount === undefined
      ? []
      : [{ code: 'ranking_window', message: toRankingNote(rankedCount) }]),
  ],
})

const toRankingNote = (rankedCount: number): string =>
  `Ranked among the newest ${rankedCount} matches; older ones follow on later pages.`

interface SourceCount extends JsonObject {
  readonly connection_id: string
  readonly connector_key: string
  readonly display_name?: string | undefined
  readonly count: number
}

function toSourceMix(results: readonly SearchResult[]): readonly SourceCount[] {
  const mix = new Map<string, SourceCount>()
  for (const { connection_id, connector_key, display_name } of results) {
    const count = (mix.get(connection_id)?.count ?? 0) + 1
    mix.set(connection_id, {
      connection_id,
      connector_key,
      display_name,
      count,
    })
  }
  return [...mix.values()].sort((x, y) => y.count - x.count)
}

export function toSearchResult({
  scope,
  row,
  data,
  matchedFields,
  at,
  words,
  score,
}: Hit): SearchResult {
  const { connection, stream } = scope.source
  const [best] = matchedFields
  const matchedText = best && data[best.name]
  const authoredAt = toAuthoredAt(stream.consentTimeField, data)
  const key = toServedKey(scope, row.key)
  return {
    id: toRecordId(connection.id, stream.name, key),
    title: toTitle(scope, data, { key, emittedAt: row.emittedAt }),
    url: toUrl({ connection: connection.id, stream: stream.name, key }, data),
    stream: stream.name,
    record_id: key,
    connection_id: connection.id,
    connector_key: connection.connector,
    display_name: connection.label,
    emitted_at: row.emittedAt,
    authored_at: authoredAt,
    matched_fields: matchedFields.map(({ name }) => name),
    snippet: typeof matchedText === 'string' ? toSnippet(matchedText, words, at) : '',
    score,
  }
}
