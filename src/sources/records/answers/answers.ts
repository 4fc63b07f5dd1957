import { text } from '../../../capability/content.ts'
import type { Json, JsonObject } from '../../../capability/json.ts'
import type { Done, Failed } from '../../../capability/outcome.ts'
import { type Aggregation, defaultGroups } from '../aggregate/aggregate-records.ts'
import { toAuthoredAt, toTitle } from '../fetch/title.ts'
import { toRecordId, toUrl } from '../model/record-id.ts'
import type { RecordPage, ServedRecord, Warning } from '../query/query-records.ts'
import type { Reader } from '../reading/reader.ts'
import { recordDisclosure } from '../reading/record-disclosure.ts'
import { word } from '../schema/stream-features.ts'
import type { Hit, SearchPage } from '../search/search-records.ts'
import { toSnippet } from '../search/snippet.ts'

/** Characters of records that one text holds; what does not fit is shortened, and said. */
const longestRecords = 40_000
const longestValue = 400

/** A page of records, twice: as data, and as text that needs nothing else. */
export function toPageAnswer(page: RecordPage): Done {
  const { scope, records, warnings } = page
  const { connection, stream } = scope.source
  const emittedAt = findCommon(records)
  const { lines, shortened } = toLines(records, emittedAt)
  const head = [
    `${records.length} of stream ${word(stream.name)}, connection_id ${word(connection.id)}.`,
    ...toHandles(page),
    ...(emittedAt === undefined ? [] : [`All with emitted_at ${word(emittedAt)}.`]),
    ...(shortened ? ['Long values are shortened; fetch one to read it whole.'] : []),
    ...warnings.map(({ message }) => message),
    ...(records.length > 0
      ? [
          `To fetch one, its id is ${JSON.stringify(toRecordId(connection.id, stream.name, ''))} followed by the id below.`,
        ]
      : []),
  ].join(' ')
  return {
    kind: 'done',
    data: { data: toListEnvelope(page) },
    content: [text([head, ...lines].join('\n'))],
  }
}

export const toListEnvelope = (page: RecordPage): JsonObject => ({
  object: 'list',
  data: page.records,
  has_more: page.hasMore,
  ...(page.nextCursor !== undefined && { next_cursor: page.nextCursor }),
  ...(page.nextChangesSince !== undefined && { next_changes_since: page.nextChangesSince }),
  meta: {
    count: page.count === undefined ? { kind: 'none' } : { kind: 'exact', value: page.count },
    warnings: page.warnings,
  },
})

/** Whatever goes on from here must be in the text. */
const toHandles = (page: Partial<RecordPage>): readonly string[] => [
  `has_more ${page.hasMore}.`,
  ...(page.nextCursor === undefined ? [] : [`next_cursor ${JSON.stringify(page.nextCursor)}.`]),
  ...(page.nextChangesSince === undefined
    ? []
    : [`next_changes_since ${JSON.stringify(page.nextChangesSince)}.`]),
  ...(page.count === undefined ? [] : [`count exact ${page.count}.`]),
]

/** What came in with one import has one time, and fifty times it would be most of a short text. */
function findCommon([first, ...others]: readonly ServedRecord[]): string | undefined {
  const at = first?.emitted_at
  return others.length > 0 && others.every(({ emitted_at }) => emitted_at === at) ? at : undefined
}

function toLines(
  records: readonly ServedRecord[],
  emittedAt: string | undefined,
): {
  lines: readonly string[]
  shortened: boolean
} {
  const short = records.map(({ id, emitted_at, deleted, data, expanded }) => ({
    id,
    ...(emittedAt === undefined && { emitted_at }),
    ...(deleted === true && { deleted }),
    ...(data && { data }),
    ...(expanded !== undefined && { expanded }),
  }))
  const whole = short.map((record) => JSON.stringify(record))
  if (size(whole) <= longestRecords) return { lines: whole, shortened: false }
  const most = Math.max(40, Math.min(longestValue, Math.floor(longestRecords / records.length / 8)))
  const cut = short.map((record) => JSON.stringify(record, (_, value) => shorten(value, most)))
  let room = longestRecords
  const lines = cut.map((line, index) => {
    room -= line.length
    return room >= 0
      ? line
      : JSON.stringify({ id: short[index]?.id, left_out: 'too long; fetch it' })
  })
  return { lines, shortened: true }
}

