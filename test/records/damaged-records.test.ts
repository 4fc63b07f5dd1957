import { expect, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aReader,
  aRecordStore,
  messages,
  someMessages,
  type TestStore,
} from '../support/a-record-store.ts'

/** A store with ten messages; those from the seventh on are replies to the first. */
async function aMailbox() {
  const store = await aRecordStore()
  const records = someMessages(10, (number) => (number > 6 ? { thread: 'm0' } : {}))
  const { n } = store.put(messages(), 'work', records)
  return { store, records, table: `r${n}` }
}

function change(store: TestStore, sql: string): void {
  const database = openSqlite(store.file)
  database.exec(sql)
  database.close()
}

const toText = (bytes: Buffer): string => `cast(x'${bytes.toString('hex')}' as text)`

interface Listed {
  readonly id: string
  readonly data?: Record<string, unknown>
  readonly unreadable?: true
}
const listOf = (data: unknown) => (data as { data: { data: readonly Listed[] } }).data.data

const damagedBodies = {
  'no UTF-8': Buffer.from([0xff, 0xfe, 0x41]),
  'JSON with invalid UTF-8': Buffer.from('{"id":"m8","author":"\xff\xfe"}', 'latin1'),
  'half of a JSON object': Buffer.from('{"id":"m8","auth'),
  'two JSON objects': Buffer.from('{"id":"m8"},{"id":"m7"}'),
  'no JSON object': Buffer.from('"m8"'),
  'many invalid bytes': Buffer.alloc(100_000, 0xff),
}

test.each(Object.entries(damagedBodies))(
  'a record whose body is %s is unreadable, and its neighbours are served',
  async (_, bytes) => {
    const { store, records, table } = await aMailbox()
    change(store, `update ${table} set body = ${toText(bytes)} where key = 'm8'`)
    const { token } = store.grant({ stream: 'messages' })
    const { call, origin } = await aReader(store, token)

    const page = await call('query_records', { stream: 'messages' })
    const changes = await call('query_records', { stream: 'messages', changes_since: 'beginning' })
    const filter = { size: { gte: 7 } }
    const filtered = await call('query_records', { stream: 'messages', filter })
    const expanded = await call('query_records', {
      stream: 'messages',
      filter: { id: 'm0' },
      expand: ['replies'],
    })
    const search = await call('search', { q: 'invoice' })
    const count = await call('aggregate', { stream: 'messages', metric: 'count' })
    const fetched = await call('fetch', { id: 'work/messages:m8' })
    const direct = await fetch(`${origin}/v1/streams/messages/records/m8`, {
      headers: { authorization: `Bearer ${token}` },
    })

    const healthy = records.map(({ id }) => id).filter((id) => id !== 'm8')
    const readable = (list: readonly Listed[]) =>
      list.flatMap(({ data }) => (data ? [data.id] : [])).sort()
    const damaged = (list: readonly Listed[]) =>
      list.flatMap(({ id, unreadable }) => (unreadable ? [id] : []))
    for (const { data } of [page, changes]) {
      expect(readable(listOf(data))).toEqual(healthy)
      expect(damaged(listOf(data))).toEqual(['m8'])
    }
    expect(page.text).toContain('"unreadable":true')
    expect(readable(listOf(filtered.data))).toEqual(['m7', 'm9'])
    const [first] = listOf(expanded.data) as unknown as [
      { expanded: { replies: { data: Listed[] } } },
    ]
    expect(readable(first.expanded.replies.data)).toEqual(['m7', 'm9'])
    expect(damaged(first.expanded.replies.data)).toEqual(['m8'])
    expect(search.data.results).toHaveLength(9)
    expect(count.isError).toBe(false)
    expect(fetched.failure?.code).toBe('record_unreadable')
    expect(direct.status).toBe(500)
  },
)

test('a damaged record that is imported again can be read', async () => {
  const { store, records, table } = await aMailbox()
  change(store, `update ${table} set body = ${toText(damagedBodies['no UTF-8'])}`)
  store.put(messages(), 'work', records)
  const { call } = await aReader(store, store.grant({ stream: 'messages' }).token)

  const { data } = await call('query_records', { stream: 'messages' })

  expect(listOf(data).map((record) => record.data?.id)).toEqual(
    records.map(({ id }) => id).reverse(),
  )
})

test.each([
  ['streams', 'declaration'],
  ['connections', 'label'],
  ['packages', 'client'],
  ['packages', 'mode'],
  ['grants', 'streams'],
  ['tokens', 'kind'],
  ['meta', 'value'],
  ['r1', 'key'],
  ['r1', 'at'],
  ['r1', 'f2'],
  ['r1', 'f3'],
  ['r1', 'f5'],
])('invalid UTF-8 in %s.%s does not end the process', async (table, column) => {
  const { store } = await aMailbox()
  const { token } = store.grant({ stream: 'messages' })
  const { call } = await aReader(store, token)
  const rows = table === 'r1' ? 'id = 8' : 'true'
  change(
    store,
    `update ${table} set ${column} = ${toText(damagedBodies['no UTF-8'])} where ${rows}`,
  )

  const answers = await Promise.allSettled([
    call('schema', {}),
    call('query_records', { stream: 'messages' }),
    call('query_records', { stream: 'messages', changes_since: 'beginning' }),
    call('aggregate', { stream: 'messages', metric: 'count', group_by: 'author' }),
    call('aggregate', { stream: 'messages', metric: 'max', field: 'size' }),
    call('search', { q: 'invoice' }),
    call('fetch', { id: 'work/messages:m8' }),
  ])

  expect(answers).toHaveLength(7)
})
