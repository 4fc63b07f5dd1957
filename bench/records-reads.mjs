import { aggregateRecords } from '../dist/sources/records/aggregate/aggregate-records.js'
import { queryRecords } from '../dist/sources/records/query/query-records.js'
import { openReader } from '../dist/sources/records/reading/reader.js'
import { searchRecords } from '../dist/sources/records/search/search-records.js'
import { SqliteRecords } from '../dist/storage/records/sqlite-records.js'
import { largest } from './records-data.mjs'
import { createFloor, openDriver } from './records-floor.mjs'
import { compare, longestBlock } from './records-measure.mjs'
import { since } from './records-store.mjs'

const projected = ['id', 'sent_at', 'channel', 'amount', 'subject']
const place = { connection: largest.connection, stream: largest.stream }
const pageQuery = { ...place, fields: projected, limit: 50 }

/** Every read opens its grant anew, as every call does. */
export function openStore(file, grants) {
  const store = new SqliteRecords(file, Date.now, console.error)
  const read = (grant, how) => async (query) => {
    const reader = openReader(grants[grant].given.id, { store, now: Date.now, patience: 60_000 })
    const answer = await how(reader, query)
    if (answer.kind === 'failed') throw new Error(answer.failure.message)
    return answer
  }
  return {
    store,
    page: read('whole', queryRecords),
    pageSince: read('since', queryRecords),
    aggregate: read('whole', aggregateRecords),
    aggregateSince: read('since', aggregateRecords),
    search: read('whole', searchRecords),
  }
}

/** A cursor more than half way down. */
export async function findDeepCursor({ page }, share = 0.6) {
  const { count } = await page({ ...place, limit: 1, count: 'exact' })
  let cursor
  for (let at = 0; at < count * share; at += 100)
    cursor = (await page({ ...place, limit: 100, ...(cursor && { cursor }) })).nextCursor
  return cursor
}

export async function measureReads(file, grants) {
  const ours = openStore(file, grants)
  const driver = openDriver(file)
  driver.exec('pragma cache_size = -65536')
  const sources = ours.store.sources()
  const source = sources.find(
    ({ connection, stream }) =>
      connection.id === largest.connection && stream.name === largest.stream,
  )
  const floor = createFloor(driver, source, sources)
  const rows = []
  const add = async (what, asked, contestants, options) => {
    const { floor: least, ours: mine } = await compare(contestants, options)
    rows.push({ what, floor: least, ours: mine, ratio: mine / least, asked })
    console.error(`${what}: ${least.toFixed(3)} ${mine.toFixed(3)} ${(mine / least).toFixed(3)}`)
  }
  const many = { rounds: 25, runs: 40, warm: 40 }
  const few = { rounds: 9, warm: 4 }

  await add('a page of 50', 1.5, { floor: floor.page, ours: () => ours.page(pageQuery) }, many)
  await add(
    'a page of 50, grant with a time range',
    1.5,
    { floor: () => floor.pageSince(Date.parse(since)), ours: () => ours.pageSince(pageQuery) },
    many,
  )
  const cursor = await findDeepCursor(ours)
  const deepQuery = { ...place, limit: 50, cursor }
  const firstQuery = { ...place, limit: 50 }
  await add(
    'a deep page against the first',
    1.2,
    { floor: () => ours.page(firstQuery), ours: () => ours.page(deepQuery) },
    many,
  )

  const amount = { ...place, metric: 'sum', field: 'amount', limit: 100 }
  const monthly = { ...amount, groupByTime: 'sent_at', granularity: 'month' }
  const rome = { ...monthly, timeZone: 'Europe/Rome' }
  const questions = {
    'sum by channel': [floor.byChannel, { ...amount, groupBy: 'channel' }],
    'sum by month': [floor.byMonth, monthly],
    'sum by month in Europe/Rome': [floor.byMonth, rome],
    'count by day in Asia/Kathmandu': [
      floor.byDay,
      // biome-ignore format: one question
      { ...place, metric: 'count', groupByTime: 'sent_at', granularity: 'day', timeZone: 'Asia/Kathmandu' },
    ],
    'count with two conditions': [
      () => floor.count('open', 500),
      { ...place, metric: 'count', filter: { status: 'open', amount: { gte: 500 } } },
    ],
    'count of distinct authors': [
      floor.distinct,
      { ...place, metric: 'count_distinct', field: 'author' },
    ],
  }
  for (const [what, [sql, query]] of Object.entries(questions))
    await add(what, 0.05, { floor: sql, ours: () => ours.aggregate(query) }, few)
  await add(
    'sum by month, grant with a time range',
    0.05,
    { floor: floor.byMonth, ours: () => ours.aggregateSince(monthly) },
    few,
  )
  await add(
    'Europe/Rome against UTC',
    1.3,
    { floor: () => ours.aggregate(monthly), ours: () => ours.aggregate(rome) },
    { rounds: 25, runs: 3 },
  )

  for (const [term, share, asked] of [
    ['quillwort', 'none', undefined],
    ['zephyrine', '0.3 %', undefined],
    ['meeting', '4 %', 0.15],
    ['the', '77 %', 0.01],
  ])
    await add(
      `search over 20 sources, a word in ${share}`,
      asked,
      { floor: () => floor.search(term), ours: () => ours.search({ q: term }) },
      { rounds: term === 'the' ? 5 : 9, runs: term === 'the' ? 1 : 3 },
    )

  const blocks = {
    'a page': () => ours.page(firstQuery),
    'an aggregate': () => ours.aggregate(rome),
    'a search': () => ours.search({ q: 'the', limit: 100 }),
    'an aggregate in a new process': () => {
      const fresh = openStore(file, grants)
      return fresh.aggregate(rome).finally(() => fresh.store.close())
    },
  }
  for (const [what, work] of Object.entries(blocks)) {
    const times = []
    for (let round = 0; round < 9; round++) times.push(await longestBlock(work))
    const longest = times.sort((a, b) => a - b)[4]
    rows.push({ what: `loop blocked by ${what}`, ours: longest, ratio: longest, asked: 20 })
  }
  driver.close()
  ours.store.close()
  return rows
}
