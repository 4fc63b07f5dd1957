import { createHash } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineTool, definitionSource, type Source, z } from '../../src/index.ts'
import { aConfig, aProject, aToolModule, put } from '../support/a-project.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { type Serving, startServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { aModernRequest, answerOf, post } from '../support/wire.ts'

const version = (number: number) =>
  aToolModule({ name: 'ping', description: `Version ${number}.`, body: `return ${number}` })
const files = { 'drawbridge.yaml': aConfig(), 'tools/ping.ts': version(1) }
const broken = 'export default {\n  name: ,\n}\n'

/** What a client sees now. */
async function descriptionsAt(url: string): Promise<string[]> {
  const { result } = await answerOf(await post(url, aModernRequest('tools/list')))
  return result.tools.map(({ description }: { description: string }) => description)
}

/** Settles when the server has said this once more than it had before. */
function again(server: Serving, words: string): Promise<unknown> {
  const times = server.stderr().split(words).length
  return server.said(new RegExp(`(?:${words}[^]*){${times}}`))
}

const reloaded = (server: Serving) => again(server, 'Reloaded')
const refused = (server: Serving) => again(server, 'Not reloaded')

const hearModern = (client: Client) =>
  new Promise<void>((resolve) => {
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve())
  })
const hear2025 = (client: ClientV1) =>
  new Promise<void>((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve())
  })

