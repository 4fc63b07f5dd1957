import { largestSource } from './records-data.mjs'
import { createFloor, openDriver } from './records-floor.mjs'
import { compare, measureLongestBlock, quantile } from './records-measure.mjs'
import { since } from './records-store.mjs'
import { importSource } from './sources.mjs'

const { aggregateRecords } = await importSource('sources/records/aggregate/aggregate-records')
const { queryRecords } = await importSource('sources/records/query/query-records')
const { openReader } = await importSource('sources/records/reading/reader')
const { searchRecords } = await importSource('sources/records/search/search-records')
const { SqliteRecords } = await importSource('storage/records/sqlite-records')

const projectedFields = ['id', 'sent_at', 'channel', 'amount', 'subject']
const source = { connection: largestSource.connection, stream: largestSource.stream }
const pageQuery = { ...source, fields: projectedFields, limit: 50 }

/** Opens the grant for every read, as every call does. */
export function openStore(file, grants) {
  const store = new SqliteRecords(file, Date.now, console.error)
  const read = (grant, readRecords) => async (query) => {
    const reader = openReader(grants[grant].grantPackage.id, {
      store,
      now: Date.now,
      timeoutMs: 60_000,
    })
    const answer = await readRecords(reader, query)
    if (answer.kind === 'failed') throw new Error(answer.failure.message)
    return answer
  }
  return {
    store,
    page: read('unlimited', queryRecords),
    pageSince: read('since', queryRecords),
    aggregate: read('unlimited', aggregateRecords),
    aggregateSince: read('since', aggregateRecords),
    search: read('unlimited', searchRecords),
  }
}

/** Pages through a share of the largest source, and returns the cursor. */
export async function findDeepCursor({ page }, share = 0.6) {
  const { count } = await page({ ...source, limit: 1, count: 'exact' })
  let cursor
  for (let at = 0; at < count * share; at += 100)
    cursor = (await page({ ...source, limit: 100, ...(cursor && { cursor }) })).nextCursor
  return cursor
}

export async function measureReads(file, grants) {
  const ours = openStore(file, grants)
  const driver = openDriver(file)
  driver.exec('pragma cache_size = -65536')
  const sources = ours.store.sources()
  const largest = sources.find(
    ({ connection, stream }) =>
      connection.id === largestSource.connection && stream.name === largestSource.stream,
  )
  const floor = createFloor(driver, largest, sources)
  const rows = []
  const add = async (title, target, contestants, options) => {
    const { floor: floorMs, ours: oursMs } = await compare(contestants, options)
    rows.push({ title, floor: floorMs, ours: oursMs, ratio: oursMs / floorMs, target })
    console.error(
      `${title}: ${floorMs.toFixed(3)} ${oursMs.toFixed(3)} ${(oursMs / floorMs).toFixed(3)}`,
    )
  }
  const fastRead = { rounds: 25, runs: 40, warmUpRounds: 40 }
  const slowRead = { rounds: 9, warmUpRounds: 4 }

  await add('a page of 50', 1.5, { floor: floor.page, ours: () => ours.page(pageQuery) }, fastRead)
  await add(
    'a page of 50, grant with a time range',
    1.5,
    { floor: () => floor.pageSince(Date.parse(since)), ours: () => ours.pageSince(pageQuery) },
    fastRead,
  )
  const cursor = await findDeepCursor(ours)
  const deepQuery = { ...source, limit: 50, cursor }
  const firstQuery = { ...source, limit: 50 }
  await add(
    'a deep page against the first',
    1.2,
    { floor: () => ours.page(firstQuery), ours: () => ours.page(deepQuery) },
    fastRead,
  )

  const amount = { ...source, metric: 'sum', field: 'amount', limit: 100 }
  const monthly = { ...amount, groupByTime: 'sent_at', granularity: 'month' }
  const rome = { ...monthly, timeZone: 'Europe/Rome' }
  const aggregates = {
    'sum by channel': [floor.byChannel, { ...amount, groupBy: 'channel' }],
    'sum by month': [floor.byMonth, monthly],
    'sum by month in Europe/Rome': [floor.byMonth, rome],
    'count by day in Asia/Kathmandu': [
      floor.byDay,
      // biome-ignore format: one query
      { ...source, metric: 'count', groupByTime: 'sent_at', granularity: 'day', timeZone: 'Asia/Kathmandu' },
    ],
    'count with two conditions': [
      () => floor.count('open', 500),
      { ...source, metric: 'count', filter: { status: 'open', amount: { gte: 500 } } },
    ],
    'count of distinct authors': [
      floor.distinct,
      { ...source, metric: 'count_distinct', field: 'author' },
    ],
  }
  for (const [title, [sql, query]] of Object.entries(aggregates))
    await add(title, 0.05, { floor: sql, ours: () => ours.aggregate(query) }, slowRead)
  await add(
    'sum by month, grant with a time range',
    0.05,
    { floor: floor.byMonth, ours: () => ours.aggregateSince(monthly) },
    slowRead,
  )
  await add(
    'Europe/Rome against UTC',
    1.3,
    { floor: () => ours.aggregate(monthly), ours: () => ours.aggregate(rome) },
    { rounds: 25, runs: 3 },
  )

  for (const [term, share, target] of [
    ['quillwort', 'none', undefined],
    ['zephyrine', '0.3 %', undefined],
    ['meeting', '4 %', 0.15],
    ['the', '77 %', 0.01],
  ])
    await add(
      `search over 20 sources, a word in ${share}`,
      target,
      { floor: () => floor.search(term), ours: () => ours.search({ q: term }) },
      { rounds: term === 'the' ? 5 : 9, runs: term === 'the' ? 1 : 3 },
    )

  const blockingReads = {
    'a page': () => ours.page(firstQuery),
    'an aggregate': () => ours.aggregate(rome),
    'a search': () => ours.search({ q: 'the', limit: 100 }),
    'the first aggregate of a new connection': () => {
      const newStore = openStore(file, grants)
      return newStore.aggregate(rome).finally(() => newStore.store.close())
    },
  }
  for (const [title, work] of Object.entries(blockingReads)) {
    const times = []
    for (let round = 0; round < 9; round++) times.push(await measureLongestBlock(work))
    const longestMs = quantile(times, 0.5)
    rows.push({ title: `longest block by ${title}`, ours: longestMs, ratio: longestMs, target: 20 })
  }
  driver.close()
  ours.store.close()
  return rows
}
