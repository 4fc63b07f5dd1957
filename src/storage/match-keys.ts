import { toData } from '../sources/records/project.ts'
import type { Matches, MatchQuery, Row } from '../sources/records/record-store.ts'
import type { Scope } from '../sources/records/scope.ts'
import { listWords } from '../sources/records/words.ts'
import { fillLong } from './long-bodies.ts'
import { bodyUpTo, type Packed, pack, unpack } from './packed-rows.ts'
import type { ReadBounds } from './read-bounds.ts'
import { toWhere } from './record-sql.ts'
import { id, type Sql, sql } from './sql.ts'

type All = <Found>(query: Sql) => Found[]

/** Records that are read before others have a turn. */
const rowsAtOnce = 100

/**
 * The same as the index finds, where a few records are named: each of them is read, so that how many
 * others have the words does not show.
 */
export function matchKeys(
  all: All,
  scope: Scope,
  { words, fields, conditions, below, limit }: MatchQuery,
  { body, bodies }: ReadBounds,
): Matches {
  const table = id('r', scope.source.n)
  const most = Math.min(limit, rowsAtOnce)
  const newest = sql`select id from ${table} where ${toWhere(scope, conditions)} and +id < ${below} order by id desc limit ${most}`
  const [packed] = all<Packed>(
    pack(
      sql`select id, key, at, ${bodyUpTo(body)} as body, null as sorted from (${newest}) cross join ${table} using (id)`,
    ),
  )
  const found = unpack(packed)
  const { rows, done } = fillLong<Row>(all, scope, found, bodies)
  const arrivals = rows
    .filter((row) => hasEvery(words, Object.values(toData(row.body, fields))))
    .map(({ arrival }) => arrival)
  const last = found[done - 1]
  const mayBeMore = done < found.length || found.length === most
  return { arrivals, ...(last && mayBeMore && { resume: last.arrival }) }
}

function hasEvery(words: readonly string[], texts: readonly unknown[]): boolean {
  const present = new Set(
    texts.flatMap((text) => (typeof text === 'string' ? listWords(text) : [])),
  )
  return words.every((word) => present.has(word))
}
