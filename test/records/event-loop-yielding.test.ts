import { expect, onTestFinished, test, vi } from 'vitest'
import { isFailed } from '../../src/capability/outcome.ts'
import { aggregateRecords } from '../../src/sources/records/aggregate/aggregate-records.ts'
import { toSearchResult } from '../../src/sources/records/answers/search-answer.ts'
import type { RequestedTerms } from '../../src/sources/records/grants/issue-tokens.ts'
import { ingest } from '../../src/sources/records/import/ingest.ts'
import type { RecordSource } from '../../src/sources/records/model/stream.ts'
import { listWords } from '../../src/sources/records/model/words.ts'
import { queryRecords } from '../../src/sources/records/query/query-records.ts'
import { findLastUpdated } from '../../src/sources/records/reading/last-updated.ts'
import { openReader, type Reader } from '../../src/sources/records/reading/reader.ts'
import type { RecordEntry } from '../../src/sources/records/record-sink.ts'
import { searchRecords } from '../../src/sources/records/search/search-records.ts'
import { defaultReadBounds, type ReadBounds } from '../../src/storage/records/read-bounds.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import {
  aMessage,
  aRecordStore,
  type Data,
  messages,
  someMessages,
  type TestStore,
} from '../support/a-record-store.ts'
import { amount } from '../support/amount.ts'

const smallBounds: ReadBounds = {
  ...defaultReadBounds,
  maxScannedRows: 20,
  maxMatches: 20,
  maxChanges: 20,
  maxCountedRows: 20,
}

function aReaderFactory(
  store: TestStore,
  terms: Partial<RequestedTerms>,
  bounds = smallBounds,
  now = Date.now,
): () => Reader {
  const reads = new SqliteRecords(store.file, now, () => {}, bounds)
  onTestFinished(() => reads.close())
  const { id } = store.grant({ stream: 'messages', ...terms })
  return () => {
    const reader = openReader(id, { store: reads, now: Date.now, timeoutMs: 20_000 })
    if (isFailed(reader)) throw new Error(reader.failure.message)
    return reader
  }
}

/** The result, and how many event-loop turns other work had during the read. */
async function countTurns<T extends object>(work: Promise<T>) {
  let turns = 0
  let isDone = false
  const count = () => {
    if (isDone) return
    turns += 1
    setImmediate(count)
  }
  setImmediate(count)
  const answer = await work
  isDone = true
  if (isFailed(answer)) throw new Error(answer.failure.message)
  return { answer: answer as Exclude<T, { kind: 'failed' }>, turns }
}

const firstHours = { until: '2026-01-01T05:00:00Z' }

test.each<[string, Partial<RequestedTerms>, Data | undefined]>([
  ['within a granted time range', firstHours, undefined],
  ['left by a filter', {}, { size: { lt: 5 } }],
])(
  'a search for few records %s among many matches yields to the event loop',
  async (_, terms, filter) => {
    const store = await aRecordStore()
    store.put(messages(), 'work', someMessages(500))
    const open = aReaderFactory(store, terms)

    const { answer, turns } = await countTurns(
      searchRecords(open(), { q: 'invoice', streams: ['messages'], filter }),
    )

    expect(answer.hits.map(({ row }) => row.key).sort()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'])
    expect(turns).toBeGreaterThan(500 / smallBounds.maxMatches - 3)
  },
)

test('reads granted by record id cost no turns for other records', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(500))
  store.put(
    messages(),
    'work',
    someMessages(400, () => ({ size: -1 })),
  )
  const open = aReaderFactory(store, { resources: ['m7', 'm3', 'm450', 'none'] })
  const reads = [
    await countTurns(queryRecords(open(), { stream: 'messages', count: 'exact' })),
    await countTurns(queryRecords(open(), { stream: 'messages', changesSince: 'beginning' })),
  ]
  const count = await countTurns(aggregateRecords(open(), { stream: 'messages', metric: 'count' }))
  const search = await countTurns(searchRecords(open(), { q: 'Invoice message' }))
  const byAuthor = await countTurns(searchRecords(open(), { q: 'invoice ann' }))

  expect(reads.map(({ answer }) => answer.records.map(({ id }) => id))).toEqual([
    ['m450', 'm7', 'm3'],
    ['m450', 'm3', 'm7'],
  ])
  expect(count.answer.value).toBe(3)
  expect(search.answer.hits.map(({ row }) => row.key)).toEqual(['m450', 'm7', 'm3'])
  expect(byAuthor.answer.hits.map(({ row }) => row.key)).toEqual(['m450', 'm3'])
  for (const { turns } of [...reads, count, search, byAuthor]) expect(turns).toBeLessThan(3)
})

