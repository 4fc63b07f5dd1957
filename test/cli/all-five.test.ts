import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { aModernClient } from '../support/official-clients.ts'
import { repository, spawnServer } from '../support/spawn-server.ts'

/** A copy, so that what it writes stays out of the repository. */
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

test('one server offers four kinds of source together, and records alone on their mount', async () => {
  const examples = await aCopyOfTheExamples()
  const setup = path.join(examples, 'records/setup.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [setup])
  const server = await spawnServer(path.join(examples, 'all-five'))
  onTestFinished(async () => void (await server.stop()))

  const everything = await aModernClient(server.url)
  const reader = await aModernClient(`${server.url}/records`, {
    authorization: `Bearer ${JSON.parse(stdout).token}`,
  })
  const offered = (await everything.listTools()).tools.map(({ name }) => name)
  const five = (await reader.listTools()).tools.map(({ name }) => name)

  const oneOfEach = ['look_up_order', 'convert_units', 'quote_price', 'add_room']
  expect(offered).toEqual(expect.arrayContaining(oneOfEach))
  expect(offered.filter((name) => five.includes(name))).toEqual([])
  // One naming style, so that no two tools differ only in case or punctuation.
  expect(offered.filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([])
  expect(five.sort()).toEqual(['aggregate', 'fetch', 'query_records', 'schema', 'search'])
  const { content } = await reader.callTool({ name: 'search', arguments: { q: 'alaska' } })
  expect(JSON.stringify(content)).toContain('Alaska')
})
