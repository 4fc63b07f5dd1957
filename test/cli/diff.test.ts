import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const order = 'z.object({ order: z.string() })'
const cwd = await aSharedProject({
  'old/drawbridge.yaml': aConfig('policy: { rules: [{ match: refund, approval: true }] }\n'),
  'old/tools/refund.ts': aToolModule({ name: 'refund', permissions: ['refund'], schema: order }),
  'old/tools/track.ts': aToolModule({ name: 'track', schema: order }),
  'new/drawbridge.yaml': aConfig('policy: { mode: observe }\n'),
  'new/tools/refund.ts': aToolModule({
    name: 'refund',
    category: 'delete',
    schema: 'z.object({ order: z.string(), reason: z.string() })',
  }),
  'reworded.ts': aToolModule({ name: 'ping', description: 'Says pong.' }),
  'tighter.ts': aToolModule({ name: 'ping', permissions: ['ping'] }),
  'ping.ts': aToolModule({ name: 'ping' }),
})

describe('drawbridge diff', () => {
  test('prints widening and breaking changes per tool, and exits with 1', async () => {
    const { code, stdout, stderr } = await drawbridge(['diff', 'old', 'new'], { cwd })

    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter((line) => !line.startsWith(' '))).toEqual([
      'policy',
      'refund',
      'track',
      expect.stringMatching(/^\d+ changes, \d breaking, \d widening$/),
    ])
    for (const line of [
      /widening .*\/policy\/mode: Rules are only observed/,
      /widening .*\/rules\/permissions: .*refund/,
      /widening .*\/rules\/approval: Calls no longer require/,
      /widening .*\/effects\/writes/,
      /breaking, narrowing .*\/input\/required: reason/,
      /breaking, narrowing .*It was removed/,
    ])
      expect(stdout).toMatch(line)
  })

  test('--json prints an array whose items have ids, with the same bytes every time', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => drawbridge(['diff', 'old', 'new', '--json'], { cwd })),
    )

    expect(second).toEqual(first)
    const changes = JSON.parse(first?.stdout ?? '') as { id: string }[]
    expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length)
    expect(changes).toContainEqual({
      id: expect.any(String),
      mount: '/mcp',
      noun: 'capability',
      capability: 'refund',
      pointer: '/rules/permissions',
      kind: 'permission_removed',
      effect: 'widening',
      breaking: false,
      message: 'A caller no longer needs refund.',
      at: expect.stringMatching(/^new\/tools\/refund\.ts:\d+:\d+$/),
    })
  })

  test('reports no changes between a configuration and itself', async () => {
    expect(await drawbridge(['diff', 'old', 'old'], { cwd })).toEqual({
      code: 0,
      stdout: '0 changes, 0 breaking, 0 widening\n',
      stderr: '',
    })
  })

  test('exits with 0 when only a description has changed', async () => {
    const { code, stdout } = await drawbridge(['diff', 'ping.ts', 'reworded.ts'], { cwd })

    expect(code).toBe(0)
    expect(stdout).toMatch(/neutral .*\/description.*Says pong/)
  })

  test('an added permission is a breaking change; a removed one is a widening change', async () => {
    const added = await drawbridge(['diff', 'ping.ts', 'tighter.ts'], { cwd })
    const removed = await drawbridge(['diff', 'tighter.ts', 'ping.ts'], { cwd })

    expect([added.code, removed.code]).toEqual([1, 1])
    expect(added.stdout).toMatch(/2 changes, 1 breaking, 0 widening/)
    expect(removed.stdout).toMatch(/2 changes, 0 breaking, 1 widening/)
  })

  test.each([
    ['diff old', /NEW/i],
    ['diff old nowhere', /nowhere does not exist/],
    ['diff old new more', /more/],
  ])('`drawbridge %s` exits with 2 and prints one line', async (line, message) => {
    const { code, stdout, stderr } = await drawbridge(line.split(' '), { cwd })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(message)])
  })
})
