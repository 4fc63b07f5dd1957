import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { recordSource } from '../../src/runtime/records/open-records.ts'
import { createGrant, issueToken } from '../../src/sources/records/grants/issue-tokens.ts'
import { RecordWriter } from '../../src/storage/records/writing/record-writer.ts'
import { aProject, put } from '../support/a-project.ts'
import { aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { drawbridge } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'

const streams = `streams:
  orders:
    connector: shop
    primary_key: [id]
    cursor_field: placed_at
    consent_time_field: placed_at
    schema:
      type: object
      properties:
        id: { type: string }
        placed_at: { type: string, format: date }
        item: { type: string }
        price: { type: number }
        gift: { type: boolean }
    query:
      search: { lexical_fields: [item] }
      aggregations: { sum: [price] }
`
const csv = `id,placed_at,item,price,gift
1,2026-01-01,"A ""blue"" lamp, small",12.5,true
2,2026-01-02,"two
lines",3,false
3,2026-01-03
4,2026-01-04,chair,40,
`
const files = {
  'streams.yaml': streams,
  'orders.csv': csv,
  'drawbridge.yaml': 'sources:\n  - records: ./personal.db\n',
}
const importArgs = [
  'records',
  'import',
  'orders.csv',
  '--streams',
  'streams.yaml',
  '--connection',
  'mine',
  '--label',
  'My shop',
]

test('an import reports and sets aside rejected lines, and a second run imports nothing twice', async () => {
  const cwd = await aProject(files)

  const first = await drawbridge(importArgs, { cwd })
  const second = await drawbridge([...importArgs, '--json'], { cwd })
  const third = await drawbridge([...importArgs, '--again', '--json'], { cwd })

  expect(first.code).toBe(1)
  expect(first.stdout).toContain('3 added, 0 changed, 0 removed, 0 unchanged, 1 line rejected')
  expect(first.stderr).toContain(
    'orders.csv:5 is rejected: the row has 2 cells, but the header has 5',
  )
  expect(await readFile(path.join(cwd, 'orders.csv.rejected'), 'utf8')).toBe('3,2026-01-03\n')
  expect(JSON.parse(second.stdout)).toMatchObject({ added: 0, skipped: 4 })
  expect(JSON.parse(third.stdout)).toMatchObject({ same: 3, skipped: 0, rejected: 1 })
  expect((await stat(path.join(cwd, 'personal.db'))).mode & 0o777).toBe(0o600)
})

test('exported records equal the imported ones and import again as unchanged', async () => {
  const cwd = await aProject(files)
  await drawbridge(importArgs, { cwd })

  const exportResult = await drawbridge(['records', 'export', '--stream', 'orders'], { cwd })
  await put(path.join(cwd, 'again.ndjson'), exportResult.stdout)
  const repeated = await drawbridge(
    ['records', 'import', 'again.ndjson', '--stream', 'orders', '--connection', 'mine'],
    { cwd },
  )

  const records = exportResult.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).data)
  expect(records).toEqual([
    { id: '1', placed_at: '2026-01-01', item: 'A "blue" lamp, small', price: 12.5, gift: true },
    { id: '2', placed_at: '2026-01-02', item: 'two\nlines', price: 3, gift: false },
    { id: '4', placed_at: '2026-01-04', item: 'chair', price: 40 },
  ])
  expect(repeated.stdout).toContain('0 added, 0 changed, 0 removed, 3 unchanged')
})

test('a grant can be created, listed, used, shown with its reads, and revoked', async () => {
  const cwd = await aProject(files)
  await drawbridge(importArgs, { cwd })
  const create = [
    'grants',
    'create',
    '--client',
    'claude',
    '--stream',
    'orders',
    '--fields',
    'id,item',
    '--since',
    '2026-01-02',
  ]
  const createResult = await drawbridge(create, { cwd })
  const { grant_id, token } = JSON.parse(createResult.stdout)
  const call = () =>
    drawbridge(['call', '.', 'query_records', '{"stream":"orders"}'], {
      cwd,
      env: { DRAWBRIDGE_TOKEN: token },
    })

  const read = await call()
  const list = await drawbridge(['grants', 'list', '--json'], { cwd })
  const showResult = await drawbridge(['grants', 'show', grant_id, '--reads'], { cwd })
  const revokeResult = await drawbridge(['grants', 'revoke', grant_id], { cwd })
  const after = await call()

  expect(Object.keys(JSON.parse(createResult.stdout))).toEqual(['grant_id', 'token'])
  expect(read.stdout).toContain('"data":{"id":"4","item":"chair"}')
  expect(read.stdout).not.toMatch(/lamp|price/)
  expect(JSON.parse(list.stdout)).toMatchObject([{ id: grant_id, client: 'claude', state: 'live' }])
  expect(JSON.parse(showResult.stdout).reads).toMatchObject([
    {
      tool: 'query_records',
      stream: 'orders',
      fields: ['id', 'item'],
      records: [expect.any(String), expect.any(String)],
    },
  ])
  expect(showResult.stdout).not.toContain(token)
  expect(await readFile(path.join(cwd, 'personal.db'), 'latin1')).not.toContain(token)
  expect(revokeResult.code).toBe(0)
  expect(after.code).toBe(78)
})

