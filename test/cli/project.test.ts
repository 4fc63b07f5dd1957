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
const everywhere = aManifest({
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
  'agent.yaml': toYaml(everywhere),
  'agent.json': toJson(everywhere),
  'odd-name.txt': toYaml(everywhere),
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
  'away.yaml': toYaml(
    aManifest({ interfaces: [anInterface({ endpoint: 'http://127.0.0.1:9/mcp', auth: 'none' })] }),
  ),
  'upstream/agent.yaml': toYaml(aManifest()),
})

const run = (...words: string[]) => drawbridge(words, { cwd })

describe('drawbridge project', () => {
  test('says 0, prints one line of canonical JSON, and its warnings elsewhere', async () => {
    const { code, stdout, stderr } = await run('project', 'agent.yaml')
    const printed = JSON.parse(stdout)

    expect(code).toBe(0)
    expect(stdout.split('\n')).toHaveLength(2)
    expect(Object.keys(printed)).toEqual(Object.keys(printed).sort())
    expect(printed.tools.map(({ name }: { name: string }) => name)).toEqual([
      'look-up-order',
      'refund-order',
    ])
    expect(stderr).toMatch(/^warning .*agent\.yaml:\d+:\d+ permission_undeclared: /m)
  })

  test('prints the same for YAML, JSON and any other name of the file', async () => {
    const [yaml, json, odd] = await Promise.all(
      ['agent.yaml', 'agent.json', 'odd-name.txt'].map((file) => run('project', file)),
    )

    expect(json?.stdout).toBe(yaml?.stdout)
    expect(odd?.stdout).toBe(yaml?.stdout)
  })

  test('--all also prints what is not offered over MCP', async () => {
    const { code, stdout } = await run('project', 'agent.yaml', '--all')

    expect(code).toBe(0)
    expect(JSON.parse(stdout).tools).toHaveLength(3)
  })

  test('of a configuration follows what it says: all, extensions', async () => {
    const [all, extended] = await Promise.all([run('project', 'one'), run('project', 'extended')])

    expect(JSON.parse(all.stdout).tools).toHaveLength(3)
    expect(JSON.parse(extended.stdout).extensions['dev.drawbridge/manifest']).toMatchObject({
      'x-acme': 1,
    })
  })

  test('--no-all overrules the configuration', async () => {
    const { stdout } = await run('project', 'one', '--no-all')

    expect(JSON.parse(stdout).tools).toHaveLength(2)
  })

  test.each([
    ['invalid.yaml', /error .*invalid\.yaml:\d+:\d+ manifest_invalid: .*\/identity\/type/],
    ['unknown.yaml', /error .*unknown\.yaml:\d+:\d+ field_unknown: .*\/x-acme/],
    ['broken.yaml', /error .*broken\.yaml:\d+:\d+ manifest_unreadable: /],
  ])('says 1 of %s, what is wrong and where, and prints nothing', async (file, says) => {
    const { code, stdout, stderr } = await run('project', file)

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(says)
  })

  test.each([
    ['a target there is not', ['agent.yaml', '--to', 'yaml'], /mcp, server-json, a2a/],
    ['a flag without its value', ['agent.yaml', '--to'], /--to needs a value/],
    ['a flag there is not', ['agent.yaml', '--form', 'mcp'], /Unknown flag --form/],
    ['two files', ['agent.yaml', 'agent.json'], /agent\.json/],
    ['a file there is not', ['nowhere.yaml'], /nowhere\.yaml does not exist/],
    ['a folder without a configuration', ['upstream'], /no drawbridge\.yaml/],
    ['a configuration with two manifests', ['two'], /2 manifests/],
    ['a configuration without any', ['none'], /0 manifests/],
    ['a configuration that is wrong', ['bad'], /x-acme/],
    ['server-json without a namespace', ['agent.yaml', '--to', 'server-json'], /--namespace/],
  ])('says 2 of %s, and what would make sense', async (_, words, says) => {
    const { code, stdout, stderr } = await run('project', ...words)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('--help says what there is', async () => {
    const { code, stdout } = await run('project', '--help')

    expect(code).toBe(0)
    for (const flag of ['--to', '--all', '--namespace']) expect(stdout).toContain(flag)
  })
})

describe('drawbridge project --to server-json', () => {
  test('prints the entry of a registry, with the digest of the manifest', async () => {
    const words = ['agent.yaml', '--to', 'server-json', '--namespace', 'com.acme']
    const { code, stdout, stderr } = await run('project', ...words)
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

  test('takes the namespace of the configuration, unless another is said', async () => {
    const [own, other] = await Promise.all([
      run('project', 'one', '--to', 'server-json'),
      run('project', 'one', '--to=server-json', '--namespace=org.other'),
    ])

    expect(JSON.parse(own.stdout).name).toBe('com.acme/order-desk')
    expect(JSON.parse(other.stdout).name).toBe('org.other/order-desk')
  })

  test('says 1 of a namespace that is none', async () => {
    const words = ['agent.yaml', '--to', 'server-json', '--namespace', 'not reverse dns']
    const { code, stdout, stderr } = await run('project', ...words)

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

  test('says 1 where there is no A2A interface', async () => {
    const { code, stdout, stderr } = await run('project', 'upstream/agent.yaml', '--to', 'a2a')

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/export_impossible: .*A2A/)
  })
})

describe('a manifest as what other verbs are pointed at', () => {
  test('check counts its tools and says its warnings', async () => {
    const { code, stdout } = await run('check', 'one')

    expect(code).toBe(0)
    expect(stdout).toMatch(/^3 tools, 0 errors, \d+ warnings$/m)
  })

  test('check of the file alone finds its tools, too', async () => {
    const { code, stdout } = await run('check', 'upstream/agent.yaml')

    expect(code).toBe(0)
    expect(stdout).toMatch(/^1 tool, 0 errors/m)
  })

  test('check says 1 of one that is wrong, for machines with its pointer', async () => {
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

  test('list --tools is what clients get', async () => {
    const { stdout } = await run('list', 'upstream/agent.yaml', '--tools')

    expect(JSON.parse(stdout).tools).toMatchObject([
      { name: 'look-up-order', annotations: { sideEffects: 'none' } },
    ])
  })

  test('call reaches a handler', async () => {
    const { stdout: listed } = await run('list', 'one')
    const [name = ''] = listed.match(/\S*look-up-order/) ?? []
    const { code, stdout } = await run('call', 'one', name, '{"order":"A-1"}')

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ order: 'A-1' })
  })

  test('call of an agent that is not there says 1 and why', async () => {
    const { code, stdout } = await run('call', 'away.yaml', 'look-up-order')

    expect(code).toBe(1)
    expect(stdout).toMatch(/\S/)
  })

  test('serve serves it, under its own name', async () => {
    const { url } = await startServing(['agent.yaml'], { cwd })
    const client = await aModernClient(url)

    expect(client.getServerVersion()).toMatchObject({ name: 'order-desk', version: '1.2.0' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['look-up-order', 'refund-order'])
  })

  test('looking leaves no file behind', async () => {
    await run('check', 'upstream/agent.yaml')
    await run('list', 'upstream/agent.yaml')
    await run('project', 'upstream/agent.yaml')

    expect(existsSync(path.join(cwd, 'upstream/drawbridge.db'))).toBe(false)
  })
})
