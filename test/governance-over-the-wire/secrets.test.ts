import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { countingTools } from '../support/counting-tools.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens, tokenOf } from '../support/tokens.ts'

/** By the way it takes: code of a tool that lets `secret` out. */
const leaks: Record<string, string> = {
  text: `return content([{ type: 'text', text: 'It is ' + secret }])`,
  data: `return { list: [{ deep: { secret } }] }`,
  key: `return { [secret]: true }`,
  document: `return content([{ type: 'resource', resource: { uri: 'x://y', text: secret } }])`,
  link: `return content([{ type: 'resource_link', uri: 'x://y?token=' + secret, name: secret }])`,
  error: `return { tool: 'x', fetchedAt: '', error: 'cannot log in with ' + secret }`,
  thrown: `throw new Error('cannot log in with ' + secret)`,
  'thrown text': `throw 'cannot log in with ' + secret`,
  cause: `throw new Error('cannot log in', { cause: new Error(secret) })`,
  property: `throw Object.assign(new Error('no'), { config: { headers: { authorization: 'Bearer ' + secret } } })`,
  progress: `context.progress(1, 2, secret); return 'told'`,
  log: `context.log('warning', { secret }); return 'told'`,
  question: `return ask({ it: { kind: 'form', message: 'Is it ' + secret + '?', schema: { type: 'object', properties: {} } } })`,
  state: `return ask({ it: { kind: 'form', message: 'Sure?', schema: { type: 'object', properties: {} } } }, { secret })`,
  'thrown later': `setTimeout(() => { throw new Error(secret) }); await new Promise((r) => setTimeout(r, 20)); return 'well'`,
  'rejected later': `void Promise.reject(new Error(secret)); await new Promise((r) => setTimeout(r, 20)); return 'well'`,
}
const ways = Object.keys(leaks)
const toWord = (way: string) => way.replaceAll(' ', '_')
const canaryOf = (what: string) => `canary/${toWord(what)}+${'0123456789'}=`

/** Names that say that what they hold is nobody's business. */
const names = [
  'GITHUB_TOKEN',
  'DB_PASSWORD',
  'AWS_SECRET_ACCESS_KEY',
  'STRIPE_API_KEY',
  'SIGNING_PRIVATE_KEY',
  'ENCRYPTION_KEY',
  'oauth_client_secret',
]

/** What a failing upstream says, and no client should read. */
const upstream = `connect ECONNREFUSED db-7.internal.acme:5432: select iban from customers where id = 7`

const environment = {
  LOG_LEVEL: 'trace',
  FROM_CONFIGURATION: canaryOf('configuration'),
  ...Object.fromEntries(ways.map((way) => [`SECRET_${toWord(way)}`, canaryOf(way)])),
  ...Object.fromEntries(names.map((name) => [name, `${canaryOf(name)}\nsecond line of ${name}`])),
}

const config = `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  rules:
    - { match: keep, recordArguments: true }
${httpWithTokens({ subject: 'ann', scopes: ['orders:read'] })}  hosts: [env://FROM_CONFIGURATION]
`

const tools = countingTools(
  ...ways.map((way) => ({
    name: `leak_${toWord(way)}`,
    body: `const secret = process.env.SECRET_${toWord(way)}\n${leaks[way]}`,
  })),
  { name: 'show_env', category: 'read', body: `return { value: process.env[input.order] }` },
  { name: 'fail', body: `throw new Error(${JSON.stringify(upstream)})` },
  { name: 'charge', more: 'idempotencyKey: true,', body: `return 'charged'` },
  { name: 'keep', body: `return 'kept'` },
  { name: 'answer', body: `return { iban: 'canary-result' }` },
  { name: 'need_scope', more: `permissions: ['orders:write'],` },
  { name: 'confirm', more: 'requiresConfirmation: true,' },
)

let site: Site
/** What the client saw, by what it asked for. */
const seen = new Map<string, string>()
let failedCall: string
/** Everywhere else where something could have been written. */
const sinks: Record<string, string> = {}

beforeAll(async () => {
  site = await Site.open({ 'drawbridge.yaml': config, 'tools/all.ts': tools }, environment)
  const server = await site.serve()
  for (const way of ways) await ask(way, `leak_${toWord(way)}`, { order: 'a' })
  for (const name of [...names, 'FROM_CONFIGURATION']) await ask(name, 'show_env', { order: name })
  await ask('fail', 'fail', { order: 'a' })
  failedCall = /"dev.drawbridge\/call-id":"([^"]+)"/.exec(seen.get('fail') ?? '')?.[1] ?? ''
  await ask('argument', 'charge', { order: 'canary-argument', idempotency_key: 'canary-key-arg' })
  await ask('invalid', 'charge', { order: { canary: 'canary-invalid' }, extra: 'canary-invalid' })
  await ask('meta', 'charge', { order: 'b' }, { key: 'canary-key-meta' })
  await ask('conflict', 'charge', { order: 'c' }, { key: 'canary-key-meta' })
  await ask('header', 'charge', { order: 'd' }, { headers: { 'idempotency-key': 'canary-key-hd' } })
  await ask('kept', 'keep', { order: 'canary-kept' })
  await ask('result', 'answer', { order: 'a' })
  await ask('scope', 'need_scope', { order: 'canary-scope' })
  await ask('confirm', 'confirm', { order: 'canary-confirm' })
  await ask('stranger', 'keep', { order: 'x' }, { headers: { authorization: 'Bearer canary-bad' } })
  await fetch(`${site.url}?access_token=canary-query`, { method: 'POST', headers: asBearer('ann') })
  await fetch(new URL('/nowhere?token=canary-query', site.url), { headers: asBearer('ann') })
  await site.stop(server)
  sinks['the log'] = server.stderr()
  sinks['the audit'] = (await site.run('audit', '--json', '--limit', '1000')).stdout
  sinks['the list of runs'] = (await site.run('runs', 'list', '--json')).stdout
  sinks['the store'] = readdirSync(site.folder)
    .filter((name) => name.startsWith('drawbridge.db'))
    .map((name) => readFileSync(path.join(site.folder, name), 'latin1'))
    .join('\n')
  return () => site.close()
}, 40_000)