test('an invalid stream declaration is refused with file, line and column', async () => {
  const cwd = await aProject({
    ...files,
    'streams.yaml': streams
      .replace('sum: [price]', 'sum: [item]')
      .replace('cursor_field: placed_at', 'cursor_field: nope'),
  })

  const { code, stderr } = await drawbridge(importArgs, { cwd })

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /streams\.yaml:5:19 orders\/cursor_field: nope is not a property of the schema/,
  )
})

test('a declaration drafted from data can be used unchanged', async () => {
  const cwd = await aProject({
    'things.ndjson':
      '{"id":"a","at":"2026-01-01T00:00:00Z","note":"some words","n":1}\n{"id":"b","at":"2026-01-02T00:00:00Z","note":"more words","n":2.5}\n',
  })

  const draft = await drawbridge(['records', 'streams', 'things.ndjson', '--stream', 'things'], {
    cwd,
  })
  await put(path.join(cwd, 'streams.yaml'), draft.stdout)
  const importResult = await drawbridge(
    ['records', 'import', 'things.ndjson', '--streams', 'streams.yaml', '--connection', 'c'],
    { cwd },
  )

  expect(JSON.parse(draft.stdout).streams.things).toMatchObject({
    primary_key: ['id'],
    cursor_field: 'at',
  })
  expect(importResult.stdout).toContain('2 added')
})

test('a grant over several connections is one token with one grant per connection', async () => {
  const cwd = await aProject(files)
  await drawbridge(importArgs, { cwd })
  await drawbridge(
    ['records', 'import', 'orders.csv', '--stream', 'orders', '--connection', 'yours'],
    { cwd },
  )

  const { stdout } = await drawbridge(['grants', 'create', '--client', 'c', '--stream', 'orders'], {
    cwd,
  })
  const unknown = await drawbridge(
    ['grants', 'create', '--client', 'c', '--stream', 'orders', '--fields', 'nope'],
    { cwd },
  )

  expect(JSON.parse(stdout).grants).toMatchObject([
    { connection_id: 'mine' },
    { connection_id: 'yours' },
  ])
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringContaining('orders has no field nope'),
  ])
})

test('a records source cannot share its mount with another source', async () => {
  const cwd = await aProject({
    'drawbridge.yaml': 'sources:\n  - records: ./personal.db\n  - definitions: ./tools/*.ts\n',
  })

  const { code, stderr } = await drawbridge(['check'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toContain('Give it a mount of its own')
})

test('streams can be declared without records and filled by HTTP ingestion', async () => {
  const cwd = await aProject(files)

  const declareResult = await drawbridge(['records', 'declare', 'streams.yaml'], { cwd })
  const ownerToken = await drawbridge(['grants', 'create', '--owner'], { cwd })
  const listResult = await drawbridge(['records'], { cwd })
  const grantWithoutRecords = await drawbridge(
    ['grants', 'create', '--client', 'c', '--stream', 'orders'],
    {
      cwd,
    },
  )

  expect(listResult.stdout).toMatch(/^orders +shop +declared, without a connection yet\n$/)
  expect(grantWithoutRecords.stderr).toContain(
    'orders is declared, but no connection has records of it yet',
  )
  expect(declareResult).toMatchObject({ code: 0, stdout: 'Declared: orders\n' })
  const { port } = await serveHere({ sources: [recordSource(path.join(cwd, 'personal.db'))] })
  const response = await fetch(`http://127.0.0.1:${port}/v1/ingest/orders?connection_id=mine`, {
    method: 'POST',
    headers: { authorization: `Bearer ${JSON.parse(ownerToken.stdout).token}` },
    body: '{"key":"1","data":{"id":"1","placed_at":"2026-01-01","item":"lamp"}}',
  })
  expect(await response.json()).toMatchObject({ connection_id: 'mine', records_accepted: 1 })
})

test('a single-use grant is consumed by its first token, which can page until it expires', async () => {
  const cwd = await aProject(files)
  await drawbridge(importArgs, { cwd })
  const grant = (...options: string[]) =>
    drawbridge(['grants', 'create', '--client', 'c', '--stream', 'orders', ...options], { cwd })
  const single = JSON.parse((await grant('--single')).stdout)
  const continuous = JSON.parse((await grant()).stdout)

  const [second, secondOfContinuous, unknown] = await Promise.all(
    [single.grant_id, continuous.grant_id, 'nope'].map((id) =>
      drawbridge(['grants', 'token', id], { cwd }),
    ),
  )
  const listResult = JSON.parse((await drawbridge(['grants', 'list', '--json'], { cwd })).stdout)

  expect(second).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching('grant_consumed'),
  })
  expect(unknown?.code).toBe(1)
  expect(listResult).toMatchObject([
    { id: single.grant_id, mode: 'single_use', consumed_at: expect.any(String) },
    { id: continuous.grant_id, mode: 'continuous' },
  ])
  expect(Date.parse(single.expires_at)).toBeLessThanOrEqual(Date.now() + 3_600_000)
  const { port } = await serveHere({ sources: [recordSource(path.join(cwd, 'personal.db'))] })
  const read = async (token: string, query = '') => {
    const response = await fetch(
      `http://127.0.0.1:${port}/v1/streams/orders/records?limit=1${query}`,
      {
        headers: { authorization: `Bearer ${token}` },
      },
    )
    return (await response.json()) as { data: { id: string }[]; next_cursor: string }
  }
  const first = await read(single.token)
  const next = await read(single.token, `&cursor=${first.next_cursor}`)
  expect([first, next].map(({ data }) => data[0]?.id)).toEqual(['4', '2'])
  const { token } = JSON.parse(secondOfContinuous?.stdout ?? '')
  expect(token).not.toBe(continuous.token)
  expect((await read(token)).data).toHaveLength(1)
  expect((await read(continuous.token)).data).toHaveLength(1)
}, 60_000)

