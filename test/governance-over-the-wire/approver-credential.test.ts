import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createDrawbridge } from '../../src/index.ts'
import { movesMoney } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { Site } from '../support/a-site.ts'
import { aCapability } from '../support/builders.ts'
import { type OfficialClient, personAnswers } from '../support/client-kinds.ts'
import { countingTools } from '../support/counting-tools.ts'
import { drawbridge, main } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import type { StartedProcess } from '../support/start-process.ts'
import { asBearer, httpWithTokens, toTokenEntry } from '../support/tokens.ts'

const confirmed = 'requiresConfirmation: true,'
const toolFiles = (...names: readonly string[]) => ({
  'tools/all.ts': countingTools(...names.map((name) => ({ name, more: confirmed }))),
})
const isRoot = process.getuid?.() === 0

let order = 0
const anOrder = () => ({ order: `order-${order++}` })

const decide = (url: string, id: string, headers: Record<string, string>) =>
  fetch(new URL(`/approvals/${id}`, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"decision":"approve"}',
  })

describe('without http.tokens', () => {
  let site: Site
  let server: StartedProcess
  let client: OfficialClient
  let secret: string
  let file: string
  let input: { order: string }
  let id: string

  beforeAll(async () => {
    site = await Site.open({
      'drawbridge.yaml': 'sources: [{ definitions: ./tools/*.ts }]\n',
      ...toolFiles('pay'),
      'tools/read.ts': countingTools({
        name: 'read_file',
        category: 'read',
        body: `return (await import('node:fs')).readFileSync(path.join(file, '..', input.order), 'utf8')`,
      }),
    })
    server = await site.serve()
    client = await site.connect('2026 over HTTP')
    file = path.join(site.folder, 'drawbridge.db.approver')
    secret = readFileSync(file, 'utf8')
    return () => site.close()
  })

  beforeEach(async () => {
    writeFileSync(file, secret, { mode: 0o600 })
    chmodSync(file, 0o600)
    input = anOrder()
    id = String((await client.call('pay', input)).details.approval)
  })

  const verdict = async () => (await client.call('pay', input)).verdict

  test('serve creates a credential that only its owner can read', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(secret).toMatch(/^[\w-]{43}\n$/)
  })

  test('a client that can call cannot see or decide approvals', async () => {
    const wrong = { authorization: `Bearer ${secret.trim().slice(0, -1)}x` }
    const basic = { authorization: `Basic ${Buffer.from(`:${secret.trim()}`).toString('base64')}` }
    for (const headers of [{}, wrong, basic, { 'x-api-key': secret.trim() }])
      for (const response of [
        await fetch(new URL('/approvals', site.url), { headers }),
        await fetch(new URL(`/approvals/${id}`, site.url), { headers }),
        await decide(site.url, id, headers),
      ]) {
        const text = await response.text()
        expect(response.status).toBe(401)
        expect(response.headers.get('www-authenticate')).toMatch(/^Bearer\b/)
        expect(text).toContain('.approver beside the server')
        expect(text).toContain('drawbridge approvals')
        expect(text).not.toContain(site.folder)
        expect(text).not.toContain(input.order)
      }
    expect(await verdict()).toBe('approval_required')
  })

  test('the credential decides, as another subject than the local user', async () => {
    const response = await decide(site.url, id, site.asApprover())

    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ caller: 'local', decidedBy: 'operator' })
    expect(await verdict()).toBe('done')
  })

  test('the command line uses the credential, and records the name', async () => {
    expect(await site.run('approvals', 'approve', id, '--as', 'olga')).toMatchObject({
      code: 0,
      stderr: '',
    })
    expect(await verdict()).toBe('done')
  })

  test('the command line cannot decide under the name of the caller, however it is written', async () => {
    for (const name of ['local', 'LOCAL', ' Local ', 'lo\u200bcal', 'ｌｏｃａｌ']) {
      const { code, stderr } = await site.run('approvals', 'approve', id, '--as', name)
      expect(code).toBe(1)
      expect(stderr).toContain('another person has to')
      expect(stderr).toContain('approvers: self')
    }
    expect(await verdict()).toBe('approval_required')
  })

  const unusable: Readonly<Record<string, [prepare: () => void, reason: RegExp]>> = {
    missing: [() => rmSync(file), /does not exist\. "drawbridge serve" .* create/],
    'readable by the group': [() => chmodSync(file, 0o640), /mode 640\)\. Delete it\./],
    'readable by everybody': [() => chmodSync(file, 0o644), /mode 644\)\. Delete it\./],
    empty: [() => writeFileSync(file, ''), /does not contain a secret\. Delete the file\./],
  }
  test.each(Object.entries(unusable))(
    'a credential that is %s decides nothing, and the next step is printed',
    async (_, [prepare, reason]) => {
      prepare()

      const terminal = await site.run('approvals', 'approve', id)
      const response = await decide(site.url, id, { authorization: `Bearer ${secret.trim()}` })

      expect(terminal.code).toBe(2)
      expect(terminal.stderr).toMatch(reason)
      expect(response.status).toBe(401)
      expect(await verdict()).toBe('approval_required')
    },
  )

  test('after the credential was replaced, the server accepts neither value until it restarts', async () => {
    writeFileSync(file, `${'n'.repeat(43)}\n`)

    for (const headers of [{ authorization: `Bearer ${secret.trim()}` }, site.asApprover()])
      expect((await decide(site.url, id, headers)).status).toBe(401)
    await server.waitForOutput(/was replaced after this server started\. Restart it\./)
  })

  test('a tool that reads the file does not disclose it', async () => {
    const { text } = await client.call('read_file', { order: 'drawbridge.db.approver' })

    expect(text).toContain('[withheld]')
    expect(text).not.toContain(secret.trim())
  })

  test.runIf(isRoot)('another user cannot decide, even with write access to the store', () => {
    for (const name of ['drawbridge.db', 'drawbridge.db-wal', 'drawbridge.db-shm'])
      chmodSync(path.join(site.folder, name), 0o666)
    chmodSync(site.folder, 0o777)
    onTestFinished(() => chmodSync(site.folder, 0o700))

    const unreadable = spawnSync(process.execPath, [main, 'approvals', 'approve', id], {
      cwd: site.folder,
      uid: 65534,
      gid: 65534,
      encoding: 'utf8',
    })

    expect(unreadable.stderr).toContain('EACCES')
    expect(unreadable.status).toBe(2)
  })

  test.runIf(isRoot)('a credential that another user has made is refused', async () => {
    chownSync(file, 65533, 65533)
    onTestFinished(() => chownSync(file, 0, 0))
    const planted = await site.run('approvals', 'approve', id)

    expect(planted.stderr).toContain('belongs to another user than the store')
    expect(planted.code).toBe(2)
  })

  test('a store behind a symbolic link has the same credential', async () => {
    const other = await aProject({
      'drawbridge.yaml': `store: ./link.db\nsources: []\n`,
    })
    symlinkSync(path.join(site.folder, 'drawbridge.db'), path.join(other, 'link.db'))

    const { code } = await drawbridge(['approvals', 'approve', id, '--what', other])

    expect(code).toBe(0)
    expect(existsSync(path.join(other, 'link.db.approver'))).toBe(false)
  })
})

