import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge, drawbridgeProcess } from '../support/run-cli.ts'

/** Modules as they go wrong, and what is said of them. */
const broken: Readonly<Record<string, { text: string; code: string; says: RegExp }>> = {
  'throws.ts': {
    text: 'const far: string = "the database is away"\n\nthrow new Error(far)\n',
    code: 'module_broken',
    says: /throws\.ts:3:7 .*throws\.ts.*the database is away/,
  },
  'syntax.ts': {
    text: 'export const a = {\n  b: ,\n}\n',
    code: 'module_broken',
    says: /syntax\.ts:2:5 .*syntax\.ts/,
  },
  'imports.ts': {
    text: 'import "./no-such-module.ts"\n',
    code: 'module_broken',
    says: /imports\.ts.*no-such-module/,
  },
  'nothing.ts': {
    text: 'const a = 1\n',
    code: 'module_empty',
    says: /nothing\.ts exports no definition/,
  },
  'something-else.ts': {
    text: 'export const answer = 42\nexport const sum = (a: number) => a\n',
    code: 'module_empty',
    says: /something-else\.ts exports no definition/,
  },
  'half-a-tool.ts': {
    text: 'export default { name: "half", schema: {} }\n',
    code: 'definition_invalid',
    says: /half-a-tool\.ts/,
  },
}

const late = (name: string) =>
  `await new Promise((resolve) => setTimeout(resolve, 20))\n${aToolModule({ name })}`

const ping = aToolModule({ name: 'ping' })

const cwd = await aSharedProject({
  'good/drawbridge.yaml': aConfig(),
  'good/tools/ping.ts': ping,
  'bad/drawbridge.yaml': aConfig(),
  'bad/tools/ping.ts': ping,
  ...Object.fromEntries(
    Object.entries(broken).map(([name, { text }]) => [`bad/tools/${name}`, text]),
  ),
  'prints.ts': `console.log('hello')\n${aToolModule({ name: 'prints' })}`,
  'nothing.yaml': 'sources:\n  - definitions: ./no/such/*.ts\n',
  'mine.yaml': 'sources:\n  - definitions: ./good/tools/*.ts\n  - source: ./mine.ts\n',
  'mine.ts': 'throw new Error("the database is away")\n',
  'several.yaml': 'sources:\n  - definitions: ./late-1.ts\n  - definitions: ./late-2.ts\n',
  'late-1.ts': late('first'),
  'late-2.ts': late('second'),
  'open.ts': `setInterval(() => {}, 1000)\n${aToolModule({ name: 'open' })}`,
})

describe('drawbridge check', () => {
  test('says 0 when all is well', async () => {
    expect(await drawbridge(['check', 'good'], { cwd })).toEqual({
      code: 0,
      stdout: '1 tool, 0 errors, 0 warnings\n',
      stderr: '',
    })
  })

  test('prints an empty array for machines when all is well', async () => {
    const { code, stdout } = await drawbridge(['check', 'good', '--json'], { cwd })

    expect({ code, found: JSON.parse(stdout) }).toEqual({ code: 0, found: [] })
  })

  test('says 1, and of every broken module what and where, and counts its good neighbours', async () => {
    const { code, stdout } = await drawbridge(['check', 'bad'], { cwd })

    expect(code).toBe(1)
    for (const { says } of Object.values(broken)) expect(stdout).toMatch(says)
    expect(stdout).toMatch(/^1 tool, \d+ errors, 0 warnings$/m)
  })

  test('says the same to machines: an array whose items have an id, a code and a pointer', async () => {
    const { code, stdout } = await drawbridge(['check', 'bad', '--json'], { cwd })
    const found: { id: string }[] = JSON.parse(stdout)

    expect(code).toBe(1)
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length)
    for (const [name, { code, says }] of Object.entries(broken))
      expect(found).toContainEqual(
        expect.objectContaining({
          code,
          severity: 'error',
          message: expect.any(String),
          source: './tools/*.ts',
          pointer: expect.stringContaining(`/tools~1${name}`),
          ...(/:\d+:\d+/.test(says.source) && { at: expect.stringContaining(`${name}:`) }),
        }),
      )
  })

  test('says 0 when there are only warnings, such as a module that prints', async () => {
    const { code, stdout, stderr } = await drawbridge(['check', 'prints.ts', '--json'], { cwd })

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ severity: 'warning', code: 'module_prints' }])
    expect(stderr).toContain('hello')
  })

  test('says 1 when a pattern finds nothing', async () => {
    const { code, stdout } = await drawbridge(['check', 'nothing.yaml'], { cwd })

    expect(code).toBe(1)
    expect(stdout).toContain('./no/such/*.ts')
  })

  test('says 1, and counts the others, when a source of one’s own does not load', async () => {
    const { code, stdout } = await drawbridge(['check', 'mine.yaml'], { cwd })

    expect(code).toBe(1)
    expect(stdout).toMatch(/mine\.ts.*the database is away/)
    expect(stdout).toContain('1 tool, 1 error')
  })

  test('prints its results to standard output however many sources there are', async () => {
    expect(await drawbridge(['check', 'several.yaml'], { cwd })).toEqual({
      code: 0,
      stdout: '2 tools, 0 errors, 0 warnings\n',
      stderr: '',
    })
  })
})

test.each([[['check', 'open.ts']], [['list', 'open.ts']], [['call', 'open.ts', 'open']]])(
  'drawbridge %j ends though a module keeps something open',
  async (words) => {
    expect(await drawbridgeProcess(words, { cwd })).toMatchObject({ code: 0 })
  },
)
