import { expect, test } from 'vitest'
import { createGrant } from '../../src/sources/records/grants/issue-tokens.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { drawbridge } from '../support/run-cli.ts'

async function aStoreWithCli() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const grants = (...args: string[]) =>
    drawbridge(['grants', ...args, '--store', store.file], { env: { TZ: 'Asia/Tokyo' } })
  return { store, grants }
}

const isoTimestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

test('an owner token has an id, is listed and shown, and stops working when revoked', async () => {
  const { store, grants } = await aStoreWithCli()
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

  const [listResult, lines, showResult, ingestBeforeRevocation] = await Promise.all([
    grants('list', '--json'),
    grants('list'),
    grants('show', id),
    send(),
  ])
  const revokeResult = await grants('revoke', id)
  const ingestAfterRevocation = await send()
  const shownAfterwards = JSON.parse((await grants('show', id)).stdout)

  const row = { id, kind: 'owner', state: 'live', created_at: expect.stringMatching(isoTimestamp) }
  expect(id).toMatch(/^own_[0-9a-f]{32}$/)
  expect(JSON.parse(listResult.stdout)).toEqual([expect.objectContaining({ kind: 'grant' }), row])
  expect(lines.stdout).toContain(`${id} live     owner`)
  expect(JSON.parse(showResult.stdout)).toEqual(row)
  expect(ingestBeforeRevocation.status).toBe(200)
  expect(revokeResult).toMatchObject({ code: 0, stdout: `${id} is revoked.\n` })
  expect(ingestAfterRevocation.status).toBe(401)
  expect((await read()).status).toBe(403)
  expect(await introspect()).not.toContain('true')
  expect(shownAfterwards).toMatchObject({
    state: 'revoked',
    revoked_at: expect.stringMatching(isoTimestamp),
  })
})

test('a token given as an id is refused and not echoed', async () => {
  const { store, grants } = await aStoreWithCli()
  const grant = store.grant({ stream: 'messages' })
  const owner = store.owner()
  const [{ id = '' } = {}] = store.writer.owners
  const unknownToken = `drb_${'x'.repeat(43)}`

  const [ofOwner, ofGrant, ofUnknown, asCommand] = await Promise.all([
    grants('revoke', owner),
    grants('show', grant.token),
    grants('token', unknownToken),
    grants(owner),
  ])

  expect(ofOwner?.stderr).toBe(`That is a token, not an id. Its id is ${id}.\n`)
  expect(ofGrant?.stderr).toContain(`Its id is ${grant.grants[0]}.`)
  expect(ofUnknown?.stderr).toContain('"drawbridge grants list" shows the ids')
  for (const result of [ofOwner, ofGrant, ofUnknown, asCommand]) {
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result?.stderr).not.toContain('drb_')
  }
  expect(store.writer.owners).toMatchObject([{ id }])
  expect(store.writer.owners[0]).not.toHaveProperty('revokedAt')
})

test('an owner token accepts an expiry but no grant terms', async () => {
  const { store, grants } = await aStoreWithCli()

  const [withExpiry, withTerms, expired] = await Promise.all([
    grants('create', '--owner', '--expires', '2999-01-01'),
    grants('create', '--owner', '--client', 'c', '--stream', 'messages', '--single'),
    grants('create', '--owner', '--expires', '2001-01-01'),
  ])

  expect(JSON.parse(withExpiry.stdout)).toMatchObject({ expires_at: '2999-01-01T00:00:00.000Z' })
  expect(withTerms).toMatchObject({ code: 2, stdout: '' })
  expect(withTerms.stderr).toContain('--owner cannot be combined with --client, --stream, --single')
  expect(expired).toMatchObject({ code: 2, stdout: '' })
  expect(store.writer.owners).toHaveLength(1)
})