describe('a valid edit', () => {
  test('is told to the clients of both eras over HTTP, who then see the new version', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })
    const [modern, former] = [await aModernClient(server.url), await aClientOf2025(server.url)]
    await modern.listen({ toolsListChanged: true })
    const told = [hearModern(modern), hear2025(former)]

    await put(path.join(cwd, 'tools/ping.ts'), version(2))
    await Promise.all(told)

    expect((await modern.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
    expect((await former.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
    expect(await modern.callTool({ name: 'ping', arguments: {} })).toMatchObject({
      content: [{ text: '2' }],
    })
  })

  test('is told to the clients of both eras over stdio', async () => {
    const cwd = await aProject(files)
    const command = {
      command: process.execPath,
      args: [path.resolve('dist/cli/main.js'), 'serve', cwd, '--stdio', '--watch'],
      stderr: 'ignore' as const,
    }
    const identity = { name: 'test', version: '1.0.0' }
    const modern = new Client(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    const former = new ClientV1(identity)
    onTestFinished(async () => {
      await Promise.all([modern.close(), former.close()])
    })
    await modern.connect(new StdioClientTransport(command))
    await former.connect(new StdioV1(command))
    await modern.listen({ toolsListChanged: true })
    const told = [hearModern(modern), hear2025(former)]

    await put(path.join(cwd, 'tools/ping.ts'), version(2))
    await Promise.all(told)

    expect((await modern.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
    expect((await former.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
  })

  test('takes effect though it changes only what a tool does and nothing that clients can see', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(),
      'tools/ping.ts': aToolModule({ name: 'ping', body: 'return "before"' }),
    })
    const server = await startServing(['--watch'], { cwd })
    const [modern, former] = [await aModernClient(server.url), await aClientOf2025(server.url)]

    const done = reloaded(server)
    const edited = aToolModule({ name: 'ping', body: 'return "after"' })
    await put(path.join(cwd, 'tools/ping.ts'), edited)
    await done

    for (const client of [modern, former])
      expect(await client.callTool({ name: 'ping', arguments: {} })).toMatchObject({
        content: [{ text: 'after' }],
      })
  })

  test('is noticed when a file is new, and when one is gone', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })
    const pong = path.join(cwd, 'tools/pong.ts')

    const added = reloaded(server)
    await put(pong, aToolModule({ name: 'pong', description: 'New.' }))
    await added
    const afterAdding = await descriptionsAt(server.url)
    const removed = reloaded(server)
    await rm(pong)
    await removed

    expect(afterAdding).toEqual(['Version 1.', 'New.'])
    expect(await descriptionsAt(server.url)).toEqual(['Version 1.'])
  })

  test('is noticed every time a file is replaced by another, as git and most editors do', async () => {
    const [cwd, elsewhere] = [await aProject(files), await aProject({})]
    const server = await startServing(['--watch'], { cwd })
    const file = path.join(cwd, 'tools/ping.ts')
    const rename = (from: string) => (text: string) => {
      writeFileSync(from, text)
      renameSync(from, file)
    }
    // At once, as it is done there: whoever watches has no time to look in between.
    const ways = [
      rename(path.join(cwd, 'tools/.ping.ts.swp')),
      rename(path.join(elsewhere, 'ping.ts')),
      (text: string) => {
        rmSync(file)
        writeFileSync(file, text)
      },
      rename(path.join(elsewhere, 'ping.ts')),
      (text: string) => writeFileSync(file, text),
    ]
    const seen: string[] = []

    for (const [index, replace] of ways.entries()) {
      const done = reloaded(server)
      replace(version(index + 2))
      await done
      seen.push(...(await descriptionsAt(server.url)))
    }

    expect(seen).toEqual(ways.map((_, index) => `Version ${index + 2}.`))
  })

  test('is noticed in what a tool imports, and in what lies outside of the folder', async () => {
    const folder = await aProject({
      'here/drawbridge.yaml': aConfig('  - definitions: ../there/*.ts\n'),
      'here/words.ts': 'export const words = "Before."\n',
      'here/tools/ping.ts': `import { words } from '../words.ts'\n${aToolModule({ name: 'ping' }).replace('"Is called ping."', 'words')}`,
      'there/pong.ts': aToolModule({ name: 'pong', description: 'Before.' }),
    })
    const server = await startServing(['here', '--watch'], { cwd: folder })
    const inside = reloaded(server)
    await put(path.join(folder, 'here/words.ts'), 'export const words = "After."\n')
    await inside
    const afterInside = await descriptionsAt(server.url)

    const outside = reloaded(server)
    const edited = aToolModule({ name: 'pong', description: 'After.' })
    await put(path.join(folder, 'there/pong.ts'), edited)
    await outside

    expect(afterInside).toEqual(['After.', 'Before.'])
    expect(await descriptionsAt(server.url)).toEqual(['After.', 'After.'])
  })

  test('does not disturb a call in flight: it ends as what it began as', async () => {
    const slow = (number: number) =>
      aToolModule({
        name: 'slow',
        description: `Version ${number}.`,
        body: `console.error('began')
    await (globalThis.gate ??= new Promise((resolve) => (globalThis.open = resolve)))
    return ${number}`,
      })
    const release = aToolModule({ name: 'release', body: 'globalThis.open()' })
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(),
      'tools/slow.ts': slow(1),
      'tools/release.ts': release,
    })
    const server = await startServing(['--watch'], { cwd })
    const clients = [await aModernClient(server.url), await aClientOf2025(server.url)]
    const call = (name: string) =>
      Promise.all(clients.map((client) => client.callTool({ name, arguments: {} })))
    const answer = (text: string) => clients.map(() => ({ content: [{ text }] }))

    const inFlight = call('slow')
    await server.said(/began\s+began/)
    const done = reloaded(server)
    await put(path.join(cwd, 'tools/slow.ts'), slow(2))
    await done
    await call('release')

    expect(await inFlight).toMatchObject(answer('1'))
    expect(await call('slow')).toMatchObject(answer('2'))
  })

  test('lets go of a former source only when its last call has ended', async () => {
    const [began, gate] = [new Latch(), new Latch()]
    let closed = false
    const slow = defineTool({
      name: 'slow',
      description: 'Needs its source until it ends.',
      category: 'read',
      schema: z.object({}),
      execute: async () => {
        began.open()
        await gate.opened
        return closed ? 'the source was closed' : 'all was well'
      },
    })
    const former: Source = {
      ...definitionSource([slow]),
      close: async () => {
        closed = true
      },
    }
    const { bridge } = await serveHere({ sources: [former] })

    const calling = bridge.call('slow')
    await began.opened
    await bridge.replace([])
    gate.open()

    expect(await calling).toMatchObject({ content: [{ text: 'all was well' }] })
    await eventually(() => expect(closed).toBe(true))
  })
})