async function ask(
  label: string,
  name: string,
  input: Record<string, unknown>,
  { key, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
): Promise<void> {
  const message = aModernRequest('tools/call', {
    name,
    arguments: input,
    _meta: {
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      'io.modelcontextprotocol/logLevel': 'debug',
      progressToken: 1,
      ...(key !== undefined && { 'dev.drawbridge/idempotency-key': key }),
    },
  })
  const response = await fetch(site.url, {
    method: 'POST',
    headers: { ...toModernHeaders(message), ...asBearer('ann'), ...headers },
    body: JSON.stringify(message),
  })
  const fields = JSON.stringify([...response.headers])
  seen.set(label, `${response.status} ${fields} ${await response.text()}`)
}

/** However it is written: plainly, or escaped inside of JSON once or twice. */
const holds = (text: string, canary: string): boolean =>
  text.replaceAll('\\', '').includes(canary.replaceAll('\\', ''))

const sinkNames = ['the log', 'the audit', 'the list of runs', 'the store']

describe('a secret of the environment', () => {
  test.each(ways)('that a tool lets out as %s does not reach the client', (way) => {
    expect(seen.get(way)).toBeDefined()
    expect(seen.get(way)).not.toContain(canaryOf(way))
  })

  test.each(names)('is one because it is called %s', (name) => {
    expect(seen.get(name)).toContain('"value":')
    expect(seen.get(name)).not.toContain(canaryOf(name))
    expect(seen.get(name)).not.toContain('second line')
  })

  test('is one because the configuration takes it from there, whatever its name', () => {
    expect(seen.get('FROM_CONFIGURATION')).toContain('"value":')
    expect(seen.get('FROM_CONFIGURATION')).not.toContain(canaryOf('configuration'))
  })

  test.each(sinkNames)('does not reach %s, whatever a tool does with it', (sink) => {
    const leaked = ways.filter((way) => holds(sinks[sink] ?? '', canaryOf(way)))

    expect(leaked).toEqual([])
  })
})

describe('what an upstream says when it fails', () => {
  const parts = [
    'db-7.internal',
    '5432',
    'ECONNREFUSED',
    'iban',
    'customers',
    'tools/all.ts',
    ' at ',
  ]

  test('does not reach the client, who gets a reference instead', () => {
    const told = seen.get('fail') ?? ''

    for (const part of parts) expect(told).not.toContain(part)
    expect(failedCall).toMatch(/^[0-9a-f-]{36}$/)
    expect(told).toContain(`look up the reference ${failedCall}`)
  })

  test('reaches the log, under that reference, so that somebody can put it right', () => {
    const lines = (sinks['the log'] ?? '').split('\n').filter((line) => line.includes(failedCall))

    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('db-7.internal')
  })

  test('does not reach the audit', () => {
    expect(sinks['the audit']).toContain(failedCall)
    for (const part of parts.slice(0, -1)) expect(sinks['the audit']).not.toContain(part)
  })
})

test('a bearer token is never written down or sent back, be it good, bad or in an address', () => {
  for (const text of [...seen.values(), ...Object.values(sinks)])
    for (const token of [tokenOf('ann'), 'canary-bad', 'canary-query'])
      expect(text).not.toContain(token)
})

test('a key is neither logged nor audited nor sent back', () => {
  for (const text of [...seen.values(), sinks['the log'], sinks['the audit']])
    expect(text).not.toContain('canary-key')
})

test('arguments are neither logged nor audited, unless policy says so', () => {
  for (const canary of ['argument', 'invalid', 'scope', 'confirm'])
    for (const sink of ['the log', 'the audit'])
      expect(sinks[sink]).not.toContain(`canary-${canary}`)
  expect(sinks['the log']).not.toContain('canary-kept')
  expect(sinks['the audit']).toContain('canary-kept')
})

test('arguments that are not valid are not repeated to the client', () => {
  expect(seen.get('invalid')).toContain('invalid_input')
  expect(seen.get('invalid')).not.toContain('canary-invalid')
})

test('results are neither logged nor audited', () => {
  expect(seen.get('result')).toContain('canary-result')
  for (const sink of ['the log', 'the audit']) expect(sinks[sink]).not.toContain('canary-result')
})

test('the audit has a record of every one of these calls all the same', () => {
  const records: { event: string; capability: string }[] = JSON.parse(sinks['the audit'] ?? '[]')
  const audited = new Set(records.map(({ capability }) => capability))

  for (const way of ways) expect(audited).toContain(`leak_${toWord(way)}`)
  for (const name of ['fail', 'charge', 'keep', 'answer', 'need_scope', 'confirm'])
    expect(audited).toContain(name)
})

test('a secret in the words of a module that does not load is not printed', async () => {
  await site.put(
    'tools/broken.ts',
    `throw new Error('cannot connect with ' + process.env.GITHUB_TOKEN)`,
  )

  const { code, stdout, stderr } = await site.run('check')

  expect(code).toBe(1)
  expect(stdout).toContain('cannot connect with')
  expect(`${stdout}${stderr}`).not.toContain(canaryOf('GITHUB_TOKEN'))
})