const shorten = (value: unknown, most: number): unknown =>
  typeof value === 'string' && value.length > most
    ? `${value.slice(0, most)}… (${value.length} characters)`
    : value

const size = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + line.length, 0)

export function toAggregateAnswer(answer: Aggregation): Done {
  const { scope, query, groups } = answer
  const { connection, stream } = scope.source
  const what = `${query.metric}${query.field === undefined ? '' : ` of ${word(query.field)}`} in stream ${word(stream.name)}, connection_id ${word(connection.id)}`
  const lines = groups
    ? [
        `${what}, by ${word(query.groupBy ?? query.groupByTime ?? '')}${query.granularity ? ` per ${query.granularity} (${query.timeZone ?? 'UTC'})` : ''}: ${groups.length} of ${answer.groupCount} groups, ${answer.filteredRecordCount} records, other_count ${answer.otherCount}.`,
        ...groups.map(({ key, value }) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`),
        ...((answer.groupCount ?? 0) > groups.length
          ? ['Raise limit (at most 100) or filter to see more groups.']
          : []),
      ]
    : [`${what} = ${JSON.stringify(answer.value)}. ${answer.filteredRecordCount} records match.`]
  return {
    kind: 'done',
    data: { data: toAggregationData(answer) },
    content: [text(lines.join('\n'))],
  }
}

export function toAggregationData(answer: Aggregation): JsonObject {
  const { scope, query, groups } = answer
  return {
    object: 'aggregation',
    stream: scope.source.stream.name,
    connection_id: scope.source.connection.id,
    metric: query.metric,
    field: query.field ?? null,
    group_by: query.groupBy ?? null,
    group_by_time: query.groupByTime ?? null,
    granularity: query.granularity ?? null,
    time_zone: query.groupByTime === undefined ? null : (query.timeZone ?? 'UTC'),
    approximate: false,
    filtered_record_count: answer.filteredRecordCount,
    ...(groups
      ? {
          groups: groups.map(({ key, count, value }) => ({
            key,
            count,
            ...(query.metric !== 'count' && { value }),
          })),
          limit: query.limit ?? defaultGroups,
          group_count: answer.groupCount ?? 0,
          other_count: answer.otherCount ?? 0,
        }
      : { value: answer.value ?? null }),
  }
}

/** Hits in their final shape, wherever they were found. */
export interface FoundHits {
  readonly results: readonly SearchResult[]
  readonly nextCursor?: string | undefined
  readonly ranked?: number | undefined
  readonly warnings?: readonly Warning[]
}

export interface SearchResult extends JsonObject {
  readonly id: string
  readonly title: string
  readonly stream: string
  readonly record_id: string
  readonly connection_id: string
  readonly connector_key: string
  readonly display_name?: string
  readonly snippet: string
}

export function toSearchAnswer(found: FoundHits): Done {
  const { results, nextCursor, ranked, warnings = [] } = found
  const mix = toSourceMix(results)
  const hasMore = nextCursor !== undefined
  const head = [
    `${results.length} ${results.length === 1 ? 'hit' : 'hits'}.`,
    ...toHandles({ hasMore, ...(hasMore && { nextCursor }) }),
    ...(mix.length > 1
      ? [
          `Sources: ${mix
            .slice(0, 12)
            .map(
              ({ connection_id, display_name, count }) =>
                `${word(connection_id)}${display_name === undefined ? '' : ` (${JSON.stringify(display_name)})`} ${count}`,
            )
            .join(', ')}${mix.length > 12 ? `, and ${mix.length - 12} more` : ''}.`,
        ]
      : []),
    ...(ranked === undefined ? [] : [toRankedWords(ranked)]),
    ...warnings.map(({ message }) => message),
    ...(results.length > 0
      ? [
          'Pass an id to fetch to read it. Each: id | connector_key connection_id, stream | title | snippet.',
        ]
      : [
          'Nothing granted and searchable has all of these words, and only whole words match: try fewer, or other forms.',
        ]),
  ].join(' ')
  const lines = results.map((one) => {
    const { id, title, connector_key, connection_id, display_name, stream, snippet } = one
    const label = display_name === undefined ? '' : ` (${JSON.stringify(display_name)})`
    const source = `${word(connector_key)} ${word(connection_id)}${label}, ${word(stream)}`
    return `id ${JSON.stringify(id)} | ${source} | ${title} | ${snippet}`
  })
  return {
    kind: 'done',
    data: {
      data: {
        object: 'list',
        result_count: results.length,
        has_more: hasMore,
        ...(hasMore && { next_cursor: nextCursor }),
        meta: toSearchMeta(mix, ranked, warnings),
      },
      results,
    },
    content: [text([head, ...lines].join('\n'))],
  }
}

export function toSearchEnvelope(
  { hits, nextCursor, ranked }: SearchPage,
  warnings: readonly Warning[],
): JsonObject {
  const results = hits.map(toReadResult)
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
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    meta: toSearchMeta(toSourceMix(results), ranked, warnings),
  }
}

/** What the number of a hit means, as the read contract says it. */
export const lexicalScore = { kind: 'lexical', order: 'higher_is_better' } as const

const toSearchMeta = (
  mix: readonly SourceCount[],
  ranked: number | undefined,
  warnings: readonly Warning[] = [],
): JsonObject => ({
  source_mix: mix,
  warnings: [
    ...warnings,
    ...(ranked === undefined ? [] : [{ code: 'ranking_window', message: toRankedWords(ranked) }]),
  ],
})

const toRankedWords = (ranked: number): string =>
  `Ranked among the newest ${ranked} matches; older ones follow on later pages.`

export function noteHits(reader: Reader, hits: readonly Hit[]): void {
  const byScope = new Map<Hit['scope'], string[]>()
  for (const { scope, row } of hits) byScope.set(scope, [...(byScope.get(scope) ?? []), row.key])
  for (const [scope, records] of byScope)
    recordDisclosure(reader, scope, { tool: 'search', fields: [...scope.fields.values()], records })
}

interface SourceCount extends JsonObject {
  readonly connection_id: string
  readonly connector_key: string
  readonly display_name?: string
  readonly count: number
}

function toSourceMix(results: readonly SearchResult[]): readonly SourceCount[] {
  const mix = new Map<string, SourceCount>()
  for (const { connection_id, connector_key, display_name } of results) {
    const count = (mix.get(connection_id)?.count ?? 0) + 1
    mix.set(connection_id, {
      connection_id,
      connector_key,
      ...(display_name !== undefined && { display_name }),
      count,
    })
  }
  return [...mix.values()].sort((x, y) => y.count - x.count)
}

export function toReadResult({ scope, row, data, matched, at, words, score }: Hit): SearchResult {
  const { connection, stream } = scope.source
  const [best] = matched
  const found = best && data[best.name]
  const authoredAt = toAuthoredAt(stream.consentTimeField, data)
  return {
    id: toRecordId(connection.id, stream.name, row.key),
    title: toTitle(scope, data, row),
    url: toUrl({ connection: connection.id, stream: stream.name, key: row.key }, data),
    stream: stream.name,
    record_id: row.key,
    connection_id: connection.id,
    connector_key: connection.connector,
    ...(connection.label !== undefined && { display_name: connection.label }),
    emitted_at: row.emittedAt,
    ...(authoredAt !== undefined && { authored_at: authoredAt }),
    matched_fields: matched.map(({ name }) => name),
    snippet: typeof found === 'string' ? toSnippet(found, words, at) : '',
    score,
  }
}

/** What went wrong, with everything that is needed to do it right, for those who read text alone. */
export function toFailedAnswer(failed: Failed): Failed {
  const { code, message, details = {} } = failed.failure
  if (failed.failure.fixedBy !== 'model') return failed
  const error: Record<string, Json | undefined> = { code, message, ...details }
  return { ...failed, content: [text(`Error: ${message}\n${JSON.stringify({ error })}`)] }
}
