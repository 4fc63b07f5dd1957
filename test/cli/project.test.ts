import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  aWritingCapability,
  toJson,
  toYaml,
} from '../support/a-manifest.ts'
import { aSharedProject } from '../support/a-project.ts'
import { aModernClient } from '../support/official-clients.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'

const capabilities = [
  {},
  aWritingCapability(),
  { id: 'over-http', protocols: ['HTTP'], name: 'Over HTTP' },
]
const manifest = aManifest({
  identity: { description: `Refunds orders. ${'It says so at length. '.repeat(10)}` },
  capabilities,
  interfaces: [
    anInterface(),
    anInterface({ name: 'http', protocol: 'HTTP', endpoint: 'https://a.example/api' }),
    anInterface({ name: 'a2a', protocol: 'A2A', endpoint: 'https://a.example/a2a' }),
    anInternalInterface(),
  ],
  provenance: {
    created_at: '2026-05-04T09:00:00Z',
    source: 'first_party',
    source_repo: 'https://github.com/acme/orders',
  },
})

const handlers = `export const lookUpOrder = ({ order }) => ({ order })
export default { 'refund-order': () => ({ refunded: true }), 'over-http': () => ({}) }
`

const cwd = await aSharedProject({
  'agent.yaml': toYaml(manifest),
  'agent.json': toJson(manifest),
  'odd-name.txt': toYaml(manifest),
  'invalid.yaml': toYaml(aManifest({ identity: { type: 'robot' } })),
  'unknown.yaml': toYaml(aManifest({ more: { 'x-acme': 1 } })),
  'broken.yaml': 'schema_version: "0.1"\nidentity: {\n',
  'one/drawbridge.yaml': `namespace: com.acme
sources:
  - manifest: ../agent.yaml
    handlers: ../handlers.ts
    all: true
    prefix: desk
`,
  'extended/drawbridge.yaml': `sources:
  - manifest: ../unknown.yaml
    extensions: [x-acme]
`,
  'two/drawbridge.yaml': `sources:\n  - manifest: ../agent.yaml\n  - manifest: ../invalid.yaml\n`,
  'none/drawbridge.yaml': `sources:\n  - definitions: ./*.ts\n`,
  'bad/drawbridge.yaml': `sources:\n  - manifest: ../agent.yaml\n    extensions: [acme]\n`,
  'handlers.ts': handlers,
  'empty/readme.txt': '',
  'one-bad.yaml': toYaml(
    aManifest({
      capabilities: [
        {},
        { id: 'bad', side_effect_level: 'tremendous' },
        { id: 'odd', input_schema: { type: 'object', properties: { a: { type: 'strng' } } } },
        { id: 'twice' },
        { id: 'twice' },
        aWritingCapability(),
      ],
      composition: {
        type: 'pipeline',
        deterministic: true,
        steps: ['look-up-order', 'bad'].map((id) => ({
          id,
          capability_ref: id,
          on_failure: 'abort',
        })),
      },
    }),
  ),
  'unreachable.yaml': toYaml(
    aManifest({ interfaces: [anInterface({ endpoint: 'http://127.0.0.1:9/mcp', auth: 'none' })] }),
  ),
  'upstream/agent.yaml': toYaml(aManifest()),
})

const run = (...args: string[]) => drawbridge(args, { cwd })