describe('with http.tokens', () => {
  let site: Site
  const clients = new Map<string, OfficialClient>()
  const userName = os.userInfo().username

  beforeAll(async () => {
    site = await Site.open({
      'drawbridge.yaml': `sources: [{ definitions: ./tools/*.ts }]
policy:
  rules:
    - { match: own, approvers: self }
    - { match: listed, approvers: [ann, cfo] }
    - { match: 'str*', approvers: [ann, cfo] }
    - { match: strict, approvers: self }
    - { match: strict, approvers: [cfo, dan] }
    - { match: stranded, approvers: [dan] }
    - { match: 'str*', approvers: others }
${httpWithTokens(
  { subject: 'ann', scopes: ['approvals:decide'] },
  { subject: 'ANN', scopes: ['approvals:decide'] },
  { subject: 'cfo', scopes: ['approvals:decide'] },
  { subject: userName, scopes: [] },
)}`,
      ...toolFiles('pay', 'own', 'listed', 'strict', 'stranded'),
    })
    await site.serve()
    for (const subject of ['ann', userName])
      clients.set(subject, await site.connect('2026 over HTTP', { headers: asBearer(subject) }))
    return () => site.close()
  })

  const request = async (name: string, subject = 'ann', input = anOrder()) => {
    const call = () => clients.get(subject)?.call(name, input)
    return { id: String((await call())?.details.approval), call }
  }
  const statusOf = async (id: string, subject: string) =>
    (await decide(site.url, id, asBearer(subject))).status

  test('a caller with the scope cannot decide its own call, by any token of that subject', async () => {
    const { id, call } = await request('pay')

    expect(await statusOf(id, 'ann')).toBe(409)
    expect(await statusOf(id, 'ANN')).toBe(409)
    expect((await site.run('approvals', 'approve', id, '--as', 'ann')).code).toBe(1)
    expect((await call())?.verdict).toBe('approval_required')

    expect(await statusOf(id, 'cfo')).toBe(200)
    expect((await call())?.verdict).toBe('done')
  })

  test('approvers: self lets the caller decide, in its client too', async () => {
    const { id, call } = await request('own')
    expect(await statusOf(id, 'ann')).toBe(200)
    expect((await call())?.verdict).toBe('done')

    const person = () => personAnswers.yes
    const asking = await site.connect('2026 over HTTP', { headers: asBearer('ann'), person })
    expect(await asking.call('own', anOrder())).toMatchObject({ verdict: 'done' })
    expect(asking.shown).toHaveLength(1)
  })

  test('a list of approvers does not let the caller decide, even if it is on it', async () => {
    const { id } = await request('listed')

    expect(await statusOf(id, 'ann')).toBe(409)
    expect(await statusOf(id, 'cfo')).toBe(200)
  })

  test('the strictest of several rules applies, in any order', async () => {
    const strict = await request('strict', userName)
    expect(await statusOf(strict.id, 'ann')).toBe(409)
    expect(await statusOf(strict.id, 'cfo')).toBe(200)

    const stranded = await request('stranded')
    const response = await decide(site.url, stranded.id, asBearer('cfo'))
    expect(response.status).toBe(409)
    expect(await response.text()).toContain('Nobody may decide')
  })

  test('the file beside the store is not a token', async () => {
    const { id } = await request('pay')
    expect((await decide(site.url, id, site.asApprover())).status).toBe(401)
  })

  test('the user of the operating system cannot decide its own call under another name', async () => {
    const { id } = await request('pay', userName)

    for (const flags of [[], ['--as', 'bob']]) {
      const { code, stderr } = await site.run('approvals', 'approve', id, ...flags)
      expect(code).toBe(1)
      expect(stderr).toContain(`${userName} made the call`)
    }
  })
})

