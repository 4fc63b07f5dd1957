import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const cwd = await aSharedProject({
  'drawbridge.yaml': aConfig(),
  'tools/ping.ts': aToolModule({ name: 'ping' }),
})

describe('an invalid command line exits with 2 and prints one line', () => {
  test.each([
    ['srve', /srve/],
    ['list --jsn', /--jsn.*--json/],
    ['list -q', /-q/],
    ['check . surplus', /surplus/],
    ['check ./no/such/folder', /no\/such\/folder/],
    ['check ./tools', /drawbridge\.yaml/],
    ['serve --port many', /--port.*many/],
    ['serve --port=', /--port/],
    ['serve --host=', /--host/],
    ['serve --stdio --mount /elsewhere', /\/elsewhere.*\/mcp/],
    ['list --tools --mount /elsewhere', /\/elsewhere.*\/mcp/],
    ['list --mount /elsewhere', /\/elsewhere.*\/mcp/],
    ['call', /name|tool/i],
    ['call ping {"a":', /JSON/],
    ['call ping [1]', /JSON|object/],
    ['call . ping surplus', /surplus/],
    ['connect emacs', /emacs.*claude-code/],
    ['token', /--subject/],
    ['token --subject', /--subject/],
  ])('drawbridge %s', async (line, message) => {
    const { code, stdout, stderr } = await drawbridge(line.split(' '), { cwd })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(message)])
  })

  test('LOG_LEVEL=loud drawbridge list', async () => {
    const env = { LOG_LEVEL: 'loud' }
    const { code, stdout, stderr } = await drawbridge(['list'], { cwd, env })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/"loud".*info/)])
  })
})

describe('help', () => {
  test.each([[[]], [['--help']]])(
    'drawbridge %j lists every command, without colors when the output is not a terminal',
    async (args) => {
      const { code, stdout } = await drawbridge(args)

      expect(code).toBe(0)
      for (const command of ['serve', 'check', 'list', 'call', 'connect', 'token'])
        expect(stdout).toContain(command)
      expect(stdout).not.toContain('\u001b')
    },
  )

  test.each([
    ['serve', ['--host', '--port', '--stdio', '--mount', '--watch']],
    ['check', ['--json']],
    ['list', ['--json', '--tools', '--mount']],
    ['call', ['--json', '--mount', '"-"']],
    ['connect', ['--write', '--url', '--name', 'claude-desktop']],
    ['token', ['--subject', '--scopes', '--json']],
  ])('drawbridge %s --help lists its flags, and does nothing else', async (command, flags) => {
    const { code, stdout, stderr } = await drawbridge([command, '--help'])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const flag of flags) expect(stdout).toContain(flag)
  })

  test.each(['call', 'explain'])(
    'drawbridge %s --help prints the usage line and the default mount',
    async (command) => {
      const { stdout } = await drawbridge([command, '--help'])

      expect(stdout).toContain(`USAGE drawbridge ${command} [OPTIONS] [WHAT] NAME [JSON]`)
      expect(stdout).toContain('(default: the only mount, or /mcp)')
      expect(stdout).not.toContain('Default: ')
    },
  )

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))

    expect(await drawbridge(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

test('connect accepts --json', async () => {
  const { code, stdout } = await drawbridge(['connect', 'cursor', '--json'], { cwd })

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toHaveProperty('mcpServers.acme')
})
