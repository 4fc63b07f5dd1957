import { expect, test } from 'vitest'
import {
  aReader,
  aRecordStore,
  bytes,
  type Data,
  messages,
  someMessages,
} from '../support/a-record-store.ts'

async function aMailbox(count = 60) {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', someMessages(count))
  const { token } = store.grant({ stream: 'messages' })
  return { store, source, token, reader: await aReader(store, token) }
}

type Page = {
  data: { id: string; data: Record<string, unknown> }[]
  has_more: boolean
  next_cursor?: string
}

test('a client that reads only the text can page through all records, each exactly once [R30, R52, R53]', async () => {
  const { reader } = await aMailbox(60)
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const { text } = await reader.call('query_records', {
      stream: 'messages',
      limit: 25,
      count: 'exact',
      ...(cursor && { cursor }),
    })
    expect(text).toContain('count exact 60.')
    seen.push(
      ...text
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line).id),
    )
    cursor = /next_cursor "([^"]+)"/.exec(text)?.[1]
    expect(text).toContain(`has_more ${cursor !== undefined}.`)
  } while (cursor)

  expect(seen).toEqual(
    someMessages(60)
      .map(({ id }) => id)
      .reverse(),
  )
})

test('a client that reads only the text can follow the change feed and sees only later changes [R30, R52, R53]', async () => {
  const { reader, store, source } = await aMailbox(30)
  const readChanges = async (bookmark: string) => {
    const seen: Record<string, unknown>[] = []
    let cursor: string | undefined
    for (;;) {
      const { text } = await reader.call('query_records', {
        stream: 'messages',
        changes_since: bookmark,
        ...(cursor && { cursor }),
      })
      seen.push(
        ...text
          .split('\n')
          .slice(1)
          .map((line) => JSON.parse(line)),
      )
      cursor = /next_cursor "([^"]+)"/.exec(text)?.[1]
      if (!cursor) return { seen, bookmark: /next_changes_since "([^"]+)"/.exec(text)?.[1] ?? '' }
    }
  }
  const first = await readChanges('beginning')
  expect(first.seen).toHaveLength(30)

  store.put(messages(), 'work', [
    { ...someMessages(3)[2], body: 'new' },
    ...someMessages(31).slice(30),
  ])
  store.remove(source, 'm7')
  const second = await readChanges(first.bookmark)

  expect(second.seen).toMatchObject([
    { id: 'm2', data: { body: 'new' } },
    { id: 'm30' },
    { id: 'm7', deleted: true },
  ])
  expect((await readChanges(second.bookmark)).seen).toEqual([])
})

test('the same read returns the same result over MCP and over the resource server [R16]', async () => {
  const { reader, token } = await aMailbox(10)
  const headers = { authorization: `Bearer ${token}` }

  const tool = await reader.call('query_records', {
    stream: 'messages',
    limit: 3,
    filter: { unread: true },
  })
  const response = await fetch(
    `${reader.origin}/v1/streams/messages/records?limit=3&filter[unread]=true`,
    { headers },
  )

  const { url, links, ...body } = (await response.json()) as Record<string, unknown>
  expect(body).toEqual(tool.data.data)
})

test('fields restrict the payload to the named fields; the tool description names the envelope fields [R66, R67, R78, R79]', async () => {
  const { reader } = await aMailbox(5)

  const { data, text } = await reader.call('query_records', {
    stream: 'messages',
    fields: ['size', 'author'],
  })

  const page = data.data as Page
  expect(page.data).toHaveLength(5)
  for (const record of page.data) {
    expect(Object.keys(record.data).sort()).toEqual(['author', 'size'])
    expect(Object.keys(record).sort()).toEqual([
      'connection_id',
      'data',
      'emitted_at',
      'id',
      'object',
      'stream',
    ])
  }
  expect(text).not.toContain('invoice')
  const { tools } = await reader.client.listTools()
  const description = tools.find(({ name }) => name === 'query_records')?.description ?? ''
  for (const name of ['id', 'stream', 'connection_id', 'emitted_at'])
    expect(description).toContain(name)
})

test('the summary line of a full page stays within 1,800 bytes', async () => {
  const { reader } = await aMailbox(120)

  const { text } = await reader.call('query_records', { stream: 'messages', limit: 100 })

  expect(bytes(text.split('\n')[0] ?? '')).toBeLessThanOrEqual(1800)
  expect(
    (await reader.call('query_records', { stream: 'messages', limit: 101 })).failure?.code,
  ).toBe('invalid_input')
})

test('records too long for one text are shortened, and the text names fetch for the full record', async () => {
  const store = await aRecordStore()
  store.put(
    messages(),
    'work',
    someMessages(100, () => ({ body: 'long '.repeat(2000) })),
  )
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)

  const { text } = await reader.call('query_records', { stream: 'messages', limit: 100 })

  expect(bytes(text)).toBeLessThanOrEqual(60_000)
  expect(text).toContain('fetch a record to read it in full')
})

