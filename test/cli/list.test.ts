import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { aModernPost, answerOf, post } from '../support/wire.ts'

const cwd = await aSharedProject({
  'drawbridge.yaml': aConfig('  - { definitions: ./more/*.ts, mount: /mcp/more, prefix: more }\n'),
  'tools/write.ts': aToolModule({
    name: 'write_order',
    category: 'delete',
    permissions: ['orders:write'],
    schema: 'z.object({ id: z.number() })',
  }),
  'tools/read.ts': aToolModule({ name: 'read_order' }),
  'more/other.ts': aToolModule({ name: 'other' }),
  'more/broken.ts': 'throw new Error("database is down")',
})

describe('drawbridge list', () => {
  test('prints every capability with effects, rules, mount and origin, sorted', async () => {
    const { code, stdout, stderr } = await drawbridge(['list'], { cwd })
    const lines = stdout.trim().split('\n')

    expect(code).toBe(0)
    expect(lines.map((line) => line.split(/\s/)[0])).toEqual([
      'read_order',
      'write_order',
      'more_other',
    ])
    expect(lines[1]).toMatch(/writes, irreversible.*needs orders:write.*\/mcp .*write\.ts/)
    expect(stderr).toMatch(/broken\.ts.*database is down/)
  })

  test('--json prints an array whose items have ids', async () => {
    const { stdout } = await drawbridge(['list', '--json'], { cwd })

    expect(JSON.parse(stdout)).toMatchObject([
      { id: 'read_order', mount: '/mcp' },
      {
        id: 'write_order',
        mount: '/mcp',
        effects: { writes: true, irreversible: true },
        rules: { permissions: ['orders:write'] },
        origin: { source: './tools/*.ts', pointer: '/tools~1write.ts/default' },
        input: { properties: { id: { type: 'number' } } },
      },
      { id: 'more_other', mount: '/mcp/more', origin: { name: 'other' } },
    ])
  })

  test('--tools prints the same tools/list result that clients get, on every mount', async () => {
    const server = await startServing([], { cwd })

    for (const mount of ['/mcp', '/mcp/more']) {
      const url = server.url.replace('/mcp', mount)
      const { stdout } = await drawbridge(['list', '--tools', '--mount', mount], { cwd })
      const { result } = await answerOf(await post(url, aModernPost('tools/list')))
      const { resultType, _meta, ...list } = result

      expect(JSON.parse(stdout)).toEqual(list)
      expect(list.tools).not.toEqual([])
    }
  })
})
