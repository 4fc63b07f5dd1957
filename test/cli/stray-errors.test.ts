import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aConfig, aProject, aSharedProject, aToolModule, put } from '../support/a-project.ts'
import { eventually } from '../support/eventually.ts'
import { drawbridgeProcess, startServing } from '../support/run-cli.ts'
import { aModernPost, answerOf, post } from '../support/wire.ts'

const leaving = (name: string, statement: string) => `${aToolModule({ name })}\n${statement}\n`

/** Modules that leave an error behind, and its diagnostic. */
const strayModules: Readonly<Record<string, { statement: string; message: RegExp }>> = {
  rejects: {
    statement: 'Promise.reject(new Error("the database is down"))',
    message: /rejects\.ts:\d+:\d+ module_rejects: .*a promise was rejected .*the database is down/,
  },
  rejects_text: {
    statement: 'void Promise.reject("only text")',
    message: /tools\/rejects_text\.ts module_rejects: .*only text/,
  },
  fetches: {
    statement: 'void fetch("http://127.0.0.1:1/")',
    message: /tools\/fetches\.ts module_rejects: .*fetch failed/,
  },
  throws_later: {
    statement: 'setTimeout(() => { throw new Error("too late") }, 5)',
    message: /throws_later\.ts:\d+:\d+ module_rejects: .*an error was thrown .*too late/,
  },
  throws_next: {
    statement: 'process.nextTick(() => { throw new Error("next tick") })',
    message: /throws_next\.ts:\d+:\d+ module_rejects: .*next tick/,
  },
  exits: {
    statement: 'process.exit(7)',
    message: /exits\.ts:\d+:\d+ module_broken: .*calls process\.exit\(7\)/,
  },
}

const moduleFiles = Object.fromEntries(
  Object.entries(strayModules).map(([name, { statement }]) => [
    `tools/${name}.ts`,
    leaving(name, statement),
  ]),
)

describe('an error that a module leaves behind when it is loaded', () => {
  const projectFiles = {
    ...moduleFiles,
    'tools/good.ts': aToolModule({ name: 'good' }),
    'service.ts': 'void Promise.reject(new Error("no service"))\nexport default {}\n',
    'source.mjs':
      'void Promise.reject(new Error("no source"))\nexport default { id: "s", read: () => ({ capabilities: [] }) }\n',
    'drawbridge.yaml': aConfig('  - service: ./service.ts\n  - source: ./source.mjs\n'),
  }

  test('is a diagnostic of that module in check, which exits normally', async () => {
    const folder = await aProject(projectFiles)

    const { code, stdout, stderr } = await drawbridgeProcess(['check', folder])

    expect(code).toBe(1)
    for (const { message } of Object.values(strayModules)) expect(stdout).toMatch(message)
    expect(stdout).toMatch(/service\.ts:1:\d+ module_rejects: .*no service/)
    expect(stdout).toMatch(/source\.mjs:1:\d+ module_rejects: .*no source/)
    expect(stderr).toBe('')
  })

  test('does not stop serve: every module that could be loaded is served', async () => {
    const folder = await aProject(projectFiles)

    const server = await startServing([folder])
    const { result } = await answerOf(await post(server.url, aModernPost('tools/list')))

    const names = result.tools.map(({ name }: { name: string }) => name)
    expect(names).toEqual(
      ['good', ...Object.keys(strayModules)].filter((name) => name !== 'exits').sort(),
    )
    expect(server.stderr()).toMatch(/rejects\.ts:\d+:\d+ module_rejects/)
    await eventually(() => expect(server.stderr()).toMatch(/too late/))
    expect(server.process.exitCode).toBeNull()
  })
})

const folder = await aSharedProject({
  'tools/ping.ts': aToolModule({ name: 'ping', description: 'Version 1.' }),
  'drawbridge.yaml': aConfig(),
})

test('--watch does not accept a version that leaves an error behind, and serves the old one', async () => {
  const server = await startServing(['--watch'], { cwd: folder })
  const list = async () =>
    (await answerOf(await post(server.url, aModernPost('tools/list')))).result.tools[0].description

  await put(
    path.join(folder, 'tools/ping.ts'),
    `${aToolModule({ name: 'ping', description: 'Version 2.' })}\nvoid Promise.reject(new Error("no"))\n`,
  )
  // The watcher may also read the file while it is being written, and then says that it is empty.
  await eventually(() =>
    expect(server.stderr()).toMatch(/ping\.ts leaves an error behind[\s\S]*Not reloaded/),
  )
  expect(await list()).toBe('Version 1.')

  await put(
    path.join(folder, 'tools/ping.ts'),
    aToolModule({ name: 'ping', description: 'Version 3.' }),
  )
  await eventually(async () => expect(await list()).toBe('Version 3.'))
})

test('a rejection in a running tool ends neither serve nor call', async () => {
  const project = await aProject({
    'tools/orphan.ts': aToolModule({
      name: 'orphan',
      body: 'void Promise.reject(new Error("orphan")); await new Promise((r) => setTimeout(r, 20)); return "ok"',
    }),
    'drawbridge.yaml': aConfig(),
  })

  const { code, stdout, stderr } = await drawbridgeProcess(['call', project, 'orphan'])

  expect(stdout).toBe('ok\n')
  expect(code).toBe(0)
  expect(stderr).toMatch(/orphan.*rejected outside of any call/)
})
