import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { aModernClient } from '../support/official-clients.ts'
import { repository, spawnServer } from '../support/spawn-server.ts'

/** The example writes its stores beside its configuration: a copy keeps the repository clean. */
async function aCopyOfTheExamples(): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-all-five-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await cp(path.join(repository, 'examples'), path.join(root, 'examples'), {
    recursive: true,
    filter: (file) => !file.includes('.db'),
  })
  for (const name of ['dist', 'node_modules', 'package.json'])
    await symlink(path.join(repository, name), path.join(root, name))
  return path.join(root, 'examples')
}

test('one server serves four kinds of source on one mount, and records on a mount of their own', async () => {
  const examples = await aCopyOfTheExamples()
  const setup = path.join(examples, 'records/setup.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [setup])
  const server = await spawnServer(path.join(examples, 'all-five'))
  onTestFinished(async () => void (await server.stop()))

  const sharedMount = await aModernClient(server.url)
  const recordsMount = await aModernClient(`${server.url}/records`, {
    authorization: `Bearer ${JSON.parse(stdout).token}`,
  })
  const sharedTools = (await sharedMount.listTools()).tools.map(({ name }) => name)
  const recordTools = (await recordsMount.listTools()).tools.map(({ name }) => name)

  const onePerSource = ['look_up_order', 'convert_units', 'quote_price', 'add_room']
  expect(sharedTools).toEqual(expect.arrayContaining(onePerSource))
  expect(sharedTools.filter((name) => recordTools.includes(name))).toEqual([])
  // One naming style, so that no two tools differ only in case or punctuation.
  expect(sharedTools.filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([])
  expect(recordTools.sort()).toEqual(['aggregate', 'fetch', 'query_records', 'schema', 'search'])
  const { content } = await recordsMount.callTool({ name: 'search', arguments: { q: 'alaska' } })
  expect(JSON.stringify(content)).toContain('Alaska')
})
