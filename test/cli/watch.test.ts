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
import { aModernPost as aModernRequest, answerOf, post } from '../support/wire.ts'

const moduleOfVersion = (number: number) =>
  aToolModule({ name: 'ping', description: `Version ${number}.`, body: `return ${number}` })
const files = { 'drawbridge.yaml': aConfig(), 'tools/ping.ts': moduleOfVersion(1) }
const invalidModule = 'export default {\n  name: ,\n}\n'

async function descriptionsAt(url: string): Promise<string[]> {
  const { result } = await answerOf(await post(url, aModernRequest('tools/list')))
  return result.tools.map(({ description }: { description: string }) => description)
}

/** Resolves when the server has printed the text once more than at the time of the call. */
function printedAgain(server: Serving, text: string): Promise<unknown> {
  const count = server.stderr().split(text).length
  return server.waitForStderr(new RegExp(`(?:${text}[^]*){${count}}`))
}

const nextReload = (server: Serving) => printedAgain(server, 'Reloaded')
const nextRefusal = (server: Serving) => printedAgain(server, 'Not reloaded')

const nextModernNotification = (client: Client) =>
  new Promise<void>((resolve) => {
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve())
  })
const nextLegacyNotification = (client: ClientV1) =>
  new Promise<void>((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve())
  })

