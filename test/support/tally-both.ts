import type { Scope } from '../../src/sources/records/model/scope.ts'
import type { Tally, TallyQuery } from '../../src/sources/records/record-store.ts'
import type { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'

/** Tallies every span of a source twice: from column segments, and row by row. Sorted by group. */
export function tallyBoth(
  reads: SqliteRecords,
  scope: Scope,
  query: Omit<TallyQuery, 'after'>,
): { columns: readonly Tally[]; rows: readonly Tally[]; spans: number } {
  const [columns, rows] = [new Map<unknown, Tally>(), new Map<unknown, Tally>()]
  let spans = 0
  for (let after = 0; ; spans++) {
    const { tallies, resume } = reads.tally(scope, { ...query, after })
    for (const tally of tallies) add(columns, tally)
    for (const tally of reads.tallyRows(scope, { ...query, after }, resume ?? Infinity))
      add(rows, tally)
    if (resume === undefined) return { columns: toList(columns), rows: toList(rows), spans }
    after = resume
  }
}

function add(tallies: Map<unknown, Tally>, tally: Tally): void {
  const former = tallies.get(tally.group)
  const extreme = (pick: 'min' | 'max') => {
    const both = [former?.[pick], tally[pick]].filter(
      (value) => value !== null && value !== undefined,
    )
    if (both.length < 2) return both[0] ?? null
    const [a = 0, b = 0] = both
    return (pick === 'min') === a < b ? a : b
  }
  tallies.set(tally.group, {
    group: tally.group,
    count: tally.count + (former?.count ?? 0),
    valueCount: tally.valueCount + (former?.valueCount ?? 0),
    sum: tally.sum + (former?.sum ?? 0),
    min: extreme('min'),
    max: extreme('max'),
  })
}

const toList = (tallies: ReadonlyMap<unknown, Tally>): readonly Tally[] =>
  [...tallies.values()]
    .map((tally) => ({ ...tally, sum: Number(tally.sum.toPrecision(12)) }))
    .sort((a, b) => (String(a.group) < String(b.group) ? -1 : 1))