test('a cursor is valid only for the read that issued it', async () => {
  const { reader, store } = await aMailbox(60)
  const read = { stream: 'messages', limit: 5, filter: { unread: true } }
  const { data } = await reader.call('query_records', read)
  const { next_cursor: cursor = '' } = data.data as Page
  const another = await aReader(store, store.grant({ stream: 'messages' }).token)
  const flipped = `${cursor.slice(0, 8)}${cursor[8] === 'A' ? 'B' : 'A'}${cursor.slice(9)}`

  const rejections = await Promise.all([
    reader.call('query_records', { ...read, cursor, filter: { unread: false } }),
    reader.call('query_records', { ...read, cursor, sort: 'sent_at' }),
    reader.call('query_records', { ...read, cursor: flipped }),
    reader.call('query_records', { ...read, cursor: 'x' }),
    reader.call('search', { q: 'invoice', cursor }),
    another.call('query_records', { ...read, cursor }),
  ])

  expect(new Set(rejections.map(({ text }) => text)).size).toBe(1)
  expect(rejections[0]?.failure?.code).toBe('invalid_cursor')
  expect((await reader.call('query_records', { ...read, cursor })).isError).toBe(false)
})

const invalidInputs: readonly [Data, string][] = [
  [{ changes_since: 'junk' }, 'changes_since must be "beginning", or the next_changes_since'],
  [
    { filter: { size: null } },
    'filter.size must be a number, not null: records without a value cannot be',
  ],
  [{ filter: { size: { gte: null } } }, 'filter.size must be a number, not null'],
  [{ filter: { size: [1, 2] } }, 'filter.size must be a number, not a list: read once for each'],
  [{ filter: { labels: 'x' } }, 'labels cannot be filtered because it is not a single value.'],
  [{ filter: { author: 7 } }, 'filter.author must be a string, not 7.'],
  [{ filter: 'size>5' }, '/filter: must be an object, such as {"field": value}'],
  [{ filter: null }, '/filter: must be an object, such as {"field": value}'],
]

test('an error message for invalid input says how to correct it', async () => {
  const { reader } = await aMailbox(3)

  for (const [input, message] of invalidInputs) {
    const { text, isError } = await reader.call('query_records', { stream: 'messages', ...input })
    expect(isError).toBe(true)
    expect(text).toContain(message)
  }
})

test('a page cursor is rejected as changes_since', async () => {
  const { reader } = await aMailbox(30)
  const { data } = await reader.call('query_records', { stream: 'messages' })
  const { next_cursor = '' } = data.data as Page

  const { failure } = await reader.call('query_records', {
    stream: 'messages',
    changes_since: next_cursor,
  })

  expect(failure?.code).toBe('invalid_cursor')
})

test('a field that is not granted is reported like one that does not exist', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(5))
  const reader = await aReader(
    store,
    store.grant({ stream: 'messages', fields: ['id', 'author'] }).token,
  )
  const reads = (name: string) =>
    [
      ['query_records', { stream: 'messages', filter: { [name]: 1 } }],
      ['query_records', { stream: 'messages', fields: [name] }],
      ['query_records', { stream: 'messages', sort: name }],
      ['aggregate', { stream: 'messages', metric: 'sum', field: name }],
      ['aggregate', { stream: 'messages', metric: 'count', group_by: name }],
      ['fetch', { id: 'work/messages:m1', fields: [name] }],
    ] as const

  for (const [index, [tool, input]] of reads('size').entries()) {
    const [, other] = reads('nope')[index] ?? []
    const hidden = await reader.call(tool, input)
    const absent = await reader.call(tool, other)
    expect(hidden.isError).toBe(true)
    expect(hidden.text.replaceAll('size', 'nope')).toBe(absent.text)
  }
})

test('relationships are expanded within the grant', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', [
    ...someMessages(2),
    ...someMessages(6)
      .slice(2)
      .map((one) => ({ ...one, thread: 'm0' })),
  ])
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)

  const { data } = await reader.call('query_records', {
    stream: 'messages',
    filter: { size: 0 },
    expand: ['replies'],
    expand_limit: { replies: 3 },
  })

  const [record] = (
    data.data as {
      data: { expanded: Record<string, { data: { id: string }[]; has_more: boolean }> }[]
    }
  ).data
  expect(record?.expanded.replies?.data.map(({ id }) => id)).toEqual(['m2', 'm3', 'm4'])
  expect(record?.expanded.replies?.has_more).toBe(true)
  expect(
    (await reader.call('query_records', { stream: 'messages', expand: ['nope'] })).failure?.code,
  ).toBe('invalid_expand')
  const clamped = await reader.call('query_records', {
    stream: 'messages',
    expand: ['replies'],
    expand_limit: { replies: 100_000 },
  })
  expect(clamped.text).toMatch(/expand_limit of replies was reduced to \d+\./)
})

test('values shared by all records of a page appear once in the text', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  const common = '2026-06-01T00:00:00.000Z'

  const manyRecords = await reader.call('query_records', { stream: 'messages' })
  const one = await reader.call('query_records', { stream: 'messages', limit: 1 })

  expect(manyRecords.text.split(common)).toHaveLength(2)
  expect(one.text.split('\n')[1]).toContain(`"emitted_at":"${common}"`)
  expect(JSON.stringify(manyRecords.data).split(common)).toHaveLength(4)
})
