import { createHash } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineTool, definitionSource, type Source, z } from '../../src/index.ts'
import { aConfig, aProject, aSharedProject, aToolModule, put } from '../support/a-project.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { main, type Serving, startServing, toServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { startProcess } from '../support/start-process.ts'
import { aModernPost, answerOf, post } from '../support/wire.ts'

const moduleOfVersion = (number: number) =>
  aToolModule({ name: 'ping', description: `Version ${number}.`, body: `return ${number}` })
const files = { 'drawbridge.yaml': aConfig(), 'tools/ping.ts': moduleOfVersion(1) }
const invalidModule = 'export default {\n  name: ,\n}\n'

async function descriptionsAt(url: string): Promise<string[]> {
  const { result } = await answerOf(await post(url, aModernPost('tools/list')))
  return result.tools.map(({ description }: { description: string }) => description)
}

/** Resolves when the server has printed the text once more than at the time of the call. */
async function printedAgain(server: Serving, text: string): Promise<void> {
  const count = () => server.stderr().split(text).length
  const countBefore = count()
  await eventually(() => expect(count()).toBeGreaterThan(countBefore))
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

/** One server for the tests that edit `tools/ping.ts`; each edit is a new version. */
const sharedFolder = await aSharedProject(files)
let shared: { readonly cwd: string; readonly server: Serving; version: number }
beforeAll(async () => {
  const started = startProcess([main, 'serve', '--watch', '--port', '0'], { cwd: sharedFolder })
  shared = { cwd: sharedFolder, server: await toServing(started), version: 1 }
})
afterAll(async () => {
  shared?.server.process.kill('SIGKILL')
  await shared?.server.exited
})

const ping = () => path.join(shared.cwd, 'tools/ping.ts')
const nextVersion = () => moduleOfVersion(++shared.version)
const currentDescription = () => `Version ${shared.version}.`

describe('a valid edit', () => {
  test('is announced to clients of both eras over HTTP, which then see the new version', async () => {
    const { url } = shared.server
    const [modern, legacy] = [await aModernClient(url), await aClientOf2025(url)]
    await modern.listen({ toolsListChanged: true })
    const notifications = [nextModernNotification(modern), nextLegacyNotification(legacy)]

    await put(ping(), nextVersion())
    await Promise.all(notifications)

    const description = currentDescription()
    expect((await modern.listTools()).tools).toMatchObject([{ description }])
    expect((await legacy.listTools()).tools).toMatchObject([{ description }])
    expect(await modern.callTool({ name: 'ping', arguments: {} })).toMatchObject({
      content: [{ text: String(shared.version) }],
    })
  })

  test('is announced to clients of both eras over stdio', async () => {
    const cwd = await aProject(files)
    const command = {
      command: process.execPath,
      args: [main, 'serve', cwd, '--stdio', '--watch'],
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
    const { server } = shared
    const clients = [await aModernClient(server.url), await aClientOf2025(server.url)]
    const call = () =>
      Promise.all(clients.map((client) => client.callTool({ name: 'ping', arguments: {} })))
    const answer = (text: string) => clients.map(() => ({ content: [{ text }] }))
    const before = await call()

    const reload = nextReload(server)
    const description = currentDescription()
    await put(ping(), aToolModule({ name: 'ping', description, body: 'return "edited"' }))
    await reload

    expect(before).toMatchObject(answer(String(shared.version)))
    expect(await call()).toMatchObject(answer('edited'))
  })

  test('is detected when a file is added, and when one is removed', async () => {
    const { cwd, server } = shared
    const pong = path.join(cwd, 'tools/pong.ts')

    const added = nextReload(server)
    await put(pong, aToolModule({ name: 'pong', description: 'New.' }))
    await added
    const afterAdding = await descriptionsAt(server.url)
    const removed = nextReload(server)
    await rm(pong)
    await removed

    expect(afterAdding).toEqual([currentDescription(), 'New.'])
    expect(await descriptionsAt(server.url)).toEqual([currentDescription()])
  })

  test('is detected when a file is replaced by rename, as git and most editors do', async () => {
    const { cwd, server } = shared
    const [file, elsewhere] = [ping(), await aProject({})]
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
    const seen: string[][] = []
    const expected: string[][] = []

    for (const replace of replacements) {
      const reload = nextReload(server)
      replace(nextVersion())
      await reload
      seen.push(await descriptionsAt(server.url))
      expected.push([currentDescription()])
    }

    expect(seen).toEqual(expected)
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
    await server.waitForOutput(/began\s+began/)
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
    const { server } = shared
    const previous = await descriptionsAt(server.url)
    const outputBefore = server.stderr()

    const refusal = nextRefusal(server)
    await put(ping(), invalidModule)
    await refusal
    const afterInvalidEdit = await descriptionsAt(server.url)
    const output = server.stderr().slice(outputBefore.length)
    const reload = nextReload(server)
    await put(ping(), nextVersion())
    await reload

    expect(afterInvalidEdit).toEqual(previous)
    expect(output).toMatch(/tools\/ping\.ts/)
    expect(await descriptionsAt(server.url)).toEqual([currentDescription()])
  })

  test('of the configuration keeps the previous one, and reports the position', async () => {
    const { cwd, server } = shared
    const config = path.join(cwd, 'drawbridge.yaml')
    const previous = await descriptionsAt(server.url)

    const refusal = nextRefusal(server)
    await put(config, `${aConfig()}polcy: {}\n`)
    await refusal
    const afterInvalidEdit = await descriptionsAt(server.url)
    const reload = nextReload(server)
    await put(config, aConfig())
    await reload

    expect(afterInvalidEdit).toEqual(previous)
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
  const { server } = shared
  const start = nextReload(server)
  await put(ping(), nextVersion())
  await start
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

  for (const edit of ['valid', 'valid', 'invalid', 'valid', 'valid', 'valid', 'invalid', 'valid']) {
    const reload = edit === 'valid' ? nextReload(server) : nextRefusal(server)
    await put(ping(), edit === 'valid' ? nextVersion() : invalidModule)
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

  const { status } = await post(server.url, aModernPost('tools/list'), {
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
