import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { aSharedProject } from '../support/a-project.ts'
import { repository } from '../support/spawn-server.ts'
import { startProcess } from '../support/start-process.ts'

/** A project with the packed package installed, and with a copy of Zod that is not the bundled one. */
const folder = await aSharedProject({
  'package.json': '{ "type": "module" }',
  'drawbridge.yaml': `sources:
  - definitions: ./tools.js
  - source: ./source.js
`,
  'tools.js': `import { defineTool } from 'drawbridge-mcp'
import { z } from 'zod'
export default defineTool({
  name: 'greet', description: 'Greets.', category: 'read',
  schema: z.object({ name: z.string().describe('Who is greeted.') }),
  execute: ({ name }) => \`Hello \${name}\`,
})`,
  'source.js': `import { defineAgent, intentSource, SetupError } from 'drawbridge-mcp'
if (!(new SetupError('') instanceof Error)) throw new Error('SetupError is not an error')
export default intentSource([defineAgent({
  name: 'clerk', capabilities: [{ intent: 'Quote', effects: 'read_only' }],
  handle: () => ({ cents: 4900 }),
})])`,
})
const installed = path.join(folder, 'node_modules/drawbridge-mcp')
const cacheFolder = path.join(installed, 'dist/bundle/.cache')

await mkdir(installed, { recursive: true })
const { stdout: archive } = await promisify(execFile)(
  'npm',
  ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder],
  { cwd: repository },
)
await promisify(execFile)('tar', [
  ...['-xzf', path.join(folder, archive.trim()), '-C', installed, '--strip-components=1'],
])
const { dependencies } = JSON.parse(await readFile(`${installed}/package.json`, 'utf8'))
for (const name of Object.keys(dependencies)) {
  const link = path.join(folder, 'node_modules', name)
  await mkdir(path.dirname(link), { recursive: true })
  await symlink(path.join(repository, 'node_modules', name), link)
}

async function run(...args: string[]) {
  const { process, exited, stdout, stderr } = startProcess(
    [path.join(installed, 'dist/cli/main.js'), ...args],
    { cwd: folder },
  )
  process.stdin.end()
  return { code: await exited, stdout: stdout(), stderr: stderr() }
}

test('the packed program serves the modules of a project, which import it and their own Zod', async () => {
  const call = await run('call', 'greet', '{"name":"Ada"}')
  const list = await run('list', '--tools')

  expect(call).toEqual({ code: 0, stdout: 'Hello Ada\n', stderr: '' })
  expect(list.stderr).toBe('')
  expect(list.stdout).toContain('Who is greeted.')
  expect(list.stdout).toContain('"Quote"')
})

test('the packed library runs in a program', async () => {
  const { process, exited, stdout, stderr } = startProcess(
    [
      '--input-type=module',
      '-e',
      `import { createDrawbridge, definitionSource, manifestSource, recordSource, serviceSource } from 'drawbridge-mcp'
import tool from './tools.js'
const bridge = createDrawbridge({ sources: [definitionSource([tool]), serviceSource({ serviceName: 'x' })] })
console.log((await bridge.call('greet', { name: 'Ada' })).content[0].text)
console.log(typeof manifestSource('./agent.yaml').read, recordSource('./none.db').mount)
await bridge.close()`,
    ],
    { cwd: folder },
  )
  process.stdin.end()

  expect(await exited, stderr()).toBe(0)
  expect(stdout()).toBe('Hello Ada\nfunction /mcp\n')
})

test('a damaged, foreign or missing code cache changes nothing but the time of a start', async () => {
  const intact = await run('list')
  const caches = (await readdir(cacheFolder)).filter((name) => name.includes('.list.'))
  expect(caches).not.toEqual([])
  for (const name of caches) {
    const file = path.join(cacheFolder, name)
    const content = await readFile(file)
    content.fill(0xff, content.length >> 1, (content.length >> 1) + 4096)
    await writeFile(file, content)
  }
  const damaged = await run('list')
  // A file instead of the folder: the cache can be neither read nor written.
  await rm(cacheFolder, { recursive: true })
  await writeFile(cacheFolder, '')
  const unwritable = await run('list')
  await rm(cacheFolder)

  expect(intact).toMatchObject({ code: 0, stderr: '' })
  expect(damaged).toEqual(intact)
  expect(unwritable).toEqual(intact)
})
