import { chmod, lstat, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aConfig, aProject, aToolModule, put } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const files = { 'drawbridge.yaml': aConfig(), 'tools/ping.ts': aToolModule({ name: 'ping' }) }

/** Configuration files of the clients, relative to the project folder (which is also the home). */
const clients = [
  { client: 'claude-code', file: '.mcp.json', key: 'mcpServers' },
  { client: 'cursor', file: '.cursor/mcp.json', key: 'mcpServers' },
  { client: 'vscode', file: '.vscode/mcp.json', key: 'servers' },
  { client: 'claude-desktop', file: 'Claude/claude_desktop_config.json', key: 'mcpServers' },
]

const connect = (cwd: string, ...args: string[]) =>
  drawbridge(['connect', ...args], { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd, APPDATA: cwd } })
const forEachClient = (check: (client: (typeof clients)[number]) => Promise<void>) =>
  Promise.all(clients.map(check))
const readJson = async (file: string) => JSON.parse(await readFile(file, 'utf8'))

describe('drawbridge connect', () => {
  test('--mount and --url select one of several mounts, with a token placeholder if it needs one', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig('  - { records: ./people.db, mount: /mcp/people }\n'),
      'tools/ping.ts': aToolModule({ name: 'ping' }),
    })
    const entryOf = async (...args: string[]) =>
      JSON.parse((await connect(cwd, 'claude-desktop', ...args)).stdout).mcpServers.acme

    const [defaultMount, people, running, unknownMount] = await Promise.all([
      entryOf(),
      entryOf('--mount', '/mcp/people'),
      entryOf('--url', 'http://127.0.0.1:4747/mcp/people'),
      connect(cwd, 'claude-desktop', '--mount', '/mcp/pepole'),
    ])

    expect(defaultMount).not.toHaveProperty('env')
    expect(people).toMatchObject({ env: { DRAWBRIDGE_TOKEN: 'the token of a grant' } })
    expect(people.args.slice(-2)).toEqual(['--mount', '/mcp/people'])
    expect(running).toMatchObject({ headers: { Authorization: 'Bearer the token of a grant' } })
    expect(unknownMount).toMatchObject({ code: 2 })
    expect(unknownMount.stderr).toContain(
      'There is no mount /mcp/pepole. Available: /mcp, /mcp/people.',
    )
  })

  test('needs no grant when the configuration has a token for a remote records server', async () => {
    const cwd = await aProject({
      'drawbridge.yaml':
        'sources: [{ records: { server: "http://127.0.0.1:1", token: env://FAR_TOKEN } }]\n',
    })

    const args = ['connect', 'claude-desktop']
    const { stdout, stderr } = await drawbridge(args, { cwd, env: { FAR_TOKEN: 'far' } })

    expect(JSON.parse(stdout).mcpServers.drawbridge).not.toHaveProperty('env.DRAWBRIDGE_TOKEN')
    expect(stderr).not.toContain('grants create')
    expect(stderr).toContain('The server needs FAR_TOKEN in its environment')
  })

  test('--write keeps the environment variables that a user has added to the entry', async () => {
    const cwd = await aProject(files)
    const file = path.join(cwd, '.mcp.json')
    await connect(cwd, 'claude-code', '--write')
    const settings = await readJson(file)
    settings.mcpServers.acme.env = { FAR_TOKEN: 'far' }
    await put(file, JSON.stringify(settings))

    await connect(cwd, 'claude-code', '--write')

    expect((await readJson(file)).mcpServers.acme.env).toEqual({ FAR_TOKEN: 'far' })
  })

  test('--write keeps the token that a user has entered', async () => {
    const cwd = await aProject({ 'drawbridge.yaml': 'sources: [{ records: ./people.db }]\n' })
    const file = path.join(cwd, '.mcp.json')
    const first = await connect(cwd, 'claude-code', '--write')
    const edited = (await readFile(file, 'utf8')).replace('the token of a grant', 'drb_mine')
    await put(file, edited)

    const second = await connect(cwd, 'claude-code', '--write')

    expect(await readFile(file, 'utf8')).toBe(edited)
    expect(first.stderr).toContain('The token is missing')
    expect(second.stderr).toMatch(/\.mcp\.json\. Start claude in this folder\.\n$/)
  })

  test('prints the entry and the path of its file, and writes nothing', async () => {
    const cwd = await aProject(files)

    await forEachClient(async ({ client, file, key }) => {
      const { code, stdout, stderr } = await connect(cwd, client)

      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toEqual({
        [key]: { acme: expect.objectContaining({ args: expect.arrayContaining(['--stdio']) }) },
      })
      expect(stderr).toContain(path.join(cwd, file))
      await expect(stat(path.join(cwd, file))).rejects.toThrow('ENOENT')
    })
  })

  test('--write creates a missing file', async () => {
    const cwd = await aProject(files)

    await forEachClient(async ({ client, file, key }) => {
      const { code, stdout, stderr } = await connect(cwd, client, '--write')

      expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
      expect(stderr).toContain(path.join(cwd, file))
      expect(await readJson(path.join(cwd, file))).toMatchObject({
        [key]: { acme: { type: 'stdio' } },
      })
    })
  })

  test('--write keeps everything else in the file, and a backup of the previous file', async () => {
    const cwd = await aProject(files)

    await forEachClient(async ({ client, file, key }) => {
      const servers = { other: { command: 'other', env: { A: '1' } }, acme: { command: 'old' } }
      const before = { theme: 'dark', [key]: servers, inputs: [{ id: 'key' }] }
      const text = JSON.stringify(before, null, 4)
      await put(path.join(cwd, file), text)

      await connect(cwd, client, '--write')
      const after = await readJson(path.join(cwd, file))

      expect(after).toEqual({
        ...before,
        [key]: { ...servers, acme: expect.objectContaining({ type: 'stdio' }) },
      })
      expect(Object.keys(after)).toEqual(Object.keys(before))
      expect(await readFile(path.join(cwd, `${file}.bak`), 'utf8')).toBe(text)
    })
  })
})