describe('drawbridge project', () => {
  test('prints one line of canonical JSON, and its warnings to standard error', async () => {
    const { code, stdout, stderr } = await run('project', 'agent.yaml')
    const projection = JSON.parse(stdout)

    expect(code).toBe(0)
    expect(stdout.split('\n')).toHaveLength(2)
    expect(Object.keys(projection)).toEqual(Object.keys(projection).sort())
    expect(projection.tools.map(({ name }: { name: string }) => name)).toEqual([
      'look-up-order',
      'refund-order',
    ])
    expect(stderr).toMatch(/^warning .*agent\.yaml:\d+:\d+ permission_undeclared: /m)
  })

  test('prints the same for YAML, JSON and a file with another extension', async () => {
    const [yaml, json, odd] = await Promise.all(
      ['agent.yaml', 'agent.json', 'odd-name.txt'].map((file) => run('project', file)),
    )

    expect(json?.stdout).toBe(yaml?.stdout)
    expect(odd?.stdout).toBe(yaml?.stdout)
  })

  test('--all includes capabilities that are not offered over MCP', async () => {
    const { code, stdout } = await run('project', 'agent.yaml', '--all')

    expect(code).toBe(0)
    expect(JSON.parse(stdout).tools).toHaveLength(3)
  })

  test('uses `all` and `extensions` of the configuration', async () => {
    const [all, extended] = await Promise.all([run('project', 'one'), run('project', 'extended')])

    expect(JSON.parse(all.stdout).tools).toHaveLength(3)
    expect(JSON.parse(extended.stdout).extensions['dev.drawbridge/manifest']).toMatchObject({
      'x-acme': 1,
    })
  })

  test('--no-all overrides the configuration', async () => {
    const { stdout } = await run('project', 'one', '--no-all')

    expect(JSON.parse(stdout).tools).toHaveLength(2)
  })

  test('prints the valid capabilities when others are invalid, and exits with 1', async () => {
    const { code, stdout, stderr } = await run('project', 'one-bad.yaml')
    const { tools, warnings } = JSON.parse(stdout)

    expect(code).toBe(1)
    expect(tools.map(({ name }: { name: string }) => name)).toEqual([
      'look-up-order',
      'refund-order',
    ])
    for (const line of [
      'manifest_invalid: /capabilities/1/side_effect_level',
      'type_unknown: "strng"',
      'id_duplicate: twice',
    ])
      expect(stderr).toMatch(new RegExp(`^error +\\S*one-bad\\.yaml:\\d+:\\d+ ${line}`, 'm'))
    expect(warnings).toContainEqual({
      code: 'manifest_invalid',
      path: '/capabilities/1/side_effect_level',
      message: expect.any(String),
    })
    expect(stderr).not.toContain('step_dangling')
  })

  test.each([
    ['invalid.yaml', /error .*invalid\.yaml:\d+:\d+ manifest_invalid: .*\/identity\/type/],
    ['unknown.yaml', /error .*unknown\.yaml:\d+:\d+ field_unknown: .*\/x-acme/],
    ['broken.yaml', /error .*broken\.yaml:\d+:\d+ manifest_unreadable: /],
  ])(
    'exits with 1 for %s, and prints cause and position to standard error',
    async (file, message) => {
      const { code, stdout, stderr } = await run('project', file)

      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(message)
    },
  )

  test.each([
    ['an unknown target', ['agent.yaml', '--to', 'yaml'], /mcp, server-json, a2a/],
    ['a flag without its value', ['agent.yaml', '--to'], /--to needs a value/],
    ['an unknown flag', ['agent.yaml', '--form', 'mcp'], /Unknown flag --form/],
    ['two files', ['agent.yaml', 'agent.json'], /agent\.json/],
    ['a missing file', ['nowhere.yaml'], /nowhere\.yaml does not exist/],
    ['a folder without a configuration', ['empty'], /without drawbridge\.yaml and agent\.yaml/],
    ['a configuration with two manifests', ['two'], /2 manifests/],
    ['a configuration without manifests', ['none'], /0 manifests/],
    ['an invalid configuration', ['bad'], /x-acme/],
    ['server-json without a namespace', ['agent.yaml', '--to', 'server-json'], /--namespace/],
  ])('exits with 2 for %s, and prints how to correct it', async (_, args, message) => {
    const { code, stdout, stderr } = await run('project', ...args)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('--help lists the flags', async () => {
    const { code, stdout } = await run('project', '--help')

    expect(code).toBe(0)
    for (const flag of ['--to', '--all', '--namespace']) expect(stdout).toContain(flag)
  })
})

describe('drawbridge project --to server-json', () => {
  test('prints a registry entry, with the digest of the manifest', async () => {
    const args = ['agent.yaml', '--to', 'server-json', '--namespace', 'com.acme']
    const { code, stdout, stderr } = await run('project', ...args)
    const entry = JSON.parse(stdout)

    expect(code).toBe(0)
    expect(entry).toMatchObject({
      name: 'com.acme/order-desk',
      version: '1.2.0',
      repository: { url: 'https://github.com/acme/orders', source: 'github' },
      remotes: [{ type: 'streamable-http', url: 'https://agents.acme.example/mcp' }],
    })
    expect(entry.description.length).toBeLessThanOrEqual(100)
    expect(stderr).toMatch(
      /warning .*agent\.yaml:\d+:\d+ export_inexact: Shortened from \d+ to 100/,
    )
    expect(stdout).toMatch(/sha256:[0-9a-f]{64}/)
  })

  test('takes the namespace of the configuration, unless --namespace overrides it', async () => {
    const [configured, overridden] = await Promise.all([
      run('project', 'one', '--to', 'server-json'),
      run('project', 'one', '--to=server-json', '--namespace=org.other'),
    ])

    expect(JSON.parse(configured.stdout).name).toBe('com.acme/order-desk')
    expect(JSON.parse(overridden.stdout).name).toBe('org.other/order-desk')
  })

  test('exits with 1 for an invalid namespace', async () => {
    const args = ['agent.yaml', '--to', 'server-json', '--namespace', 'not reverse dns']
    const { code, stdout, stderr } = await run('project', ...args)

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('reverse DNS')
  })
})

describe('drawbridge project --to a2a', () => {
  test('prints an agent card', async () => {
    const { code, stdout } = await run('project', 'agent.yaml', '--to', 'a2a')

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'Order desk',
      version: '1.2.0',
      supportedInterfaces: [{ url: 'https://a.example/a2a' }],
    })
  })

  test('exits with 1 for a manifest without an A2A interface', async () => {
    const { code, stdout, stderr } = await run('project', 'upstream/agent.yaml', '--to', 'a2a')

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/export_impossible: .*A2A/)
  })
})

