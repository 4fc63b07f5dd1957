import { expect, test } from 'vitest'
import { createGrant } from '../../src/sources/records/grants/issue-tokens.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { drawbridge } from '../support/run-cli.ts'

async function aStoreWithVerbs() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const grants = (...words: string[]) =>
    drawbridge(['grants', ...words, '--store', store.file], { env: { TZ: 'Asia/Tokyo' } })
  return { store, grants }
}

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

test('an owner’s token has an id, is listed and shown, and ends at once when it is revoked', async () => {
  const { store, grants } = await aStoreWithVerbs()
  const { id, token } = JSON.parse((await grants('create', '--owner')).stdout)
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  const send = () =>
    fetch(`${reader.origin}/v1/ingest/messages?connection_id=work`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: '{"id":"m9","sent_at":"2026-01-01T00:00:00Z"}',
    })
  const read = () =>
    fetch(`${reader.origin}/v1/schema`, { headers: { authorization: `Bearer ${token}` } })
  const introspect = async () => {
    const response = await fetch(`${reader.origin}/introspect`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: `token=${token}`,
    })
    return response.text()
  }

  const [listed, lines, shown, before] = await Promise.all([
    grants('list', '--json'),
    grants('list'),
    grants('show', id),
    send(),
  ])
  const revoked = await grants('revoke', id)
  const after = await send()
  const later = JSON.parse((await grants('show', id)).stdout)

  const row = { id, kind: 'owner', state: 'live', created_at: expect.stringMatching(iso) }
  expect(id).toMatch(/^own_[0-9a-f]{32}$/)
  expect(JSON.parse(listed.stdout)).toEqual([expect.objectContaining({ kind: 'grant' }), row])
  expect(lines.stdout).toContain(`${id} live     owner`)
  expect(JSON.parse(shown.stdout)).toEqual(row)
  expect(before.status).toBe(200)
  expect(revoked).toMatchObject({ code: 0, stdout: `${id} is revoked.\n` })
  expect(after.status).toBe(401)
  expect((await read()).status).toBe(403)
  expect(await introspect()).not.toContain('true')
  expect(later).toMatchObject({ state: 'revoked', revoked_at: expect.stringMatching(iso) })
})

test('a token is never taken for an id, nor said again', async () => {
  const { store, grants } = await aStoreWithVerbs()
  const given = store.grant({ stream: 'messages' })
  const owner = store.owner()
  const [{ id = '' } = {}] = store.writer.owners
  const stranger = `drb_${'x'.repeat(43)}`

  const [ofOwner, ofGrant, ofNobody, instead] = await Promise.all([
    grants('revoke', owner),
    grants('show', given.token),
    grants('token', stranger),
    grants(owner),
  ])

  expect(ofOwner?.stderr).toBe(`That is a token, not an id. Its id is ${id}.\n`)
  expect(ofGrant?.stderr).toContain(`Its id is ${given.grants[0]}.`)
  expect(ofNobody?.stderr).toContain('"drawbridge grants list" shows the ids')
  for (const said of [ofOwner, ofGrant, ofNobody, instead]) {
    expect(said).toMatchObject({ code: 2, stdout: '' })
    expect(said?.stderr).not.toContain('drb_')
  }
  expect(store.writer.owners).toMatchObject([{ id }])
  expect(store.writer.owners[0]).not.toHaveProperty('revokedAt')
})

test('an owner’s token has an end when that is said, and no terms', async () => {
  const { store, grants } = await aStoreWithVerbs()

  const [ending, termed, past] = await Promise.all([
    grants('create', '--owner', '--expires', '2999-01-01'),
    grants('create', '--owner', '--client', 'c', '--stream', 'messages', '--single'),
    grants('create', '--owner', '--expires', '2001-01-01'),
  ])

  expect(JSON.parse(ending.stdout)).toMatchObject({ expires_at: '2999-01-01T00:00:00.000Z' })
  expect(termed).toMatchObject({ code: 2, stdout: '' })
  expect(termed.stderr).toContain('--owner cannot be combined with --client, --stream, --single')
  expect(past).toMatchObject({ code: 2, stdout: '' })
  expect(store.writer.owners).toHaveLength(1)
})