describe('drawbridge connect --write', () => {
  test('does not change a file that it cannot merge into, and prints one line', async () => {
    const unmergeable: Readonly<Record<string, string>> = {
      'invalid JSON': '{ "mcpServers": { "other": {} "more": {} } }',
      'with an open comment': '{ "mcpServers": {} /* }',
      empty: '',
      'an array': '[{ "mcpServers": {} }]',
      null: 'null',
      'a string as servers': '{ "mcpServers": "none" }',
      'an array as servers': '{ "mcpServers": [] }',
    }

    const results = await Promise.all(
      Object.entries(unmergeable).map(async ([name, text]) => {
        const cwd = await aProject({ ...files, '.mcp.json': text })
        const { code, stderr } = await connect(cwd, 'claude-code', '--write')
        const content = await readFile(path.join(cwd, '.mcp.json'), 'utf8')
        return [name, { code, content, lines: stderr.trim().split('\n') }]
      }),
    )

    expect(Object.fromEntries(results)).toEqual(
      Object.fromEntries(
        Object.entries(unmergeable).map(([name, content]) => [
          name,
          { code: 2, content, lines: [expect.stringContaining('.mcp.json')] },
        ]),
      ),
    )
  })

  const commented = `\uFEFF// Servers of the team.\r
{\r
\t"inputs": [ 1.0, 12345678901234567890 ], /* keep */\r
\t"mcpServers": {\r
\t\t// The old one.\r
\t\t"other": { "command": "other" }, // do not touch\r
\t\t"acme": {\r
\t\t\t"disabled": true, // by me\r
\t\t\t"url": "http://127.0.0.1:1/mcp",\r
\t\t\t"env": {\r
\t\t\t\t// for the upstream\r
\t\t\t\t"FAR_TOKEN": "far",\r
\t\t\t},\r
\t\t},\r
\t},\r
\t"theme": "dark"\r
}`

  test('keeps comments, order, numbers, indentation, line ends, byte order mark and fields of the user', async () => {
    const cwd = await aProject({ ...files, '.mcp.json': commented })

    const { code } = await connect(cwd, 'claude-code', '--write')

    const text = await readFile(path.join(cwd, '.mcp.json'), 'utf8')
    const lines = text.split('\r\n')
    const kept = commented.split('\r\n').filter((line) => !line.includes('"url"'))
    expect(code).toBe(0)
    expect(lines.filter((line) => kept.includes(line))).toEqual(kept)
    expect(text).not.toContain('"url"')
    expect(lines.filter((line) => !kept.includes(line)).join(' ')).toMatch(
      /^\t\t\t"type": "stdio",.*"command": .*"args": \[/,
    )
  })

  test.each([
    ['an empty object', '{}', 2],
    ['no servers yet', '{\n    "theme": "dark"\n}\n', 4],
    ['one line', '{"mcpServers":{"other":{"command":"x"}},"theme":"dark"}', undefined],
    ['only comments', '{\n  // nothing yet\n}', 2],
    ['a trailing comma and a comment', '{\n  "mcpServers": {\n    "a": {}, // a\n  },\n}\n', 2],
    ['a comment after the last member', '{\n "mcpServers": {\n  "a": {} // a\n }\n}\n', 1],
  ])('adds an entry to a file with %s', async (_, before, indent) => {
    const cwd = await aProject({ ...files, '.mcp.json': before })

    expect((await connect(cwd, 'claude-code', '--write')).code).toBe(0)
    const after = await readFile(path.join(cwd, '.mcp.json'), 'utf8')

    // Every character of the former text is there, in the same order.
    let position = 0
    for (const character of before.replaceAll(/[\s,]/g, '')) {
      position = after.indexOf(character, position) + 1
      expect(position).toBeGreaterThan(0)
    }
    expect(after.endsWith('\n')).toBe(before.endsWith('\n'))
    if (indent === undefined) expect(after).not.toContain('\n')
    else expect(after).toMatch(new RegExp(`^ {${2 * indent}}"acme": \\{$`, 'm'))
    expect(after).toContain('"--stdio"')
  })

  test('creates files that only their owner can read, and keeps the mode of existing ones', async () => {
    const cwd = await aProject({ ...files, '.cursor/mcp.json': '{}' })
    await chmod(path.join(cwd, '.cursor/mcp.json'), 0o640)
    await connect(cwd, 'claude-code', '--write')
    await connect(cwd, 'cursor', '--write')

    const modeOf = async (file: string) => (await stat(path.join(cwd, file))).mode & 0o777
    expect(await modeOf('.mcp.json')).toBe(0o600)
    expect(await modeOf('.cursor/mcp.json')).toBe(0o640)
    expect(await modeOf('.cursor/mcp.json.bak')).toBe(0o640)
    expect((await readdir(cwd)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test('warns when a file with credentials can be read by others', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': 'sources: [{ records: ./people.db }]\n',
      '.mcp.json': '{}',
    })
    await chmod(path.join(cwd, '.mcp.json'), 0o644)

    const { code, stderr } = await connect(cwd, 'claude-code', '--write')

    expect(code).toBe(0)
    expect(stderr).toMatch(/Other users can read .*chmod 600/)
  })

  test('writes through a symbolic link, and refuses one that leads nowhere', async () => {
    const cwd = await aProject({ ...files, 'dotfiles/mcp.json': '{ "mcpServers": {} }' })
    const link = path.join(cwd, '.mcp.json')
    await symlink('dotfiles/mcp.json', link)

    await connect(cwd, 'claude-code', '--write')

    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    expect((await readJson(path.join(cwd, 'dotfiles/mcp.json'))).mcpServers).toHaveProperty('acme')

    await rm(path.join(cwd, 'dotfiles/mcp.json'))
    const { code, stderr } = await connect(cwd, 'claude-code', '--write')
    expect(code).toBe(2)
    expect(stderr).toContain('a symbolic link to a file that does not exist')
  })

  test('refuses a file that is not valid UTF-8', async () => {
    const cwd = await aProject(files)
    const bytes = Buffer.from('{ "name": "\xe9" }', 'latin1')
    await writeFile(path.join(cwd, '.mcp.json'), bytes)

    const { code, stderr } = await connect(cwd, 'claude-code', '--write')

    expect(code).toBe(2)
    expect(stderr).toContain('not valid UTF-8')
    expect(await readFile(path.join(cwd, '.mcp.json'))).toEqual(bytes)
  })

  test('is idempotent, and the backup is the file from before the first run', async () => {
    const text = '{ "mcpServers": { "other": { "command": "other" } } }'
    const cwd = await aProject({ ...files, '.mcp.json': text })

    await connect(cwd, 'claude-code', '--write')
    const once = await readFile(path.join(cwd, '.mcp.json'), 'utf8')
    await connect(cwd, 'claude-code', '--write')

    expect(await readFile(path.join(cwd, '.mcp.json'), 'utf8')).toBe(once)
    expect(await readFile(path.join(cwd, '.mcp.json.bak'), 'utf8')).toBe(text)
  })
})

describe('the entry that drawbridge connect prints', () => {
  test('starts the server from any working directory', async () => {
    const cwd = await aProject(files)
    const { stdout } = await connect(cwd, 'claude-code')
    const { command, args } = JSON.parse(stdout).mcpServers.acme
    const client = new Client({ name: 'test', version: '1.0.0' })
    onTestFinished(() => client.close())

    await client.connect(new StdioClientTransport({ command, args, cwd: '/', stderr: 'ignore' }))

    expect((await client.listTools()).tools).toMatchObject([{ name: 'ping' }])
  })

  test('--url and --name connect to a running server', async () => {
    const cwd = await aProject(files)
    const url = 'http://127.0.0.1:4747/mcp'

    const { stdout } = await connect(cwd, 'claude-code', '--url', url, '--name', 'here')

    expect(JSON.parse(stdout)).toEqual({ mcpServers: { here: { type: 'http', url } } })
  })

  test('--url and --name need no configuration', async () => {
    const cwd = await aProject({})
    const url = 'http://127.0.0.1:4747/mcp'

    const { code, stdout } = await connect(cwd, 'claude-code', '--url', url, '--name', 'here')

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ mcpServers: { here: { type: 'http', url } } })
  })
})
