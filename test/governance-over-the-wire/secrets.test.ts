import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { countingTools } from '../support/counting-tools.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens, tokenOf } from '../support/tokens.ts'

/** Tool bodies that leak `secret`, by channel. */
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
const channels = Object.keys(leaks)
const toWord = (channel: string) => channel.replaceAll(' ', '_')
const canaryOf = (label: string) => `canary/${toWord(label)}+${'0123456789'}=`

/** Environment variable names that imply a secret. */
const names = [
  'GITHUB_TOKEN',
  'DB_PASSWORD',
  'AWS_SECRET_ACCESS_KEY',
  'STRIPE_API_KEY',
  'SIGNING_PRIVATE_KEY',
  'ENCRYPTION_KEY',
  'oauth_client_secret',
]

/** Internal details in an upstream failure that clients must not see. */
const upstream = `connect ECONNREFUSED db-7.internal.acme:5432: select iban from customers where id = 7`

const environment = {
  LOG_LEVEL: 'trace',
  FROM_CONFIGURATION: canaryOf('configuration'),
  ...Object.fromEntries(
    channels.map((channel) => [`SECRET_${toWord(channel)}`, canaryOf(channel)]),
  ),
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
  ...channels.map((channel) => ({
    name: `leak_${toWord(channel)}`,
    body: `const secret = process.env.SECRET_${toWord(channel)}\n${leaks[channel]}`,
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
/** Responses the client received, by label. */
const responses = new Map<string, string>()
let failedCall: string
/** Every other output that could contain a secret. */
const sinks: Record<string, string> = {}

beforeAll(async () => {
  site = await Site.open({ 'drawbridge.yaml': config, 'tools/all.ts': tools }, environment)
  const server = await site.serve()
  for (const channel of channels) await ask(channel, `leak_${toWord(channel)}`, { order: 'a' })
  for (const name of [...names, 'FROM_CONFIGURATION']) await ask(name, 'show_env', { order: name })
  await ask('fail', 'fail', { order: 'a' })
  failedCall = /"dev.drawbridge\/call-id":"([^"]+)"/.exec(responses.get('fail') ?? '')?.[1] ?? ''
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
  responses.set(label, `${response.status} ${fields} ${await response.text()}`)
}

/** Ignores backslashes, so that JSON-escaped copies are found too. */
const containsEscaped = (text: string, canary: string): boolean =>
  text.replaceAll('\\', '').includes(canary.replaceAll('\\', ''))

const sinkNames = ['the log', 'the audit', 'the list of runs', 'the store']

describe('a secret in the environment', () => {
  test.each(channels)('leaked by a tool as %s does not reach the client', (channel) => {
    expect(responses.get(channel)).toBeDefined()
    expect(responses.get(channel)).not.toContain(canaryOf(channel))
  })

  test.each(names)('is recognised by the variable name %s', (name) => {
    expect(responses.get(name)).toContain('"value":')
    expect(responses.get(name)).not.toContain(canaryOf(name))
    expect(responses.get(name)).not.toContain('second line')
  })

  test('is recognised when the configuration refers to it, whatever its name', () => {
    expect(responses.get('FROM_CONFIGURATION')).toContain('"value":')
    expect(responses.get('FROM_CONFIGURATION')).not.toContain(canaryOf('configuration'))
  })

  test.each(sinkNames)('does not reach %s', (sink) => {
    const leakingChannels = channels.filter((channel) =>
      containsEscaped(sinks[sink] ?? '', canaryOf(channel)),
    )

    expect(leakingChannels).toEqual([])
  })
})

describe('the message of an upstream failure', () => {
  const parts = [
    'db-7.internal',
    ':5432',
    'ECONNREFUSED',
    'iban',
    'customers',
    'tools/all.ts',
    ' at ',
  ]

  test('is replaced by a reference for the client', () => {
    const response = responses.get('fail') ?? ''

    for (const part of parts) expect(response).not.toContain(part)
    expect(failedCall).toMatch(/^[0-9a-f-]{36}$/)
    expect(response).toContain(`look up the reference ${failedCall}`)
  })

  test('is logged under that reference', () => {
    const lines = (sinks['the log'] ?? '').split('\n').filter((line) => line.includes(failedCall))

    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('db-7.internal')
  })

  test('is not audited', () => {
    expect(sinks['the audit']).toContain(failedCall)
    for (const part of parts.slice(0, -1)) expect(sinks['the audit']).not.toContain(part)
  })
})

test('a bearer token is never logged, stored or returned, whether valid, invalid or in a URL', () => {
  for (const text of [...responses.values(), ...Object.values(sinks)])
    for (const token of [tokenOf('ann'), 'canary-bad', 'canary-query'])
      expect(text).not.toContain(token)
})

test('an idempotency key is not logged, audited or returned', () => {
  for (const text of [...responses.values(), sinks['the log'], sinks['the audit']])
    expect(text).not.toContain('canary-key')
})

test('arguments are not logged, and audited only if policy records them', () => {
  for (const canary of ['argument', 'invalid', 'scope', 'confirm'])
    for (const sink of ['the log', 'the audit'])
      expect(sinks[sink]).not.toContain(`canary-${canary}`)
  expect(sinks['the log']).not.toContain('canary-kept')
  expect(sinks['the audit']).toContain('canary-kept')
})

test('invalid arguments are not returned to the client', () => {
  expect(responses.get('invalid')).toContain('invalid_input')
  expect(responses.get('invalid')).not.toContain('canary-invalid')
})

test('results are not logged or audited', () => {
  expect(responses.get('result')).toContain('canary-result')
  for (const sink of ['the log', 'the audit']) expect(sinks[sink]).not.toContain('canary-result')
})

test('every call has an audit record', () => {
  const records: { event: string; capability: string }[] = JSON.parse(sinks['the audit'] ?? '[]')
  const auditedNames = new Set(records.map(({ capability }) => capability))

  for (const channel of channels) expect(auditedNames).toContain(`leak_${toWord(channel)}`)
  for (const name of ['fail', 'charge', 'keep', 'answer', 'need_scope', 'confirm'])
    expect(auditedNames).toContain(name)
})

test('a secret in the error of a failing module is not printed', async () => {
  await site.put(
    'tools/broken.ts',
    `throw new Error('cannot connect with ' + process.env.GITHUB_TOKEN)`,
  )

  const { code, stdout, stderr } = await site.run('check')

  expect(code).toBe(1)
  expect(stdout).toContain('cannot connect with')
  expect(`${stdout}${stderr}`).not.toContain(canaryOf('GITHUB_TOKEN'))
})
