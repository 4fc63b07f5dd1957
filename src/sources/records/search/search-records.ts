import type { Json } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { type Data, toData } from '../model/record-data.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import { listWords, toIndexTerms } from '../model/words.ts'
import { invalidCursor } from '../query/record-page.ts'
import { type CursorBinding, openCursor, sealCursor } from '../reading/cursor.ts'
import { toConditions } from '../reading/filter.ts'
import { unknownConnection, unknownStream } from '../reading/find-scope.ts'
import { type Reader, yieldAndCheck, yieldRepeatedly } from '../reading/reader.ts'
import type { Row } from '../record-store.ts'
import { findNewest, type Match, type SearchTarget } from './newest-matches.ts'
import { type Score, scoreText } from './score.ts'

export interface SearchQuery {
  readonly q: string
  readonly streams?: readonly string[] | undefined
  readonly connection?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly filter?: unknown
  /** A filter per scope, for query strings whose values are parsed by the field's type. */
  readonly filterOf?: ((scope: Scope) => unknown) | undefined
}

export interface Hit {
  readonly scope: Scope
  readonly row: Row
  /** The record's granted fields. */
  readonly data: Data
  readonly score: number
  /** Granted, searchable fields with a match; the best one first. */
  readonly matchedFields: readonly Field[]
  /** Index of the first match in the best field. */
  readonly at: number
  readonly words: ReadonlySet<string>
}

export interface SearchPage {
  readonly hits: readonly Hit[]
  readonly nextCursor?: string
  /** Size of the first ranking window, when there are older matches outside it. */
  readonly rankedCount?: number | undefined
}

/** Matches ranked against each other; older ones follow in the next window. */
const windowSize = 400
/** Rows read between two yields. */
const rowsPerTurn = 100
/** Characters scored between two yields. */
const charactersPerTurn = 24 * 1024
const defaultHits = 10
const maxHits = 100
const maxWords = 16

/**
 * Searches all granted scopes with one ranking, one limit and one cursor. Only granted, searchable
 * fields are matched and scored, so text outside the grant cannot influence the ranking. Matches are
 * ranked within windows by arrival, so that paging to the end returns each of them exactly once.
 */
export async function searchRecords(
  reader: Reader,
  query: SearchQuery,
): Promise<SearchPage | Failed> {
  const words = [...new Set(listWords(query.q))]
  if (words.length === 0)
    return cannotRead(
      'invalid_argument',
      'q contains no word to search for: use letters or digits.',
    )
  if (words.length > maxWords)
    return cannotRead('invalid_argument', `q has more than ${maxWords} distinct words. Use fewer.`)
  const targets = toSearchTargets(reader, query)
  if (isFailed(targets)) return targets
  const binding: CursorBinding = {
    kind: 'search',
    grant: reader.fingerprint,
    query: {
      words,
      streams: [...(query.streams ?? [])].sort(),
      connection: query.connection ?? null,
      filter: (query.filter ?? null) as Json,
    },
  }
  const start = toStart(reader, binding, query.cursor)
  if (!start) return invalidCursor()
  const limit = Math.min(query.limit ?? defaultHits, maxHits)
  const terms = new Set(words)
  const hits: Hit[] = []
  let { below, after } = start
  let rankedCount: number | undefined
  for (;;) {
    const stop = await yieldAndCheck(reader)
    if (stop) return stop
    const window = await yieldRepeatedly(reader, readWindow(reader, targets, terms, below))
    if (isFailed(window)) return window
    if (window.hasOlder && window.hits.length > 0) rankedCount ??= window.hits.length
    const remaining = window.hits.filter((hit) => isAfter(hit, after))
    const page = remaining.slice(0, limit - hits.length)
    hits.push(...page.map((one) => toHit(one, terms)))
    const last = page.at(-1)
    const next: Start | undefined =
      page.length < remaining.length
        ? {
            below: Math.min(below, window.newest + 1),
            after: last && { score: last.score, arrival: last.row.arrival },
          }
        : window.hasOlder
          ? { below: window.oldest, after: undefined }
          : undefined
    if (!next) return { hits, rankedCount }
    if (hits.length === limit)
      return {
        hits,
        nextCursor: sealCursor(reader.store.key, binding, toPosition(next)),
        rankedCount,
      }
    ;({ below, after } = next)
  }
}