test('a second token of a single-use grant is never issued, in any process', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(1))
  const { id } = store.grant({ stream: 'messages' })
  const other = new RecordWriter(store.file, Date.now)
  onTestFinished(() => other.close())
  const request = { client: 'c', streams: [{ stream: 'messages' }], mode: 'single_use' as const }
  const { grantPackage } = createGrant(store.writer, request, Date.now())

  const results = [store.writer, other].map((writer) =>
    issueToken(writer, grantPackage.id, Date.now()),
  )

  expect(results).toEqual(Array(2).fill({ fault: expect.stringMatching(/^grant_consumed: /) }))
  expect(issueToken(other, id, Date.now())).toHaveProperty('token')
})

test('a stream with records keeps its primary key, and other mismatches give warnings', async () => {
  const cwd = await aProject({
    ...files,
    'other-key.yaml': streams.replace('primary_key: [id]', 'primary_key: [item]'),
    'changed.yaml': streams
      .replace('consent_time_field: placed_at\n', 'consent_time_field: paid_at\n')
      .replace('price: { type: number }', 'price: { type: string }')
      .replace('gift: { type: boolean }', 'paid_at: { type: string, format: date }')
      .replace('sum: [price]', 'sum: []'),
  })
  const declare = (file: string) => drawbridge(['records', 'declare', file], { cwd })
  await declare('other-key.yaml')
  const empty = await declare('streams.yaml')
  await drawbridge(importArgs, { cwd })

  const refusal = await declare('other-key.yaml')
  const repeated = await drawbridge([...importArgs, '--again', '--json'], { cwd })
  const changeResult = await declare('changed.yaml')

  expect(empty).toMatchObject({ code: 0, stderr: '' })
  expect(refusal).toMatchObject({ code: 2, stdout: '' })
  expect(refusal.stderr).toContain('orders has records with the primary_key id.')
  expect(refusal.stderr).toContain(
    'Declare a stream with another name, or delete the records first.',
  )
  expect(JSON.parse(repeated.stdout)).toMatchObject({ added: 0, same: 3 })
  expect(changeResult.code).toBe(0)
  const [consent, price, gift] = changeResult.stderr.split('\n')
  expect(consent).toMatch(/^warning changed.yaml#\S+consent_time_field consent_time_changed:/)
  expect(consent).toContain('a time range on placed_at now apply it to paid_at. 3 of 3 records')
  expect(price).toContain(
    'type changed from number to string. 3 of 3 records have a value of another type',
  )
  expect(gift).toContain('#/streams/orders/schema/properties/gift field_removed:')
})

test('an import without accepted records creates no connection', async () => {
  const cwd = await aProject({ ...files, 'bad.ndjson': '{"nope":1}\nnot JSON\n', 'x.json': '[1,' })
  await drawbridge(['records', 'declare', 'streams.yaml'], { cwd })
  const importFile = (file: string) =>
    drawbridge(['records', 'import', file, '--stream', 'orders', '--connection', 'typo'], { cwd })
  const { token } = JSON.parse((await drawbridge(['grants', 'create', '--owner'], { cwd })).stdout)
  const { port } = await serveHere({ sources: [recordSource(path.join(cwd, 'personal.db'))] })
  const send = (body: string) =>
    fetch(`http://127.0.0.1:${port}/v1/ingest/orders?connection_id=typo`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body,
    })

  const [invalidLines, invalidJson] = await Promise.all([
    importFile('bad.ndjson'),
    importFile('x.json'),
  ])
  const ingestResponse = await send('{"nope":1}')

  expect(invalidLines.code).toBe(1)
  expect(invalidLines.stdout).toContain(
    '0 added, 0 changed, 0 removed, 0 unchanged, 2 lines rejected',
  )
  expect(invalidLines.stderr).toContain('bad.ndjson:2 is rejected: not valid JSON')
  expect(invalidLines.stderr).toContain('typo was not created')
  expect(await readFile(path.join(cwd, 'bad.ndjson.rejected'), 'utf8')).toBe(
    '{"nope":1}\nnot JSON\n',
  )
  expect(invalidJson).toMatchObject({ code: 2, stderr: 'x.json is not a valid JSON array\n' })
  expect(await ingestResponse.json()).toMatchObject({ records_accepted: 0, records_rejected: 1 })
  const writer = new RecordWriter(path.join(cwd, 'personal.db'), Date.now)
  onTestFinished(() => writer.close())
  expect(writer.sources).toEqual([])
  expect((await send('{"id":"1"}')).status).toBe(200)
  expect(writer.sources).toMatchObject([{ connection: { id: 'typo' } }])
})

