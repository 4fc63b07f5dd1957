import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aConfig, aProject, aToolModule, put } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const files = { 'drawbridge.yaml': aConfig(), 'tools/ping.ts': aToolModule({ name: 'ping' }) }

/** Where each client keeps its servers, from the folder of the project (which is also the home). */
const clients = [
  { client: 'claude-code', file: '.mcp.json', key: 'mcpServers' },
  { client: 'cursor', file: '.cursor/mcp.json', key: 'mcpServers' },
  { client: 'vscode', file: '.vscode/mcp.json', key: 'servers' },
  { client: 'claude-desktop', file: 'Claude/claude_desktop_config.json', key: 'mcpServers' },
]

const connect = (cwd: string, ...words: string[]) =>
  drawbridge(['connect', ...words], { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd, APPDATA: cwd } })
const forEachClient = (look: (client: (typeof clients)[number]) => Promise<void>) =>
  Promise.all(clients.map(look))
const read = async (file: string) => JSON.parse(await readFile(file, 'utf8'))

describe('drawbridge connect', () => {
  test('of several mounts connects the one that is named, with the token it asks for', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig('  - { records: ./people.db, mount: /mcp/people }\n'),
      'tools/ping.ts': aToolModule({ name: 'ping' }),
    })
    const entryOf = async (...words: string[]) =>
      JSON.parse((await connect(cwd, 'claude-desktop', ...words)).stdout).mcpServers.acme

    const [usual, people, running, nowhere] = await Promise.all([
      entryOf(),
      entryOf('--mount', '/mcp/people'),
      entryOf('--url', 'http://127.0.0.1:4747/mcp/people'),
      connect(cwd, 'claude-desktop', '--mount', '/mcp/pepole'),
    ])

    expect(usual).not.toHaveProperty('env')
    expect(people).toMatchObject({ env: { DRAWBRIDGE_TOKEN: 'the token of a grant' } })
    expect(people.args.slice(-2)).toEqual(['--mount', '/mcp/people'])
    expect(running).toMatchObject({ headers: { Authorization: 'Bearer the token of a grant' } })
    expect(nowhere).toMatchObject({ code: 2 })
    expect(nowhere.stderr).toContain('There is no mount /mcp/pepole. Available: /mcp, /mcp/people.')
  })

  test('asks for no grant where the configuration holds the one that records elsewhere are read with', async () => {
    const cwd = await aProject({
      'drawbridge.yaml':
        'sources: [{ records: { server: "http://127.0.0.1:1", token: env://FAR_TOKEN } }]\n',
    })

    const words = ['connect', 'claude-desktop']
    const { stdout, stderr } = await drawbridge(words, { cwd, env: { FAR_TOKEN: 'far' } })

    expect(JSON.parse(stdout).mcpServers.drawbridge).not.toHaveProperty('env.DRAWBRIDGE_TOKEN')
    expect(stderr).not.toContain('grants create')
    expect(stderr).toContain('The server needs FAR_TOKEN in its environment')
  })

  test('a second time leaves what else somebody has put into its environment', async () => {
    const cwd = await aProject(files)
    const file = path.join(cwd, '.mcp.json')
    await connect(cwd, 'claude-code', '--write')
    const settings = await read(file)
    settings.mcpServers.acme.env = { FAR_TOKEN: 'far' }
    await put(file, JSON.stringify(settings))

    await connect(cwd, 'claude-code', '--write')

    expect((await read(file)).mcpServers.acme.env).toEqual({ FAR_TOKEN: 'far' })
  })

  test('a second time leaves the token that somebody has put there', async () => {
    const cwd = await aProject({ 'drawbridge.yaml': 'sources: [{ records: ./people.db }]\n' })
    const file = path.join(cwd, '.mcp.json')
    const first = await connect(cwd, 'claude-code', '--write')
    const mine = (await readFile(file, 'utf8')).replace('the token of a grant', 'drb_mine')
    await put(file, mine)

    const second = await connect(cwd, 'claude-code', '--write')

    expect(await readFile(file, 'utf8')).toBe(mine)
    expect(first.stderr).toContain('The token is missing')
    expect(second.stderr).toMatch(/\.mcp\.json\. Start claude in this folder\.\n$/)
  })

  test('prints what belongs where, and writes nothing', async () => {
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

  test('--write makes the file where there is none', async () => {
    const cwd = await aProject(files)

    await forEachClient(async ({ client, file, key }) => {
      const { code, stdout, stderr } = await connect(cwd, client, '--write')

      expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
      expect(stderr).toContain(path.join(cwd, file))
      expect(await read(path.join(cwd, file))).toMatchObject({ [key]: { acme: { type: 'stdio' } } })
    })
  })

  test('--write keeps everything else in the file, and the former file beside it', async () => {
    const cwd = await aProject(files)

    await forEachClient(async ({ client, file, key }) => {
      const servers = { other: { command: 'other', env: { A: '1' } }, acme: { command: 'old' } }
      const before = { theme: 'dark', [key]: servers, inputs: [{ id: 'key' }] }
      const text = JSON.stringify(before, null, 4)
      await put(path.join(cwd, file), text)

      await connect(cwd, client, '--write')
      const after = await read(path.join(cwd, file))

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
  test('leaves a file alone that it cannot merge into, and says so in one line', async () => {
    const odd: Readonly<Record<string, string>> = {
      'no JSON': '{ "mcpServers": { "other": {}, } }',
      'with comments': '// mine\n{ "mcpServers": {} }',
      empty: '',
      'no object': '[{ "mcpServers": {} }]',
      null: 'null',
      'no servers where servers belong': '{ "mcpServers": "none" }',
      'a list where servers belong': '{ "mcpServers": [] }',
    }

    const found = await Promise.all(
      Object.entries(odd).map(async ([name, text]) => {
        const cwd = await aProject({ ...files, '.mcp.json': text })
        const { code, stderr } = await connect(cwd, 'claude-code', '--write')
        const left = await readFile(path.join(cwd, '.mcp.json'), 'utf8')
        return [name, { code, left, lines: stderr.trim().split('\n') }]
      }),
    )

    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(
        Object.entries(odd).map(([name, left]) => [
          name,
          { code: 2, left, lines: [expect.stringContaining('.mcp.json')] },
        ]),
      ),
    )
  })

  test('twice gives the same file, and still has what was there before the first time', async () => {
    const text = '{ "mcpServers": { "other": { "command": "other" } } }'
    const cwd = await aProject({ ...files, '.mcp.json': text })

    await connect(cwd, 'claude-code', '--write')
    const once = await readFile(path.join(cwd, '.mcp.json'), 'utf8')
    await connect(cwd, 'claude-code', '--write')

    expect(await readFile(path.join(cwd, '.mcp.json'), 'utf8')).toBe(once)
    expect(await readFile(path.join(cwd, '.mcp.json.bak'), 'utf8')).toBe(text)
  })
})

describe('what drawbridge connect prints', () => {
  test('starts this server, wherever the client starts it', async () => {
    const cwd = await aProject(files)
    const { stdout } = await connect(cwd, 'claude-code')
    const { command, args } = JSON.parse(stdout).mcpServers.acme
    const client = new Client({ name: 'test', version: '1.0.0' })
    onTestFinished(() => client.close())

    await client.connect(new StdioClientTransport({ command, args, cwd: '/', stderr: 'ignore' }))

    expect((await client.listTools()).tools).toMatchObject([{ name: 'ping' }])
  })

  test('--url and --name are for a server that already runs', async () => {
    const cwd = await aProject(files)
    const url = 'http://127.0.0.1:4747/mcp'

    const { stdout } = await connect(cwd, 'claude-code', '--url', url, '--name', 'here')

    expect(JSON.parse(stdout)).toEqual({ mcpServers: { here: { type: 'http', url } } })
  })

  test('does not ask for a configuration where a url says it all', async () => {
    const cwd = await aProject({})
    const url = 'http://127.0.0.1:4747/mcp'

    const { code, stdout } = await connect(cwd, 'claude-code', '--url', url, '--name', 'here')

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ mcpServers: { here: { type: 'http', url } } })
  })
})