describe('other commands with a manifest as target', () => {
  test('check counts its tools and its warnings', async () => {
    const { code, stdout } = await run('check', 'one')

    expect(code).toBe(0)
    expect(stdout).toMatch(/^3 tools, 0 errors, \d+ warnings$/m)
  })

  test('check accepts the manifest file itself', async () => {
    const { code, stdout } = await run('check', 'upstream/agent.yaml')

    expect(code).toBe(0)
    expect(stdout).toMatch(/^1 tool, 0 errors/m)
  })

  test('check --json exits with 1 for an invalid manifest, and prints its pointer', async () => {
    const { code, stdout } = await run('check', 'invalid.yaml', '--json')

    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({
        code: 'manifest_invalid',
        pointer: '/identity/type',
        at: expect.stringMatching(/invalid\.yaml:\d+:\d+$/),
      }),
    )
  })

  test('list shows effects and permissions', async () => {
    const { code, stdout } = await run('list', 'one')

    expect(code).toBe(0)
    expect(stdout).toMatch(/desk[_.-]look-up-order .*reads/)
    expect(stdout).toMatch(/desk[_.-]refund-order .*writes.*needs orders\.write/)
  })

  test('list --tools prints the tools that clients get', async () => {
    const { stdout } = await run('list', 'upstream/agent.yaml', '--tools')

    expect(JSON.parse(stdout).tools).toMatchObject([
      { name: 'look-up-order', annotations: { sideEffects: 'none' } },
    ])
  })

  test('call runs a handler', async () => {
    const { stdout: list } = await run('list', 'one')
    const [name = ''] = list.match(/\S*look-up-order/) ?? []
    const { code, stdout } = await run('call', 'one', name, '{"order":"A-1"}')

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ order: 'A-1' })
  })

  test('call exits with 1 and prints the cause when the agent is unreachable', async () => {
    const { code, stdout } = await run('call', 'unreachable.yaml', 'look-up-order')

    expect(code).toBe(1)
    expect(stdout).toMatch(/\S/)
  })

  test('serve uses the name and version of the manifest', async () => {
    const { url } = await startServing(['agent.yaml'], { cwd })
    const client = await aModernClient(url)

    expect(client.getServerVersion()).toMatchObject({ name: 'order-desk', version: '1.2.0' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['look-up-order', 'refund-order'])
  })

  test('check, list and project create no ledger file', async () => {
    await run('check', 'upstream/agent.yaml')
    await run('list', 'upstream/agent.yaml')
    await run('project', 'upstream/agent.yaml')

    expect(existsSync(path.join(cwd, 'upstream/drawbridge.db'))).toBe(false)
  })
})
