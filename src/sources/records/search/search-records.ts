import type { Json } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { type Data, toData } from '../grants/narrow-fields.ts'
import type { Scope } from '../grants/scope.ts'
import type { Field } from '../model/stream.ts'
import { invalidCursor } from '../query/query-records.ts'
import { type CursorBinding, openCursor, sealCursor } from '../reading/cursor.ts'
import { toConditions } from '../reading/filter.ts'
import { unknownConnection, unknownStream } from '../reading/find-scope.ts'
import { type Reader, yieldAndCheck, yieldRepeatedly } from '../reading/reader.ts'
import type { Row } from '../record-store.ts'
import { findNewest, type Match, type SearchPlace } from './newest-matches.ts'
import { type Score, scoreText } from './score.ts'
import { listWords, toIndexed } from './words.ts'

export interface SearchQuery {
  readonly q: string
  readonly streams?: readonly string[] | undefined
  readonly connection?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly filter?: unknown
  /** The same for one scope, where it is text whose meaning depends on the field. */
  readonly filterOf?: ((scope: Scope) => unknown) | undefined
}

export interface Hit {
  readonly scope: Scope
  readonly row: Row
  /** All that is granted of it. */
  readonly data: Data
  readonly score: number
  /** Granted, searchable, and with a match in it; the best one first. */
  readonly matched: readonly Field[]
  /** Where in that one the first match is. */
  readonly at: number
  readonly words: ReadonlySet<string>
}

export interface SearchPage {
  readonly hits: readonly Hit[]
  readonly nextCursor?: string
  /** How many of the newest matches were compared with each other, when there are older ones. */
  readonly ranked?: number
}

/** Matches that are compared with each other; older ones come after all of these. */
const windowLength = 400
/** Rows that are read before others have a turn. */
const rowsAtOnce = 100
/** Characters that are looked at before others have a turn. */
const charactersAtOnce = 24 * 1024
const usualHits = 10
const mostHits = 100
const mostWords = 16

/**
 * One ranking, one limit and one cursor over everything that is granted. Only granted, searchable
 * fields are matched, and only their text is scored: nothing else can move a hit. Matches are ranked
 * in windows by arrival, so that paging to the end meets each of them exactly once.
 */
export async function searchRecords(
  reader: Reader,
  query: SearchQuery,
): Promise<SearchPage | Failed> {
  const words = [...new Set(listWords(query.q))]
  if (words.length === 0)
    return cannotRead('invalid_argument', 'q has no word to look for: use letters or digits.')
  if (words.length > mostWords)
    return cannotRead(
      'invalid_argument',
      `q has more than ${mostWords} different words. Use fewer.`,
    )
  const places = toSearchPlaces(reader, query)
  if (isFailed(places)) return places
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
  const limit = Math.min(query.limit ?? usualHits, mostHits)
  const wanted = new Set(words)
  const hits: Hit[] = []
  let { below, after } = start
  let ranked: number | undefined
  for (;;) {
    const stop = await yieldAndCheck(reader)
    if (stop) return stop
    const window = await yieldRepeatedly(reader, readWindow(reader, places, wanted, below))
    if ('kind' in window) return window
    if (window.older && window.hits.length > 0) ranked ??= window.hits.length
    const left = window.hits.filter((hit) => isLeft(hit, after))
    const taken = left.slice(0, limit - hits.length)
    hits.push(...taken.map((one) => toHit(one, wanted)))
    const last = taken.at(-1)
    const next: Start | undefined =
      taken.length < left.length
        ? {
            below: Math.min(below, window.newest + 1),
            after: last && { score: last.score, arrival: last.row.arrival },
          }
        : window.older
          ? { below: window.oldest, after: undefined }
          : undefined
    if (!next) return { hits, ...(ranked !== undefined && { ranked }) }
    if (hits.length === limit)
      return {
        hits,
        nextCursor: sealCursor(reader.store.key, binding, toPlace(next)),
        ...(ranked !== undefined && { ranked }),
      }
    ;({ below, after } = next)
  }
}

/** Where to look: what is granted, searchable and asked for. */
export function toSearchPlaces(
  reader: Pick<Reader, 'scopes'>,
  query: SearchQuery,
): readonly SearchPlace[] | Failed {
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
  const places: SearchPlace[] = []
  for (const scope of reader.scopes) {
    const { source, fields } = scope
    if (connection !== undefined && source.connection.id !== connection) continue
    if (streams && !streams.includes(source.stream.name)) continue
    const conditions = toConditions(scope, query.filterOf ? query.filterOf(scope) : filter)
    if (isFailed(conditions)) return conditions
    const lexical = [...fields.values()].filter((field) => field.lexical)
    if (lexical.length > 0) places.push({ scope, fields: lexical, conditions })
  }
  return places
}

interface Start {
  /** Only arrivals below this. */
  readonly below: number
  /** The last hit that was given out of this window. */
  readonly after: { readonly score: number; readonly arrival: number } | undefined
}

const toPlace = ({ below, after }: Start): Json =>
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

interface Ranked {
  readonly hits: readonly Candidate[]
  readonly newest: number
  readonly oldest: number
  /** Whether there may be matches before the oldest of these. */
  readonly older: boolean
}

interface Candidate extends Score {
  readonly place: SearchPlace
  readonly row: Row
}

/** Pauses wherever others may have a turn. */
function* readWindow(
  { store }: Reader,
  places: readonly SearchPlace[],
  words: ReadonlySet<string>,
  below: number,
): Generator<undefined, Ranked> {
  const limit = windowLength + 1
  const asked = { words: toIndexed([...words]), below, limit }
  const found = yield* findNewest(store, places, asked)
  const kept = found.slice(0, windowLength)
  const hits: Candidate[] = []
  let unscored = rowsAtOnce
  let characters = 0
  const isEnough = (more: number): boolean => {
    characters += more
    if (characters < charactersAtOnce) return false
    characters = 0
    return true
  }
  for (const [place, matches] of group(kept)) {
    let left = matches.map(({ arrival }) => arrival)
    while (left.length > 0) {
      const arrived = store.byArrival(place.scope, left.slice(0, rowsAtOnce))
      for (const row of arrived.rows) {
        const data = toData(row.body, place.fields)
        const score = yield* scoreText(data, place.fields, words, isEnough)
        // The store may take for a match what is none.
        if (score.hasAll) hits.push({ place, row, ...score })
      }
      unscored -= arrived.rows.length
      if (unscored <= 0 || arrived.left.length > 0) {
        unscored = rowsAtOnce
        yield
      }
      left = [...arrived.left, ...left.slice(rowsAtOnce)]
    }
  }
  return {
    hits: hits.sort((a, b) => b.score - a.score || b.row.arrival - a.row.arrival),
    newest: kept[0]?.arrival ?? 0,
    oldest: kept.at(-1)?.arrival ?? 0,
    older: found.length > windowLength,
  }
}

/** Not given out yet. */
const isLeft = ({ score, row }: Candidate, after: Start['after']): boolean =>
  !after || score < after.score || (score === after.score && row.arrival < after.arrival)

const toHit = (
  { place: { scope }, row, score, matched, at }: Candidate,
  words: ReadonlySet<string>,
): Hit => ({
  scope,
  row,
  data: toData(row.body, [...scope.fields.values()]),
  score,
  matched,
  at,
  words,
})

function group(matches: readonly Match[]): Map<SearchPlace, Match[]> {
  const groups = new Map<SearchPlace, Match[]>()
  for (const match of matches) {
    const known = groups.get(match.place)
    if (known) known.push(match)
    else groups.set(match.place, [match])
  }
  return groups
}