describe('a valid edit', () => {
  test('is announced to clients of both eras over HTTP, which then see the new version', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })
    const [modern, legacy] = [await aModernClient(server.url), await aClientOf2025(server.url)]
    await modern.listen({ toolsListChanged: true })
    const notifications = [nextModernNotification(modern), nextLegacyNotification(legacy)]

    await put(path.join(cwd, 'tools/ping.ts'), moduleOfVersion(2))
    await Promise.all(notifications)

    expect((await modern.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
    expect((await legacy.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
    expect(await modern.callTool({ name: 'ping', arguments: {} })).toMatchObject({
      content: [{ text: '2' }],
    })
  })

  test('is announced to clients of both eras over stdio', async () => {
    const cwd = await aProject(files)
    const command = {
      command: process.execPath,
      args: [path.resolve('dist/cli/main.js'), 'serve', cwd, '--stdio', '--watch'],
      stderr: 'ignore' as const,
    }
    const identity = { name: 'test', version: '1.0.0' }
    const modern = new Client(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    const legacy = new ClientV1(identity)
    onTestFinished(async () => {
      await Promise.all([modern.close(), legacy.close()])
    })
    await modern.connect(new StdioClientTransport(command))
    await legacy.connect(new StdioV1(command))
    await modern.listen({ toolsListChanged: true })
    const notifications = [nextModernNotification(modern), nextLegacyNotification(legacy)]

    await put(path.join(cwd, 'tools/ping.ts'), moduleOfVersion(2))
    await Promise.all(notifications)

    expect((await modern.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
    expect((await legacy.listTools()).tools).toMatchObject([{ description: 'Version 2.' }])
  })

  test('takes effect when it changes only the code of a tool, and no definition', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(),
      'tools/ping.ts': aToolModule({ name: 'ping', body: 'return "before"' }),
    })
    const server = await startServing(['--watch'], { cwd })
    const [modern, legacy] = [await aModernClient(server.url), await aClientOf2025(server.url)]

    const reload = nextReload(server)
    const edited = aToolModule({ name: 'ping', body: 'return "after"' })
    await put(path.join(cwd, 'tools/ping.ts'), edited)
    await reload

    for (const client of [modern, legacy])
      expect(await client.callTool({ name: 'ping', arguments: {} })).toMatchObject({
        content: [{ text: 'after' }],
      })
  })

  test('is detected when a file is added, and when one is removed', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })
    const pong = path.join(cwd, 'tools/pong.ts')

    const added = nextReload(server)
    await put(pong, aToolModule({ name: 'pong', description: 'New.' }))
    await added
    const afterAdding = await descriptionsAt(server.url)
    const removed = nextReload(server)
    await rm(pong)
    await removed

    expect(afterAdding).toEqual(['Version 1.', 'New.'])
    expect(await descriptionsAt(server.url)).toEqual(['Version 1.'])
  })

  test('is detected when a file is replaced by rename, as git and most editors do', async () => {
    const [cwd, elsewhere] = [await aProject(files), await aProject({})]
    const server = await startServing(['--watch'], { cwd })
    const file = path.join(cwd, 'tools/ping.ts')
    const rename = (from: string) => (text: string) => {
      writeFileSync(from, text)
      renameSync(from, file)
    }
    // Synchronous: the watcher gets no event between removal and replacement.
    const replacements = [
      rename(path.join(cwd, 'tools/.ping.ts.swp')),
      rename(path.join(elsewhere, 'ping.ts')),
      (text: string) => {
        rmSync(file)
        writeFileSync(file, text)
      },
      rename(path.join(elsewhere, 'ping.ts')),
      (text: string) => writeFileSync(file, text),
    ]
    const descriptions: string[] = []

    for (const [index, replace] of replacements.entries()) {
      const reload = nextReload(server)
      replace(moduleOfVersion(index + 2))
      await reload
      descriptions.push(...(await descriptionsAt(server.url)))
    }

    expect(descriptions).toEqual(replacements.map((_, index) => `Version ${index + 2}.`))
  })

  test('is detected in imported modules, and in files outside of the folder', async () => {
    const folder = await aProject({
      'here/drawbridge.yaml': aConfig('  - definitions: ../there/*.ts\n'),
      'here/words.ts': 'export const words = "Before."\n',
      'here/tools/ping.ts': `import { words } from '../words.ts'\n${aToolModule({ name: 'ping' }).replace('"Is called ping."', 'words')}`,
      'there/pong.ts': aToolModule({ name: 'pong', description: 'Before.' }),
    })
    const server = await startServing(['here', '--watch'], { cwd: folder })
    const inside = nextReload(server)
    await put(path.join(folder, 'here/words.ts'), 'export const words = "After."\n')
    await inside
    const afterInside = await descriptionsAt(server.url)

    const outside = nextReload(server)
    const edited = aToolModule({ name: 'pong', description: 'After.' })
    await put(path.join(folder, 'there/pong.ts'), edited)
    await outside

    expect(afterInside).toEqual(['After.', 'Before.'])
    expect(await descriptionsAt(server.url)).toEqual(['After.', 'After.'])
  })

  test('does not affect a call in flight, which completes with the version that it started with', async () => {
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
    await server.waitForStderr(/began\s+began/)
    const reload = nextReload(server)
    await put(path.join(cwd, 'tools/slow.ts'), slow(2))
    await reload
    await call('release')

    expect(await inFlight).toMatchObject(answer('1'))
    expect(await call('slow')).toMatchObject(answer('2'))
  })

  test('closes the replaced source only when its last call has ended', async () => {
    const [started, gate] = [new Latch(), new Latch()]
    let isClosed = false
    const slow = defineTool({
      name: 'slow',
      description: 'Needs its source until it ends.',
      category: 'read',
      schema: z.object({}),
      execute: async () => {
        started.open()
        await gate.opened
        return isClosed ? 'the source was closed' : 'the source was open'
      },
    })
    const replaced: Source = {
      ...definitionSource([slow]),
      close: async () => {
        isClosed = true
      },
    }
    const { bridge } = await serveHere({ sources: [replaced] })

    const call = bridge.call('slow')
    await started.opened
    await bridge.replace([])
    gate.open()

    expect(await call).toMatchObject({ content: [{ text: 'the source was open' }] })
    await eventually(() => expect(isClosed).toBe(true))
  })
})