test('changes of fields that are not granted cost a change feed no turns', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(30))
  const open = aReaderFactory(store, { fields: ['id', 'author'] })
  const readChanges = async () => {
    const query = { stream: 'messages', changesSince: 'beginning', limit: 100 }
    const { answer, turns } = await countTurns(queryRecords(open(), query))
    return { seen: answer.records.map(({ id }) => id), turns, bookmark: answer.nextChangesSince }
  }
  const before = await readChanges()

  for (let round = 0; round < 20; round++)
    store.put(
      messages(),
      'work',
      someMessages(30, () => ({ size: 1000 + round })),
    )

  expect(await readChanges()).toEqual(before)
})

test('the CPU cost of a page of changes does not grow with the number of changes', async () => {
  const store = await aRecordStore()
  const count = amount(4000, 50_000)
  store.put(messages(), 'work', someMessages(count))
  const open = aReaderFactory(store, {}, defaultReadBounds)
  const measureCpuMicros = async (changesSince: string) => {
    const cpuMicros: number[] = []
    for (let round = 0; round < 7; round++) {
      const before = process.cpuUsage()
      await queryRecords(open(), { stream: 'messages', changesSince, limit: 10 })
      const { user, system } = process.cpuUsage(before)
      cpuMicros.push(user + system)
    }
    return Math.min(...cpuMicros)
  }
  const bookmark = await findLastBookmark(open)
  store.put(
    messages(),
    'work',
    someMessages(20, () => ({ size: -1 })),
  )
  const costOfFewChanges = await measureCpuMicros(bookmark)

  store.put(
    messages(),
    'work',
    someMessages(count, (n) => ({ size: n + 1 })),
  )

  expect(await measureCpuMicros(bookmark)).toBeLessThan(15 * costOfFewChanges)
}, 120_000)

/** The bookmark at the end of the change feed. */
async function findLastBookmark(open: () => Reader): Promise<string> {
  for (let cursor: string | undefined; ; ) {
    const page = await queryRecords(open(), {
      stream: 'messages',
      changesSince: 'beginning',
      limit: 100,
      ...(cursor && { cursor }),
    })
    if (isFailed(page)) throw new Error(page.failure.message)
    if (page.nextChangesSince !== undefined) return page.nextChangesSince
    cursor = page.nextCursor
  }
}

test('long records are read in small batches, without fields that are not granted', async () => {
  const store = await aRecordStore()
  const labels = Array.from({ length: 4000 }, (_, n) => `label ${n}`)
  store.put(
    messages(),
    'work',
    someMessages(40, (n) => (n % 2 ? { labels } : {})),
  )
  const open = aReaderFactory(store, { fields: ['id', 'sent_at', 'body'] }, defaultReadBounds)
  const [scope] = open().scopes
  if (!scope) throw new Error('nothing is granted')

  const page = await countTurns(queryRecords(open(), { stream: 'messages', limit: 40 }))
  const search = await countTurns(searchRecords(open(), { q: 'invoice', limit: 40 }))
  const changes = await countTurns(
    queryRecords(open(), { stream: 'messages', limit: 40, changesSince: 'beginning' }),
  )
  const slice = open().store.slice(scope, { descending: true, conditions: [], limit: 40 })

  const rows = [page, changes].map(({ answer }) => answer.records.map(({ id }) => id))
  const keys = Array.from({ length: 40 }, (_, n) => `m${n}`)
  expect(rows).toEqual([keys.toReversed(), keys])
  expect(search.answer.hits.map(({ row }) => row.key).sort()).toEqual([...keys].sort())
  for (const { turns } of [page, search, changes]) expect(turns).toBeGreaterThanOrEqual(2)
  for (const { key, body } of slice.rows)
    if (Number(key.slice(1)) % 2) expect(body).not.toHaveProperty('labels')
  expect(slice.rows.length).toBeLessThan(40)
})

test('an aggregate with one group per record is tallied in batches, each group once', async () => {
  const store = await aRecordStore()
  const count = amount(8500, 80_000)
  store.put(
    messages(),
    'work',
    someMessages(count, (n) => ({ author: `author ${n}` })),
  )
  const open = aReaderFactory(store, {}, defaultReadBounds)
  const { scopes, store: reads } = open()
  const [scope] = scopes
  const field = scope?.fields.get('author')
  if (!scope || !field) throw new Error('nothing is granted')

  const lengths: number[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const query = { conditions: [], group: { field }, distinct: false, after }
    const { tallies, resume } = reads.tally(scope, query)
    lengths.push(tallies.length)
    after = resume
  }
  const distinct = await aggregateRecords(open(), {
    stream: 'messages',
    metric: 'count_distinct',
    field: 'author',
  })

  expect(Math.max(...lengths)).toBeLessThanOrEqual(4096)
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(count)
  expect(distinct).toMatchObject({ value: count, filteredRecordCount: count })
}, 120_000)