/** The scopes to search: granted, searchable, and selected by the query. */
export function toSearchTargets(
  reader: Pick<Reader, 'scopes'>,
  query: SearchQuery,
): readonly SearchTarget[] | Failed {
  const { streams, connection, filter } = query
  if (filter !== undefined && streams?.length !== 1)
    return cannotRead('invalid_filter', 'A filter needs exactly one stream: streams: ["name"].')
  if (
    connection !== undefined &&
    !reader.scopes.some(({ source }) => source.connection.id === connection)
  )
    return unknownConnection(reader)
  for (const stream of streams ?? [])
    if (!reader.scopes.some(({ source }) => source.stream.name === stream))
      return unknownStream(reader, stream)
  const targets: SearchTarget[] = []
  for (const scope of reader.scopes) {
    const { source, fields } = scope
    if (connection !== undefined && source.connection.id !== connection) continue
    if (streams && !streams.includes(source.stream.name)) continue
    const conditions = toConditions(scope, query.filterOf ? query.filterOf(scope) : filter)
    if (isFailed(conditions)) return conditions
    const lexical = [...fields.values()].filter((field) => field.lexical)
    if (lexical.length > 0) targets.push({ scope, fields: lexical, conditions })
  }
  return targets
}

interface Start {
  /** Exclusive upper bound on arrivals. */
  readonly below: number
  /** The last hit returned from this window. */
  readonly after: { readonly score: number; readonly arrival: number } | undefined
}

const toPosition = ({ below, after }: Start): Json =>
  after ? [below, after.score, after.arrival] : [below]

function toStart(
  reader: Reader,
  binding: CursorBinding,
  cursor: string | undefined,
): Start | undefined {
  if (cursor === undefined) return { below: Number.MAX_SAFE_INTEGER, after: undefined }
  const [below, score, arrival] = openCursor(reader.store.key, binding, cursor) ?? []
  if (typeof below !== 'number') return undefined
  return typeof score === 'number' && typeof arrival === 'number'
    ? { below, after: { score, arrival } }
    : { below, after: undefined }
}

interface RankedWindow {
  readonly hits: readonly Candidate[]
  readonly newest: number
  readonly oldest: number
  /** Whether there may be matches older than this window. */
  readonly hasOlder: boolean
}

interface Candidate extends Score {
  readonly target: SearchTarget
  readonly row: Row
}

/** Finds and scores the next window of matches. Yields so that other work can run. */
function* readWindow(
  { store }: Reader,
  targets: readonly SearchTarget[],
  words: ReadonlySet<string>,
  below: number,
): Generator<undefined, RankedWindow> {
  const limit = windowSize + 1
  const search = { words: toIndexTerms([...words]), below, limit }
  const newestMatches = yield* findNewest(store, targets, search)
  const windowMatches = newestMatches.slice(0, windowSize)
  const hits: Candidate[] = []
  let rowsLeft = rowsPerTurn
  let characters = 0
  const isEnough = (length: number): boolean => {
    characters += length
    if (characters < charactersPerTurn) return false
    characters = 0
    return true
  }
  for (const [target, matches] of groupByTarget(windowMatches)) {
    let remaining = matches.map(({ arrival }) => arrival)
    while (remaining.length > 0) {
      const batch = store.byArrival(target.scope, remaining.slice(0, rowsPerTurn))
      for (const row of batch.rows) {
        const data = toData(row.body, target.fields)
        const score = yield* scoreText(data, target.fields, words, isEnough)
        // The word index can return false positives.
        if (score.hasAll) hits.push({ target, row, ...score })
      }
      rowsLeft -= batch.rows.length
      if (rowsLeft <= 0 || batch.remaining.length > 0) {
        rowsLeft = rowsPerTurn
        yield
      }
      remaining = [...batch.remaining, ...remaining.slice(rowsPerTurn)]
    }
  }
  return {
    hits: hits.sort((a, b) => b.score - a.score || b.row.arrival - a.row.arrival),
    newest: windowMatches[0]?.arrival ?? 0,
    oldest: windowMatches.at(-1)?.arrival ?? 0,
    hasOlder: newestMatches.length > windowSize,
  }
}

/** Whether a hit ranks after the last one returned. */
const isAfter = ({ score, row }: Candidate, after: Start['after']): boolean =>
  !after || score < after.score || (score === after.score && row.arrival < after.arrival)

const toHit = (
  { target: { scope }, row, score, matchedFields, at }: Candidate,
  words: ReadonlySet<string>,
): Hit => ({
  scope,
  row,
  data: toData(row.body, [...scope.fields.values()]),
  score,
  matchedFields,
  at,
  words,
})

function groupByTarget(matches: readonly Match[]): Map<SearchTarget, Match[]> {
  const groups = new Map<SearchTarget, Match[]>()
  for (const match of matches) {
    const group = groups.get(match.target)
    if (group) group.push(match)
    else groups.set(match.target, [match])
  }
  return groups
}