test('a file that cannot be read or written is named in one line, and no store is created', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(2))
  const cwd = await aProject({ 'folder/file.ndjson': '', ...files })
  const attempts: Readonly<Record<string, string[]>> = {
    'none/out.ndjson cannot be written: there is no folder none.': [
      'export',
      'none/out.ndjson',
      '--store',
      store.file,
    ],
    'folder cannot be written: it is a folder.': ['export', 'folder', '--store', store.file],
    'none.ndjson does not exist.': ['import', 'none.ndjson', '--connection', 'c'],
    'folder is a folder, not a file.': ['import', 'folder', '--connection', 'c'],
    'none.csv does not exist.': ['streams', 'none.csv'],
    'none.yaml does not exist.': ['declare', 'none.yaml'],
    'The store does not declare this stream. Declare it with --streams streams.yaml ("drawbridge records streams FILE" drafts one). Available: none':
      ['import', 'folder/file.ndjson', '--connection', 'c'],
  }

  await Promise.all(
    Object.entries(attempts).map(async ([message, args]) => {
      const result = await drawbridge(['records', ...args], { cwd })
      expect(result).toEqual({ code: 2, stdout: '', stderr: `${message}\n` })
    }),
  )

  await expect(stat(path.join(cwd, 'personal.db'))).rejects.toThrow('ENOENT')
})

test('a draft from an export has one declaration per stream', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(2))
  store.put(messages('mail', 'letters'), 'work', someMessages(2))
  const file = path.join(path.dirname(store.file), 'out.ndjson')
  const records = (...args: string[]) => drawbridge(['records', ...args])
  const exportOutcome = await records('export', file, '--store', store.file)

  const [all, one, none] = await Promise.all([
    records('streams', file),
    records('streams', file, '--stream', 'letters'),
    records('streams', file, '--stream', 'nope'),
  ])

  expect([exportOutcome.code, (await stat(file)).mode & 0o777]).toEqual([0, 0o600])
  const drafts = JSON.parse(all.stdout).streams
  expect(Object.keys(drafts)).toEqual(['letters', 'messages'])
  expect(drafts.messages).toMatchObject({ primary_key: ['id'], cursor_field: 'sent_at' })
  expect(Object.keys(drafts.messages.schema.properties)).toContain('author')
  expect(Object.keys(JSON.parse(one.stdout).streams)).toEqual(['letters'])
  expect(none).toMatchObject({ code: 2, stdout: '' })
  expect(none.stderr).toContain('has no record of nope. Available: letters, messages')
})

test('an import reports values that are not of the declared type', async () => {
  const cwd = await aProject({
    'tx.csv': 'id,amount\n1,2.5\n2,"1.234,56"\n3,-\n',
    'streams.yaml':
      'streams: { tx: { connector: bank, primary_key: id, schema: { properties: { id: { type: string }, amount: { type: number } } } } }',
  })

  const importArgs = [
    'records',
    'import',
    'tx.csv',
    '--streams',
    'streams.yaml',
    '--connection',
    'c',
  ]
  const { code, stdout, stderr } = await drawbridge(importArgs, { cwd })

  expect([code, stdout]).toEqual([0, expect.stringContaining('3 added')])
  expect(stderr).toContain(
    'tx.csv:3 amount is not of type number, nor in 1 later record: it is kept',
  )
})
