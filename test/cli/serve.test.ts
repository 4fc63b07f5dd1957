import net from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { anInitialize } from '../support/legacy-request.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { drawbridge, startDrawbridge, startServing } from '../support/run-cli.ts'

const ping = { 'tools/ping.ts': aToolModule({ name: 'ping' }) }

describe('drawbridge serve', () => {
  test('prints mounts, tools and connect commands to standard error, nothing to standard output', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig('  - { definitions: ./more.ts, mount: /mcp/more }\n'),
      ...ping,
      'more.ts': aToolModule({ name: 'other' }),
    })

    const server = await startServing([], { cwd })
    await server.waitForOutput(/mcp\/more .*\n.*\n.*connect.*\n/)
    const base = server.url.replace(/\/mcp$/, '')

    expect(server.stderr()).toMatch(/^acme 1\.2\.3$/m)
    expect(server.stderr()).toContain(`${base}/mcp  1 tool`)
    expect(server.stderr()).toContain(`${base}/mcp/more  1 tool`)
    expect(server.stderr()).toMatch(/^ +ping$/m)
    expect(server.stderr()).toContain(`claude mcp add --transport http acme ${base}/mcp\n`)
    // A client replaces an entry when a second one is added with the same name.
    const commands = [...server.stderr().matchAll(/claude mcp add --transport http (\S+)/g)]
    expect(new Set(commands.map(([, name]) => name)).size).toBe(2)
    expect(server.stdout()).toBe('')
  })

  test('prints the authorization header for a mount that needs a token', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig('  - { records: ./people.db, mount: /mcp/people }\n'),
      ...ping,
    })

    const server = await startServing([], { cwd })
    await server.waitForOutput(/mcp\/people .*\n.*\n.*connect.*\n/)

    expect(server.stderr()).toMatch(/ acme http:\S+\/mcp$/m)
    expect(server.stderr()).toMatch(/\/mcp\/people --header "Authorization: Bearer TOKEN"$/m)
  })

  test('does not print /mcp when nothing is mounted there', async () => {
    const cwd = await aProject({
      'records.yaml': 'sources:\n  - records: ./personal.db\n    mount: /mcp/records\n',
    })

    const server = await startServing(['records.yaml'], { cwd })
    await server.waitForOutput(/connect a client.*\n/)

    expect(server.stderr()).toMatch(/http:\S+\/mcp\/records {2}5 tools$/m)
    expect(server.stderr()).not.toMatch(/\/mcp\s/)
  })

  test('reports an unreachable NATS server once, and serves the other sources', async () => {
    const nats = '  - intents: { node: shop, discover: { url: "nats://127.0.0.1:1/shop" } }\n'
    const cwd = await aProject({ 'drawbridge.yaml': aConfig(nats), ...ping })

    const server = await startServing([], { cwd })
    await server.waitForOutput(/NATS at 127\.0\.0\.1:1: /)
    const client = await aModernClient(server.url)

    expect((await client.listTools()).tools).toMatchObject([{ name: 'ping' }])
    expect(server.stderr().match(/NATS at/g)).toHaveLength(1)
  })

  test('serves one module without a configuration', async () => {
    const cwd = await aProject(ping)

    const server = await startServing(['tools/ping.ts'], { cwd })
    const client = await aModernClient(server.url)

    expect((await client.listTools()).tools).toMatchObject([{ name: 'ping' }])
  })

  test('serves the valid modules in both protocol eras, and reports the invalid ones', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(),
      ...ping,
      'tools/throws.ts': 'throw new Error("the database is down")',
      'tools/empty.ts': 'export const nothing = 1',
      'tools/prints.ts': `console.log('noise')\n${aToolModule({ name: 'prints' })}`,
    })

    const server = await startServing([], { cwd })
    const modern = await aModernClient(server.url)
    const legacy = await aClientOf2025(server.url)
    const namesOf = ({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name)

    expect(namesOf(await modern.listTools())).toEqual(['ping', 'prints'])
    expect(namesOf(await legacy.listTools())).toEqual(['ping', 'prints'])
    expect(server.stderr()).toMatch(/throws\.ts.*the database is down/)
    expect(server.stderr()).toMatch(/empty\.ts exports no definition/)
    expect(server.stderr()).toMatch(/prints\.ts writes to standard output/)
    expect(server.stdout()).toBe('')
  })

  test('serves the other sources when one does not load', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig('  - source: ./mine.ts\n'),
      'mine.ts': 'throw new Error("the database is down")',
      ...ping,
    })

    const server = await startServing([], { cwd })
    const client = await aModernClient(server.url)

    expect((await client.listTools()).tools).toMatchObject([{ name: 'ping' }])
    expect(server.stderr()).toMatch(/mine\.ts.*the database is down/)
  })

  test('--stdio keeps standard output for the protocol, even when modules and tools print', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(),
      'tools/noisy.ts': `console.log('on import')\nprocess.stdout.write('raw\\n')\n${aToolModule({
        name: 'noisy',
        body: 'console.log("while called"); process.stdout.write("raw\\n"); return "done"',
      })}`,
    })
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'noisy' } }
    const input = [anInitialize(1), call].map((message) => `${JSON.stringify(message)}\n`).join('')

    const lines = await readStdioAnswers(cwd, input)

    expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2])
  })

  test('exits with 2 and prints one line when the port is in use', async () => {
    const occupant = net.createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => occupant.once('listening', resolve))
    onTestFinished(() => void occupant.close())
    const { port } = occupant.address() as net.AddressInfo
    const cwd = await aProject({ 'drawbridge.yaml': aConfig(), ...ping })

    const { code, stderr } = await drawbridge(['serve', '--port', String(port)], { cwd })

    expect(code).toBe(2)
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(`${port}.*--port`)])
  })
})

describe('modules of definitions', () => {
  test('share the state of a module that they import', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig('  - definitions: ./more.ts\n'),
      'store.ts': 'export const notes: string[] = []\n',
      'tools/add.ts': `import { notes } from '../store.ts'\n${aToolModule({ name: 'add', body: 'notes.push("a")' })}`,
      'tools/count.ts': `import { notes } from '../store.ts'\n${aToolModule({ name: 'count', body: 'return { notes: notes.length }' })}`,
      'more.ts': `import { notes } from './store.ts'\n${aToolModule({ name: 'count_too', body: 'return { notes: notes.length }' })}`,
    })
    const server = await startServing([], { cwd })
    const client = await aModernClient(server.url)

    await client.callTool({ name: 'add', arguments: {} })

    for (const name of ['count', 'count_too'])
      expect(await client.callTool({ name, arguments: {} })).toMatchObject({
        structuredContent: { notes: 1 },
      })
  })

  test('can be re-exported by an index module without duplicates', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(),
      ...ping,
      'tools/index.ts': "export { default as ping } from './ping.ts'\n",
    })

    const { code, stdout } = await drawbridge(['check'], { cwd })

    expect({ code, stdout }).toEqual({ code: 0, stdout: '1 tool, 0 errors, 0 warnings\n' })
  })
})

/** All lines on standard output until the last request is answered. */
async function readStdioAnswers(cwd: string, input: string): Promise<string[]> {
  const server = startDrawbridge(['serve', '--stdio'], { cwd })
  server.process.stdin.write(input)
  const requests = input.trim().split('\n').length
  await new Promise<void>((resolve) => {
    server.process.stdout.on('data', () => {
      if (server.stdout().split('\n').length > requests) resolve()
    })
    server.exited.then(() => resolve())
  })
  return server.stdout().trim().split('\n')
}