describe('a subject of a built-in caller', () => {
  test.each(['local', 'operator', 'Operator', ' LOCAL', 'ｌｏｃａｌ'])(
    '%j cannot be the subject of a token',
    async (subject) => {
      const tokens = [toTokenEntry({ subject, scopes: [] })]
      const folder = await aProject({
        'drawbridge.yaml': `sources: []\nhttp:\n  tokens: ${JSON.stringify(tokens)}\n`,
      })

      const check = await drawbridge(['check', folder])
      const token = await drawbridge(['token', '--subject', subject])

      expect(() => createDrawbridge({ sources: [], http: { tokens } })).toThrow(/reserved/)
      expect([check.code, token.code]).toEqual([2, 2])
      expect(check.stderr).toMatch(/drawbridge\.yaml:3:.*reserved for a built-in caller/)
      expect(token.stderr).toContain('reserved')
    },
  )

  test('"self" and "others" are not names in a list of approvers', async () => {
    for (const approvers of [['self'], ['ann', 'others'], ['']]) {
      const rules = [{ match: '*', approvers }]
      expect(() => createDrawbridge({ sources: [], policy: { rules } })).toThrow(
        /must be a name; "self" and "others" stand alone/,
      )
    }
  })
})

describe('a program with a store in memory', () => {
  const pay = aCapability({ name: 'pay', effects: movesMoney, rules: { approval: true } })
  const sources = [{ id: 'payments', read: async () => ({ capabilities: [pay] }) }]

  test('has the credential for HTTP, and decides under any name but that of the caller', async () => {
    const { bridge, url } = await serveHere({ sources })
    await bridge.call('pay', {})
    const [pending] = bridge.approvals.list(false)
    const id = String(pending?.id)

    const anonymous = await decide(url, id, {})
    const own = await bridge.approvals.decide(id, 'approved', 'local')
    const unnamed = await bridge.approvals.decide(id, 'approved', ' ')
    const decided = await decide(url, id, { authorization: `Bearer ${bridge.approverToken}` })

    expect(anonymous.status).toBe(401)
    expect(await anonymous.text()).toContain('bridge.approverToken')
    expect(own).toEqual({ fault: expect.stringContaining('local made the call') })
    expect(unnamed).toEqual({ fault: expect.stringContaining('Name the person') })
    expect(decided.status).toBe(200)
    expect((await bridge.call('pay', {})).isError).not.toBe(true)
  })

  test('two programs have different credentials', async () => {
    const bridges = [createDrawbridge({ sources }), createDrawbridge({ sources })]
    onTestFinished(async () => void (await Promise.all(bridges.map((one) => one.close()))))

    expect(new Set(bridges.map(({ approverToken }) => approverToken)).size).toBe(2)
  })
})
