import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge, drawbridgeProcess } from '../support/run-cli.ts'

/** Invalid modules, with the diagnostic that each one gets. */
const invalidModules: Readonly<Record<string, { text: string; code: string; message: RegExp }>> = {
  'throws.ts': {
    text: 'const reason: string = "the database is down"\n\nthrow new Error(reason)\n',
    code: 'module_broken',
    message: /throws\.ts:3:7 .*throws\.ts.*the database is down/,
  },
  'syntax.ts': {
    text: 'export const a = {\n  b: ,\n}\n',
    code: 'module_broken',
    message: /syntax\.ts:2:5 .*syntax\.ts/,
  },
  'imports.ts': {
    text: 'import "./no-such-module.ts"\n',
    code: 'module_broken',
    message: /imports\.ts.*no-such-module/,
  },
  'nothing.ts': {
    text: 'const a = 1\n',
    code: 'module_empty',
    message: /nothing\.ts exports no definition/,
  },
  'something-else.ts': {
    text: 'export const answer = 42\nexport const sum = (a: number) => a\n',
    code: 'module_empty',
    message: /something-else\.ts exports no definition/,
  },
  'half-a-tool.ts': {
    text: 'export default { name: "half", schema: {} }\n',
    code: 'definition_invalid',
    message: /half-a-tool\.ts/,
  },
}

const slowModule = (name: string) =>
  `await new Promise((resolve) => setTimeout(resolve, 20))\n${aToolModule({ name })}`

const ping = aToolModule({ name: 'ping' })

const cwd = await aSharedProject({
  'good/drawbridge.yaml': aConfig(),
  'good/tools/ping.ts': ping,
  'bad/drawbridge.yaml': aConfig(),
  'bad/tools/ping.ts': ping,
  ...Object.fromEntries(
    Object.entries(invalidModules).map(([name, { text }]) => [`bad/tools/${name}`, text]),
  ),
  'prints.ts': `console.log('hello')\n${aToolModule({ name: 'prints' })}`,
  'nothing.yaml': 'sources:\n  - definitions: ./no/such/*.ts\n',
  'mine.yaml': 'sources:\n  - definitions: ./good/tools/*.ts\n  - source: ./mine.ts\n',
  'mine.ts': 'throw new Error("the database is down")\n',
  'several.yaml': 'sources:\n  - definitions: ./late-1.ts\n  - definitions: ./late-2.ts\n',
  'late-1.ts': slowModule('first'),
  'late-2.ts': slowModule('second'),
  'open.ts': `setInterval(() => {}, 1000)\n${aToolModule({ name: 'open' })}`,
})

describe('drawbridge check', () => {
  test('exits with 0 when there are no errors', async () => {
    expect(await drawbridge(['check', 'good'], { cwd })).toEqual({
      code: 0,
      stdout: '1 tool, 0 errors, 0 warnings\n',
      stderr: '',
    })
  })

  test('--json prints an empty array when there are no errors', async () => {
    const { code, stdout } = await drawbridge(['check', 'good', '--json'], { cwd })

    expect({ code, diagnostics: JSON.parse(stdout) }).toEqual({ code: 0, diagnostics: [] })
  })

  test('exits with 1, names cause and position for every invalid module, and counts the valid ones', async () => {
    const { code, stdout } = await drawbridge(['check', 'bad'], { cwd })

    expect(code).toBe(1)
    for (const { message } of Object.values(invalidModules)) expect(stdout).toMatch(message)
    expect(stdout).toMatch(/^1 tool, \d+ errors, 0 warnings$/m)
  })

  test('--json prints the same as an array whose items have an id, a code and a pointer', async () => {
    const { code, stdout } = await drawbridge(['check', 'bad', '--json'], { cwd })
    const diagnostics: { id: string }[] = JSON.parse(stdout)

    expect(code).toBe(1)
    expect(new Set(diagnostics.map(({ id }) => id)).size).toBe(diagnostics.length)
    for (const [name, { code, message }] of Object.entries(invalidModules))
      expect(diagnostics).toContainEqual(
        expect.objectContaining({
          code,
          severity: 'error',
          message: expect.any(String),
          source: './tools/*.ts',
          pointer: expect.stringContaining(`/tools~1${name}`),
          ...(/:\d+:\d+/.test(message.source) && { at: expect.stringContaining(`${name}:`) }),
        }),
      )
  })

  test('exits with 0 when there are only warnings, such as a module that prints', async () => {
    const { code, stdout, stderr } = await drawbridge(['check', 'prints.ts', '--json'], { cwd })

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ severity: 'warning', code: 'module_prints' }])
    expect(stderr).toContain('hello')
  })

  test('exits with 1 when a pattern matches no file', async () => {
    const { code, stdout } = await drawbridge(['check', 'nothing.yaml'], { cwd })

    expect(code).toBe(1)
    expect(stdout).toContain('./no/such/*.ts')
  })

  test('exits with 1 when a custom source does not load, and counts the tools of the others', async () => {
    const { code, stdout } = await drawbridge(['check', 'mine.yaml'], { cwd })

    expect(code).toBe(1)
    expect(stdout).toMatch(/mine\.ts.*the database is down/)
    expect(stdout).toContain('1 tool, 1 error')
  })

  test('prints its results to standard output when several sources load at the same time', async () => {
    expect(await drawbridge(['check', 'several.yaml'], { cwd })).toEqual({
      code: 0,
      stdout: '2 tools, 0 errors, 0 warnings\n',
      stderr: '',
    })
  })
})

test.each([[['check', 'open.ts']], [['list', 'open.ts']], [['call', 'open.ts', 'open']]])(
  'drawbridge %j exits though a module keeps a timer running',
  async (args) => {
    expect(await drawbridgeProcess(args, { cwd })).toMatchObject({ code: 0 })
  },
)