describe('an invalid edit', () => {
  test('of a module leaves the old version serving, says why and where, and can be repaired', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })

    const no = refused(server)
    await put(path.join(cwd, 'tools/ping.ts'), broken)
    await no
    const meanwhile = await descriptionsAt(server.url)
    const said = server.stderr()
    const yes = reloaded(server)
    await put(path.join(cwd, 'tools/ping.ts'), version(2))
    await yes

    expect(meanwhile).toEqual(['Version 1.'])
    expect(said).toMatch(/tools\/ping\.ts/)
    expect(await descriptionsAt(server.url)).toEqual(['Version 2.'])
  })

  test('of the configuration leaves the old one serving, and says where', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })

    const no = refused(server)
    await put(path.join(cwd, 'drawbridge.yaml'), `${aConfig()}polcy: {}\n`)
    await no

    expect(await descriptionsAt(server.url)).toEqual(['Version 1.'])
    expect(server.stderr()).toMatch(/drawbridge\.yaml:5:1 .*"polcy".*"policy"/)
  })

  test('on one mount changes nothing on any', async () => {
    const config = `sources:
  - definitions: ./tools/*.ts
  - { definitions: ./more/*.ts, mount: /mcp/more }
`
    const cwd = await aProject({ ...files, 'drawbridge.yaml': config, 'more/pong.ts': version(1) })
    const server = await startServing(['--watch'], { cwd })

    const no = refused(server)
    await put(path.join(cwd, 'more/pong.ts'), broken)
    await put(path.join(cwd, 'tools/ping.ts'), version(2))
    await no

    expect(await descriptionsAt(server.url)).toEqual(['Version 1.'])
    expect(await descriptionsAt(`${server.url}/more`)).toEqual(['Version 1.'])
  })
})

test('no call fails while it reloads again and again, and none goes back to an older version', async () => {
  const cwd = await aProject(files)
  const server = await startServing(['--watch'], { cwd })
  const clients = [await aModernClient(server.url), await aClientOf2025(server.url)]
  let over = false
  const calling = clients.map(async (client) => {
    const answers: number[] = []
    while (!over) {
      const { content } = (await client.callTool({ name: 'ping', arguments: {} })) as {
        content: { text: string }[]
      }
      answers.push(Number(content[0]?.text))
    }
    return answers
  })

  for (let number = 2; number <= 9; number++) {
    const bad = number % 4 === 0
    const done = bad ? refused(server) : reloaded(server)
    await put(path.join(cwd, 'tools/ping.ts'), bad ? broken : version(number))
    await done
  }
  over = true

  for (const answers of await Promise.all(calling)) {
    expect(answers).toEqual([...answers].sort((a, b) => a - b))
    expect(new Set(answers).size).toBeGreaterThan(3)
    expect(answers).not.toContain(Number.NaN)
  }
})

test('a token that is taken out of the configuration is locked out, or it is said that this needs a restart', async () => {
  const entry = (subject: string) => {
    const hash = createHash('sha256').update(`of-${subject}`).digest('hex')
    return `    - { hash: "sha256:${hash}", subject: ${subject}, scopes: [] }\n`
  }
  const [ann, bob] = [entry('ann'), entry('bob')]
  const cwd = await aProject({
    ...files,
    'drawbridge.yaml': aConfig(`http:\n  tokens:\n${ann}${bob}`),
  })
  const server = await startServing(['--watch'], { cwd })

  const done = reloaded(server)
  await put(path.join(cwd, 'drawbridge.yaml'), aConfig(`http:\n  tokens:\n${bob}`))
  await done

  const { status } = await post(server.url, aModernRequest('tools/list'), {
    authorization: 'Bearer of-ann',
  })
  expect(status === 401 || /restart/i.test(server.stderr())).toBe(true)
})

test('what a tool writes beside its configuration is no reason to reload', async () => {
  const cwd = await aProject({
    'drawbridge.yaml': aConfig(),
    'tools/note.ts': `import { appendFileSync } from 'node:fs'
let notes = 0
${aToolModule({
  name: 'note',
  body: "appendFileSync('notes.json', 'a'); appendFileSync('drawbridge.db', 'a'); return ++notes",
})}`,
  })
  const server = await startServing(['--watch'], { cwd })
  const client = await aModernClient(server.url)
  const note = () => client.callTool({ name: 'note', arguments: {} })

  await note()
  // Longer than it takes to notice a change: there is nothing to wait for when nothing happens.
  await aWhile(600)

  expect(await note()).toMatchObject({ content: [{ text: '2' }] })
  expect(server.stderr()).not.toContain('Reloaded')
})
