import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aManifest, anInterface, toYaml } from '../support/a-manifest.ts'
import { aProject, aSharedProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

/** One variable of each shape that a value may have. */
const config = `name: acme
sources:
  - manifest: ./agent.yaml
  - intents:
      remote:
        - name: warehouse
          url: env://REMOTE_URL
          token: env://REMOTE_TOKEN
          seal: { key: k1 }
          capabilities: [{ intent: quote, description: Quotes., effects: read_only }]
        - { name: bus, url: "env://NATS_URL", capabilities: [{ intent: ask, description: Asks., effects: read_only }] }
      keys: { k1: env://INTENT_KEY }
  - records: { server: env://RECORDS_URL, token: env://RECORDS_TOKEN }
    mount: /mcp/records
  - openapi: ./api.yaml
    secrets: { key: { host: env://API_HOST, value: env://API_KEY } }
policy:
  mode: env://MODE
  rules: [{ match: env://PATTERN, permissions: [env://SCOPE] }]
  egress: { allow: [warehouse.acme.example, env://HOST, 10.0.0.0/8] }
audit: { checkpoints: { to: { url: env://RECEIVER, token: env://RECEIVER_TOKEN } } }
http:
  tokens: [{ hash: env://HASH, subject: env://SUBJECT }]
`
const names = [...config.matchAll(/env:\/\/(\w+)/g)].map(([, name = '']) => name)

const files = {
  'api.yaml': `openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
servers: [{ url: https://10.0.0.2 }]
components: { securitySchemes: { key: { type: apiKey, in: header, name: X-Key } } }
security: [{ key: [] }]
paths: { /pets: { get: { operationId: listPets, responses: { "200": { description: The pets. } } } } }
`,
  'drawbridge.yaml': config,
  'agent.yaml': toYaml(
    aManifest({
      interfaces: [anInterface({ endpoint: 'https://10.0.0.1/mcp' })],
      requirements: { secrets: [{ id: 'agents', secret_ref: 'env://AGENTS_TOKEN' }] },
    }),
  ),
}
const cwd = await aSharedProject(files)
const placeholder = /unset-environment-variable|\.invalid/

describe('--env-optional', () => {
  test('check says once per variable what is not set, and finds no error', async () => {
    const { code, stdout } = await drawbridge(['check', '--env-optional', '--json'], { cwd })
    const found = JSON.parse(stdout) as { code: string; message: string; severity: string }[]

    expect(code).toBe(0)
    const unset = found.filter((one) => one.code === 'env_unset')
    expect(unset.map(({ message }) => /env:\/\/(\w+)/.exec(message)?.[1])).toEqual(
      [...names, 'AGENTS_TOKEN'].sort(),
    )
    expect(unset.every(({ severity }) => severity === 'info')).toBe(true)
    expect(found.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(found.map((one) => one.code)).not.toContain('literal_secret')
    expect(stdout).not.toMatch(placeholder)
  })

  test('without it, every variable has to be set', async () => {
    const { code, stderr } = await drawbridge(['check'], { cwd })

    expect(code).toBe(2)
    for (const name of names) expect(stderr).toContain(`env://${name} is not set`)
    expect(stderr.trim().split('\n')).toHaveLength(names.length)
  })

  test.each([
    ['list'],
    ['list --json'],
    ['list --tools --mount /mcp'],
    ['list --size'],
    ['explain quote'],
    ['diff . .'],
    ['project'],
  ])('`%s` works, and prints no placeholder', async (line) => {
    const words = [...line.split(' '), '--env-optional']
    const { code, stdout, stderr } = await drawbridge(words, { cwd })

    expect(code).not.toBe(2)
    expect(stdout).not.toBe('')
    expect(stdout + stderr).not.toMatch(placeholder)
    expect(stderr).toMatch(/env_unset: env:\/\/REMOTE_URL is not set/)
  })

  test('a variable that is set is used, and its value is not printed by diff', async () => {
    const other = await aProject({
      ...files,
      'drawbridge.yaml': config.replace('env://REMOTE_URL', 'env://OTHER_URL'),
    })
    // URLs are normalised before they are compared.
    const env = {
      REMOTE_URL: 'https://Warehouse.acme.example/hook/remote-url-secret',
      OTHER_URL: 'https://Elsewhere.example/hook/other-url-secret/',
    }
    const { stdout } = await drawbridge(['diff', '.', other, '--env-optional'], { cwd, env })

    expect(stdout).toMatch(/changed from env:\/\/REMOTE_URL to env:\/\/OTHER_URL/)
    expect(stdout).not.toMatch(/secret|elsewhere\.example/)
  })

  test('another host is seen when a variable has the first part of its URL', async () => {
    const [old, current] = await Promise.all(
      ['warehouse.acme.example', 'warehouse.acme.example.evil.example'].map((host) =>
        aProject({
          ...files,
          'drawbridge.yaml': config.replace('env://REMOTE_URL', `https://${host}/intents`),
        }),
      ),
    )
    const env = { OTHER_URL: 'https://warehouse.acme.example' }
    const { code, stdout } = await drawbridge(
      ['diff', old ?? '', current ?? '', '--env-optional'],
      { cwd, env },
    )

    expect(code).toBe(1)
    expect(stdout).toMatch(
      /moved from the host warehouse\.acme\.example to warehouse\.acme\.example\.evil\.example/,
    )
  })

  test('errors in other values are still reported', async () => {
    const folder = await aProject({
      ...files,
      'drawbridge.yaml': `${config}  host: 5\nsurprise: true\n`,
    })
    const { code, stderr } = await drawbridge(['check', '--env-optional'], { cwd: folder })

    expect(code).toBe(2)
    expect(stderr).toMatch(/drawbridge\.yaml:\d+:\d+ \/http\/host/)
    expect(stderr).toMatch(/unknown key "surprise"/)
  })

  test('a number cannot come from a variable, whether it is set or not', async () => {
    const folder = await aProject({ 'drawbridge.yaml': 'http: { port: env://PORT }\n' })
    const { code, stderr } = await drawbridge(['check', '--env-optional'], { cwd: folder })

    expect(code).toBe(2)
    expect(stderr).toMatch(/drawbridge\.yaml:1:\d+ \/http\/port: .*number/)
  })

  test('connects to no server that would get a placeholder', async () => {
    const connections: unknown[] = []
    const server = createServer((socket) => {
      connections.push(socket)
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const folder = await aProject({
      'drawbridge.yaml': `sources:
  - records: { server: "http://127.0.0.1:${port}", token: env://RECORDS_TOKEN }
    mount: /mcp/records
  - intents:
      discover: { url: "nats://127.0.0.1:${port}", access: { token: env://NATS_TOKEN } }
audit: { checkpoints: { to: { url: "http://127.0.0.1:${port}", token: env://RECEIVER_TOKEN } } }
`,
    })

    for (const line of ['check', 'list', 'diff . .', 'explain schema --mount /mcp/records']) {
      const words = [...line.split(' '), '--env-optional']
      expect((await drawbridge(words, { cwd: folder })).code).not.toBe(2)
    }
    expect(connections).toEqual([])
  })
})
