import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aProject, put } from '../support/a-project.ts'
import { anApi } from '../support/api/an-api.ts'
import { ApiDocument } from '../support/api/api-document.ts'
import { eventually } from '../support/eventually.ts'
import { aModernClient } from '../support/official-clients.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { aModernPost, answerOf, post } from '../support/wire.ts'
import { accepted } from './credentials.ts'

const document = path.resolve('test/fixtures/openapi/everything.yaml')
const env = { THE_KEY: 'header-key-1', USER_PASSWORD: 'pass:word 4' }

/** A folder with a configuration that serves the document, whose API runs. */
async function aConfiguredApi(rest = '', policy = '') {
  const api = await anApi(new ApiDocument(document), { credentials: accepted })
  const folder = await aProject({
    'drawbridge.yaml': `name: acme
version: 1.0.0
sources:
  - openapi: ${document}
    prefix: api
    server: ${api.url}
    secrets:
      headerKey: { host: '${api.host}', value: env://THE_KEY }
      basic: { host: '${api.host}', user: ada, password: env://USER_PASSWORD }
${rest}
${policy}`,
  })
  const run = (...args: string[]) => drawbridge(args, { cwd: folder, env })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  return { api, folder, run, json }
}

describe('a drawbridge.yaml with an openapi source', () => {
  test('calls an operation with the secrets of the environment', async () => {
    const { api, run } = await aConfiguredApi()

    const { code, stdout } = await run('call', 'api_secureBoth', '{}')

    expect(code).toBe(0)
    expect(stdout).toContain('{"ok":true}')
    expect(api.received[0]).toMatchObject({ problems: [], credentials: ['headerKey', 'basic'] })
  })

  test('refuses arguments that the schema does not allow, and sends nothing', async () => {
    const { api, run } = await aConfiguredApi()

    const { code, stdout, stderr } = await run(
      'call',
      'api_pathInSegment',
      '{"year":1,"month":"13"}',
    )

    expect(code).toBe(1)
    expect(stdout + stderr).toMatch(/year/)
    expect(api.received).toEqual([])
  })

  test('is checked: secrets that are missing are named with file and line, and the exit code is 0', async () => {
    const { run, json } = await aConfiguredApi()

    expect((await run('check')).code).toBe(0)
    const found = (await json('check')) as { code: string; at: string; message: string }[]
    const unbound = found.filter(({ code }) => code === 'secret_unbound')
    expect(unbound.map(({ at }) => at)).toEqual(
      unbound.map(() => expect.stringMatching(/everything\.yaml:\d+:\d+$/)),
    )
    expect(unbound.map(({ message }) => message).join()).toMatch(/secureBearer.*bearer/)
  })

  test('explains where a call goes and which secret it carries, without its value', async () => {
    const { api, run } = await aConfiguredApi()

    const { stdout } = await run('explain', 'api_secureHeaderKey', '{}', '--json')

    expect(stdout).toContain(api.host)
    expect(stdout).toContain('headerKey')
    expect(stdout).toContain('X-API-Key')
    expect(stdout).not.toContain('header-key-1')
    expect(api.received).toEqual([])
  })

  test('shows no secret in list, check or explain', async () => {
    const { run } = await aConfiguredApi()

    const outputs = await Promise.all([
      run('list', '--json'),
      run('list', '--tools'),
      run('check', '--json'),
      run('explain', 'api_secureBasic', '{}'),
    ])

    const text = outputs.map(({ stdout, stderr }) => stdout + stderr).join()
    for (const secret of Object.values(env)) expect(text).not.toContain(secret)
  })

  test('applies the rules of the policy', async () => {
    const { api, run } = await aConfiguredApi(
      '',
      'policy:\n  rules:\n    - match: api_method*\n      writes: true\n      approval: true\n',
    )

    const asked = await run('call', 'api_methodDelete', '{}')
    const read = await run('call', 'api_methodGet', '{}')

    expect(asked.code).toBe(1)
    expect(asked.stdout + asked.stderr).toMatch(/approv/i)
    expect(read.code).toBe(0)
    expect(api.received.map(({ method }) => method)).toEqual(['GET'])
  })

  test.each([
    ['an unknown key', 'includes: []', /includes/],
    ['a selector of nothing', 'include: [{}]', /tag, path, operation or method/],
    ['a digest that is none', 'digest: abc', /sha256/],
    ['an effect that is none', 'effects: { a: { reads: true } }', /reads/],
    ['a key of another kind of source', 'probes: {}', /unknown key "probes" at \/sources\/0\.\n/],
  ])('with %s is a usage error with its line', async (_, line, message) => {
    const { run } = await aConfiguredApi(`    ${line}`)

    const { code, stderr } = await run('check')

    expect(code).toBe(2)
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/drawbridge\.yaml:\d+/)
  })

  test.each([
    [
      '{ host: a.example, clientId: a, clientSecret: b, tokenHost: b.example, tokenAuth: post }',
      /secrets\/x\/tokenAuth: .*"basic"\|"body"\s*$/,
    ],
    ['{ host: a.example, client_id: a, client_secret: b }', /"client_secret".*"clientSecret"/],
    ['just-the-value', /secrets\/x: must be \{ host, value \}/],
    ['{ host: a.example, token: b }', /secrets\/x: must be \{ host, value \}/],
  ])('with the secret %s says what is wrong', async (secret, message) => {
    const { run } = await aConfiguredApi(`      x: ${secret}`)

    const { code, stderr } = await run('check')

    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })

  test('warns of a secret that is written in the file', async () => {
    const { json } = await aConfiguredApi("      bearer: { host: 'x.example', value: abcdefgh }")

    expect(await json('check')).toContainEqual(
      expect.objectContaining({
        code: 'literal_secret',
        message: expect.stringContaining('bearer'),
      }),
    )
  })

  test('is served over HTTP', async () => {
    const { api, folder } = await aConfiguredApi()
    const { url } = await startServing([], { cwd: folder, env })
    const client = await aModernClient(url)

    const result = await client.callTool({ name: 'api_bodyJson', arguments: { body: order } })

    expect(result.isError).toBeFalsy()
    expect(api.received[0]).toMatchObject({ problems: [], body: { value: order } })
  })

  const order = {
    total: { amount: 1, currency: 'EUR' },
    payment: { kind: 'card', last4: '1234' },
  }
})

test('--watch sees that a file of a document is created, also in a new folder', async () => {
  const cwd = await aProject({
    'api.yaml': `openapi: 3.1.0
info: { title: Things, version: 1.0.0 }
servers: [{ url: 'http://127.0.0.1:9' }]
paths:
  /good: { get: { operationId: good } }
  /part: { $ref: ./parts/part.yaml }
`,
    'drawbridge.yaml': 'sources:\n  - openapi: ./api.yaml\n',
  })
  const server = await startServing(['--watch'], { cwd })
  const names = async () => {
    const { result } = await answerOf(await post(server.url, aModernPost('tools/list')))
    return result.tools.map(({ name }: { name: string }) => name)
  }
  expect(await names()).toEqual(['good'])

  await put(path.join(cwd, 'parts/part.yaml'), 'get: { operationId: fromPart }\n')

  await eventually(async () => expect(await names()).toEqual(['fromPart', 'good']))
})