describe('an invalid edit', () => {
  test('of a module keeps the previous version, reports cause and position, and can be corrected', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })

    const refusal = nextRefusal(server)
    await put(path.join(cwd, 'tools/ping.ts'), invalidModule)
    await refusal
    const afterInvalidEdit = await descriptionsAt(server.url)
    const output = server.stderr()
    const reload = nextReload(server)
    await put(path.join(cwd, 'tools/ping.ts'), moduleOfVersion(2))
    await reload

    expect(afterInvalidEdit).toEqual(['Version 1.'])
    expect(output).toMatch(/tools\/ping\.ts/)
    expect(await descriptionsAt(server.url)).toEqual(['Version 2.'])
  })

  test('of the configuration keeps the previous one, and reports the position', async () => {
    const cwd = await aProject(files)
    const server = await startServing(['--watch'], { cwd })

    const refusal = nextRefusal(server)
    await put(path.join(cwd, 'drawbridge.yaml'), `${aConfig()}polcy: {}\n`)
    await refusal

    expect(await descriptionsAt(server.url)).toEqual(['Version 1.'])
    expect(server.stderr()).toMatch(/drawbridge\.yaml:5:1 .*"polcy".*"policy"/)
  })

  test('on one mount changes nothing on the other mounts', async () => {
    const config = `sources:
  - definitions: ./tools/*.ts
  - { definitions: ./more/*.ts, mount: /mcp/more }
`
    const cwd = await aProject({
      ...files,
      'drawbridge.yaml': config,
      'more/pong.ts': moduleOfVersion(1),
    })
    const server = await startServing(['--watch'], { cwd })

    const refusal = nextRefusal(server)
    await put(path.join(cwd, 'more/pong.ts'), invalidModule)
    await put(path.join(cwd, 'tools/ping.ts'), moduleOfVersion(2))
    await refusal

    expect(await descriptionsAt(server.url)).toEqual(['Version 1.'])
    expect(await descriptionsAt(`${server.url}/more`)).toEqual(['Version 1.'])
  })
})

test('no call fails during repeated reloads, and none gets an older version than the call before', async () => {
  const cwd = await aProject(files)
  const server = await startServing(['--watch'], { cwd })
  const clients = [await aModernClient(server.url), await aClientOf2025(server.url)]
  let isOver = false
  const callLoops = clients.map(async (client) => {
    const answers: number[] = []
    while (!isOver) {
      const { content } = (await client.callTool({ name: 'ping', arguments: {} })) as {
        content: { text: string }[]
      }
      answers.push(Number(content[0]?.text))
    }
    return answers
  })

  for (let number = 2; number <= 9; number++) {
    const isInvalid = number % 4 === 0
    const reload = isInvalid ? nextRefusal(server) : nextReload(server)
    await put(path.join(cwd, 'tools/ping.ts'), isInvalid ? invalidModule : moduleOfVersion(number))
    await reload
  }
  isOver = true

  for (const answers of await Promise.all(callLoops)) {
    expect(answers).toEqual([...answers].sort((a, b) => a - b))
    expect(new Set(answers).size).toBeGreaterThan(3)
    expect(answers).not.toContain(Number.NaN)
  }
})

test('a token removed from the configuration is rejected, or a restart is reported as necessary', async () => {
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

  const reload = nextReload(server)
  await put(path.join(cwd, 'drawbridge.yaml'), aConfig(`http:\n  tokens:\n${bob}`))
  await reload

  const { status } = await post(server.url, aModernRequest('tools/list'), {
    authorization: 'Bearer of-ann',
  })
  expect(status === 401 || /restart/i.test(server.stderr())).toBe(true)
})

test('files that a tool writes beside its configuration cause no reload', async () => {
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
  // Longer than the watcher's debounce: the absence of a reload has no event to wait for.
  await aWhile(600)

  expect(await note()).toMatchObject({ content: [{ text: '2' }] })
  expect(server.stderr()).not.toContain('Reloaded')
})