test('slow scans use smaller batches and find the same records', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(600))
  let time = 0
  const read = (delayMs: number) => {
    const open = aReaderFactory(store, {}, defaultReadBounds, () => (time += delayMs))
    return countTurns(queryRecords(open(), { stream: 'messages', filter: { size: { lt: 3 } } }))
  }

  const [fast, slow] = [await read(0), await read(10)]

  for (const { answer } of [fast, slow])
    expect(answer.records.map(({ id }) => id)).toEqual(['m2', 'm1', 'm0'])
  expect(slow.turns).toBeGreaterThan(4 * fast.turns)
})

test('the time of the last granted record is searched in batches', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(500))
  const open = aReaderFactory(store, firstHours)
  const openFuture = aReaderFactory(store, { since: '2030-01-01' })
  const find = async (reader: Reader) => {
    const [scope] = reader.scopes
    if (!scope) throw new Error('nothing is granted')
    return { lastUpdated: await findLastUpdated(reader, scope) }
  }

  const { answer, turns } = await countTurns(find(open()))

  expect(answer).toEqual({ lastUpdated: '2026-06-01T00:00:00.000Z' })
  expect(turns).toBeGreaterThan(500 / smallBounds.maxScannedRows - 3)
  expect(await find(openFuture())).toEqual({ lastUpdated: null })
})

test.each([
  ['plain', 'about the long invoice. '],
  ['with accents', 'über die längste Rechnung. '],
  ['without spaces', '东京都的发票在这里。'],
])('a search in long texts yields to the event loop and marks its match: %s', async (_, text) => {
  const store = await aRecordStore()
  const long = text.repeat(100_000 / text.length)
  store.put(messages(), 'work', [
    aMessage(1000, { body: `${long} needle ${long}` }),
    ...someMessages(100, () => ({ body: text.repeat(2000 / text.length) })),
  ])
  const open = aReaderFactory(store, {}, defaultReadBounds)

  const { answer, turns } = await countTurns(searchRecords(open(), { q: 'needle' }))
  const all = await countTurns(searchRecords(open(), { q: listWords(text).at(-1) ?? '' }))

  expect(answer.hits.map((hit) => toSearchResult(hit).snippet)).toEqual([
    expect.stringMatching(/^…[^<]{79,80}<mark>needle<.mark>[^<]+…$/),
  ])
  expect(turns).toBeGreaterThan(200_000 / 50_000)
  expect(all.answer.hits).toHaveLength(10)
  expect(all.turns).toBeGreaterThan(400_000 / 50_000)
})

test('ingesting long lines yields to the event loop, and their words are found', async () => {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', [])
  const entries: RecordEntry[] = []
  const sink = {
    sources: store.writer.sources,
    streams: store.writer.streams,
    open: async () => source,
    write: async (target: RecordSource, batch: readonly RecordEntry[]) => {
      entries.push(...batch)
      return store.writer.write(target, batch)
    },
    storeBlob: async () => {},
  }
  const lines = someMessages(20, (n) => ({ body: `${n}番の${'发票在这里。'.repeat(5000)}` }))

  const { answer, turns } = await countTurns(
    ingest(
      sink,
      { stream: 'messages' },
      lines.map((one) => JSON.stringify(one)).join('\n'),
      () => 0,
    ),
  )
  const page = await searchRecords(aReaderFactory(store, {})(), { q: '7番' })

  expect(answer).toMatchObject({ records_accepted: 20, records_rejected: 0 })
  expect(turns).toBeGreaterThan(2)
  expect(entries.flatMap(({ content }) => content?.texts)).toEqual([])
  expect(page).toMatchObject({ hits: [{ row: { key: 'm7' } }] })
})

test('deletions during a page read hide none of the remaining records', async () => {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', someMessages(12))
  const open = aReaderFactory(store, {}, { ...defaultReadBounds, maxScannedRows: 3 })
  const query = { stream: 'messages', order: 'asc', filter: { unread: true }, limit: 4 } as const
  const originalParse = JSON.parse
  // JSON.parse is the only hook between two statements of one page.
  const spy = vi.spyOn(JSON, 'parse').mockImplementation((text: string) => {
    if (!text.startsWith('[[')) return originalParse(text)
    spy.mockRestore()
    for (const key of ['m0', 'm1', 'm2']) store.remove(source, key)
    return originalParse(text)
  })
  onTestFinished(() => spy.mockRestore())
  const reader = open()

  const seen: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await queryRecords(reader, { ...query, cursor })
    if (isFailed(page)) throw new Error(page.failure.message)
    seen.push(...page.records.map(({ id }) => id))
    cursor = page.nextCursor
    if (cursor === undefined) break
  }

  expect(seen).toEqual(['m0', 'm2', 'm4', 'm6', 'm8', 'm10'])
})