test('owner tokens from before ids existed get one and stay valid', async () => {
  const { store, grants } = await aStoreWithCli()
  const token = store.owner()
  const database = openSqlite(store.file)
  database.exec('drop table owners; pragma user_version = 5')
  database.close()

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

const impossibleTerms: Readonly<Record<string, { args: string[]; message: string }>> = {
  'an empty time range': {
    args: ['--since', '2026-02-01', '--until', '2026-02-01T00:00:00Z'],
    message: '--since 2026-02-01 is not before --until 2026-02-01T00:00:00Z',
  },
  'an invalid expiry': { args: ['--expires', 'tomorrow'], message: '--expires must be a time' },
  'an expiry in the past': {
    args: ['--expires', '2001-01-01'],
    message: '--expires 2001-01-01 is in the past',
  },
  'a field that does not exist': { args: ['--fields', 'id,nope'], message: 'has no field nope' },
  'an empty field list': { args: ['--fields', ','], message: '--fields needs at least one name' },
}

test('a grant with impossible terms is refused, and no token is issued', async () => {
  const { store, grants } = await aStoreWithCli()

  const cases = Object.entries(impossibleTerms).map(async ([name, { args, message }]) => {
    const createResult = await grants('create', '--client', 'c', '--stream', 'messages', ...args)
    expect(createResult, name).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  })

  await Promise.all(cases)
  expect(store.writer.packages).toEqual([])
})

test('creating a grant by record id names the records that do not exist', async () => {
  const { store, grants } = await aStoreWithCli()
  store.put(messages(), 'home', someMessages(1))

  const createResult = await grants(
    'create',
    '--client',
    'c',
    '--stream',
    'messages',
    '--resources',
    'm2,m7',
  )

  expect(createResult.code).toBe(0)
  expect(createResult.stderr).toContain('The store has no record m7 yet.')
  expect(createResult.stderr).not.toContain('m2')
})

test('a missing, unknown or partial grant id gets an error that says which id to use', async () => {
  const { store, grants } = await aStoreWithCli()
  store.put(messages(), 'home', someMessages(1))
  const { id, grants: grantIds } = store.grant({ stream: 'messages' })
  store.owner()
  const [{ id: owner = '' } = {}] = store.writer.owners

  const [withoutId, unknownId, partialId, ofOwner] = await Promise.all([
    grants('show'),
    grants('show', 'grt_nope'),
    grants('token', grantIds[0] ?? ''),
    grants('token', owner),
  ])

  expect(withoutId).toMatchObject({
    code: 2,
    stderr: 'An id is required: drawbridge grants show ID\n',
  })
  expect(unknownId).toMatchObject({ code: 1, stdout: '' })
  expect(unknownId?.stderr).toContain('There is no grant grt_nope. "drawbridge grants list"')
  expect(partialId).toMatchObject({ code: 1, stdout: '' })
  expect(partialId?.stderr).toContain(`drawbridge grants token ${id}`)
  expect(ofOwner?.stderr).toContain('drawbridge grants create --owner')
})

test('every time of a grant is shown as an ISO timestamp in UTC', async () => {
  const { store, grants } = await aStoreWithCli()
  const streams = [{ stream: 'messages', since: '2026-01-02', until: '2026-01-03T00:00+02:00' }]
  const request = { client: 'c', streams, expires: '2999-01-01 12:00', mode: 'single_use' } as const
  const { grantPackage } = createGrant(store.writer, request, Date.now())
  store.writer.revoke(grantPackage.grants[0]?.id ?? '', Date.now())

  const showResult = JSON.parse((await grants('show', grantPackage.id)).stdout)

  expect(showResult).toMatchObject({ state: 'revoked', expires_at: '2999-01-01T12:00:00.000Z' })
  expect(showResult.grants[0].streams[0]).toMatchObject({
    since: '2026-01-02T00:00:00.000Z',
    until: '2026-01-02T22:00:00.000Z',
  })
  expect([showResult.created_at, showResult.consumed_at, showResult.grants[0].revoked_at]).toEqual(
    Array(3).fill(expect.stringMatching(isoTimestamp)),
  )
})
