import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, onTestFinished, test } from 'vitest'
import { main } from '../support/run-cli.ts'

/** Keeps the folder depth of the repository, so that relative paths in the example resolve. */
async function aCopyOfTheExample(): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-example-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await cp(path.resolve('examples/records'), path.join(root, 'examples/records'), {
    recursive: true,
    filter: (file) => !file.includes('.db'),
  })
  await symlink(path.resolve('dist'), path.join(root, 'dist'))
  return path.join(root, 'examples/records')
}

test('the records example imports data, grants it, and answers a client that reads only text', async () => {
  const folder = await aCopyOfTheExample()
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(folder, 'setup.mjs')])
  const client = new Client({ name: 'text only', version: '1.0.0' })
  onTestFinished(() => client.close())
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [main, 'serve', folder, '--stdio'],
      env: { PATH: process.env.PATH ?? '', DRAWBRIDGE_TOKEN: JSON.parse(stdout).token },
      stderr: 'ignore',
    }),
  )
  const read = async (name: string, input: Record<string, unknown> = {}): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: input })
    return (content as { text: string }[]).map(({ text }) => text).join('\n')
  }

  const index = await read('schema')
  const [, connection_id = ''] = /connector_key usgs: connection_id (\S+)/.exec(index) ?? []
  const scoped = await read('schema', { stream: 'earthquakes', connection_id })
  const biggest = await read('aggregate', {
    stream: 'earthquakes',
    connection_id,
    metric: 'max',
    field: 'magnitude',
  })
  const [, magnitude] = / = ([\d.]+)\./.exec(biggest) ?? []
  const page = await read('query_records', {
    stream: 'earthquakes',
    connection_id,
    filter: { magnitude: Number(magnitude) },
  })
  const hits = await read('search', { q: 'alaska', limit: 5 })
  const [, id = ''] = /^id "([^"]+)"/m.exec(hits) ?? []
  const document = JSON.parse(await read('fetch', { id }))
  const rain = await read('aggregate', {
    stream: 'weather',
    connection_id: 'seattle',
    metric: 'count',
    group_by: 'weather',
  })

  expect(scoped).toContain('max magnitude')
  expect(scoped).not.toContain('depth')
  expect(JSON.parse(page.split('\n')[1] ?? '').data).toMatchObject({ magnitude: Number(magnitude) })
  expect(document).toMatchObject({
    id,
    title: expect.stringMatching(/alaska/i),
    url: expect.stringContaining('https://earthquake.usgs.gov'),
  })
  expect(rain).toContain('214 records')
})