test('owners’ tokens from before they had ids get one, and go on', async () => {
  const { store, grants } = await aStoreWithVerbs()
  const token = store.owner()
  const former = openSqlite(store.file)
  former.exec('drop table owners; pragma user_version = 5')
  former.close()

  const [row] = JSON.parse((await grants('list', '--json')).stdout)

  expect(row).toEqual({
    id: expect.stringMatching(/^own_[0-9a-f]{32}$/),
    kind: 'owner',
    state: 'live',
  })
  expect(store.writer.findToken(token)).toEqual({ kind: 'owner', owner: { id: row.id } })
  expect((await grants('revoke', row.id)).code).toBe(0)
  expect(store.writer.findToken(token)).toMatchObject({ owner: { revokedAt: expect.any(Number) } })
})

const impossible: Readonly<Record<string, { words: string[]; said: string }>> = {
  'a time that ends where it begins': {
    words: ['--since', '2026-02-01', '--until', '2026-02-01T00:00:00Z'],
    said: '--since 2026-02-01 is not before --until 2026-02-01T00:00:00Z',
  },
  'an end that is no time': { words: ['--expires', 'tomorrow'], said: '--expires must be a time' },
  'an end in the past': {
    words: ['--expires', '2001-01-01'],
    said: '--expires 2001-01-01 is in the past',
  },
  'a field that does not exist': { words: ['--fields', 'id,nope'], said: 'has no field nope' },
  'fields that are none': { words: ['--fields', ','], said: '--fields needs at least one name' },
}

test('a grant of what cannot be is refused, and nothing is given out', async () => {
  const { store, grants } = await aStoreWithVerbs()

  const cases = Object.entries(impossible).map(async ([name, { words, said }]) => {
    const made = await grants('create', '--client', 'c', '--stream', 'messages', ...words)
    expect(made, name).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) })
  })

  await Promise.all(cases)
  expect(store.writer.packages).toEqual([])
})

test('records that are granted by id and are not there are named', async () => {
  const { store, grants } = await aStoreWithVerbs()
  store.put(messages(), 'home', someMessages(1))

  const made = await grants(
    'create',
    '--client',
    'c',
    '--stream',
    'messages',
    '--resources',
    'm2,m7',
  )

  expect(made.code).toBe(0)
  expect(made.stderr).toContain('The store has no record m7 yet.')
  expect(made.stderr).not.toContain('m2')
})

test('whoever names none, the wrong one or a part is told what to name', async () => {
  const { store, grants } = await aStoreWithVerbs()
  store.put(messages(), 'home', someMessages(1))
  const { id, grants: parts } = store.grant({ stream: 'messages' })
  store.owner()
  const [{ id: owner = '' } = {}] = store.writer.owners

  const [none, wrong, part, ofOwner] = await Promise.all([
    grants('show'),
    grants('show', 'grt_nope'),
    grants('token', parts[0] ?? ''),
    grants('token', owner),
  ])

  expect(none).toMatchObject({ code: 2, stderr: 'An id is required: drawbridge grants show ID\n' })
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong?.stderr).toContain('There is no grant grt_nope. "drawbridge grants list"')
  expect(part).toMatchObject({ code: 1, stdout: '' })
  expect(part?.stderr).toContain(`drawbridge grants token ${id}`)
  expect(ofOwner?.stderr).toContain('drawbridge grants create --owner')
})

test('every time of a grant is shown in one form, wherever it is shown', async () => {
  const { store, grants } = await aStoreWithVerbs()
  const streams = [{ stream: 'messages', since: '2026-01-02', until: '2026-01-03T00:00+02:00' }]
  const wanted = { client: 'c', streams, expires: '2999-01-01 12:00', mode: 'single_use' } as const
  const { grantPackage: given } = createGrant(store.writer, wanted, Date.now())
  store.writer.revoke(given.grants[0]?.id ?? '', Date.now())

  const shown = JSON.parse((await grants('show', given.id)).stdout)

  expect(shown).toMatchObject({ state: 'revoked', expires_at: '2999-01-01T12:00:00.000Z' })
  expect(shown.grants[0].streams[0]).toMatchObject({
    since: '2026-01-02T00:00:00.000Z',
    until: '2026-01-02T22:00:00.000Z',
  })
  expect([shown.created_at, shown.consumed_at, shown.grants[0].revoked_at]).toEqual(
    Array(3).fill(expect.stringMatching(iso)),
  )
})
