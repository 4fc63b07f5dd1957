import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, onTestFinished, test } from 'vitest'
import { put } from '../support/a-project.ts'
import { aReader, aRecordStore, bytes, messages, someMessages } from '../support/a-record-store.ts'
import { aClientOf2025 } from '../support/official-clients.ts'
import { drawbridge, main } from '../support/run-cli.ts'

const toolNames = ['aggregate', 'fetch', 'query_records', 'schema', 'search']
/** Names of developer, event and control tools that must never be part of the surface. */
const excludedNames = /list_streams|fetch_blob|subscri|event|webhook|full|admin|owner|introspect/i

async function aServedStore() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(5))
  const { token, id } = store.grant({ stream: 'messages' })
  return { store, token, id, reader: await aReader(store, token) }
}

test('exactly five tools are served in both protocol eras [R8, R9, R12, R13]', async () => {
  const { reader, token } = await aServedStore()
  const legacyClient = await aClientOf2025(reader.url, { authorization: `Bearer ${token}` })

  const modern = await reader.client.listTools()
  const legacy = await legacyClient.listTools()

  expect(modern.tools.map(({ name }) => name).sort()).toEqual(toolNames)
  expect(legacy.tools.map(({ name }) => name).sort()).toEqual(toolNames)
})

test('every tool takes an optional connection_id, and none accepts the old alias [R10, R11, R14, R15]', async () => {
  const { reader } = await aServedStore()

  const { tools } = await reader.client.listTools()

  for (const { inputSchema, name } of tools) {
    expect(inputSchema.properties, name).toHaveProperty('connection_id')
    expect(inputSchema.required ?? [], name).not.toContain('connection_id')
  }
  expect(JSON.stringify(tools)).not.toContain('connector_instance_id')
  const rejection = await reader.call('query_records', {
    stream: 'messages',
    connector_instance_id: 'work',
  })
  expect(rejection.failure?.code).toBe('invalid_input')
})

test('the tool list stays within 8 KB and has no developer, event or control tools [R22, R23, R24, R25, R26]', async () => {
  const { reader } = await aServedStore()

  const { tools } = await reader.client.listTools()

  expect(bytes({ tools })).toBeLessThanOrEqual(8192)
  expect(tools.map(({ name }) => name).sort()).toEqual(toolNames)
  expect(tools.filter(({ name }) => excludedNames.test(name))).toEqual([])
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
})

test('descriptions and instructions reveal nothing about the store and name no profile [R2, R3]', async () => {
  const { reader } = await aServedStore()

  const { tools } = await reader.client.listTools()
  const descriptions = JSON.stringify([tools, reader.client.getInstructions()])

  expect(descriptions).not.toMatch(/profile|toolset|\bcore\b|\bevents\b|developer/i)
  expect(descriptions).not.toContain('messages')
  expect(reader.client.getInstructions()?.slice(0, 512)).toMatch(
    /schema.*connection_id.*filter.*next_cursor/s,
  )
})

test('setup needs one connect command and a token in the environment [R1, R4, R5]', async () => {
  const { store } = await aServedStore()
  const folder = path.dirname(store.file)
  await put(path.join(folder, 'records.yaml'), 'name: mine\nsources:\n  - records: ./personal.db\n')

  const { code, stdout, stderr } = await drawbridge(['connect', 'claude-desktop', 'records.yaml'], {
    cwd: folder,
  })

  expect(code).toBe(0)
  const { mine } = JSON.parse(stdout).mcpServers
  expect(mine.args).toEqual([
    expect.any(String),
    'serve',
    path.join(folder, 'records.yaml'),
    '--stdio',
  ])
  expect(Object.keys(mine.env)).toEqual(['DRAWBRIDGE_TOKEN'])
  expect(stderr).toContain('drawbridge grants create')
  expect(`${stdout}${stderr}`).not.toMatch(/profile|toolset|owner|subscri|full/i)
})

test('no command help offers a flag or variable that selects a profile [R6]', async () => {
  const commands = ['serve', 'connect', 'records', 'grants', 'call', 'list']

  const helpOutputs = await Promise.all(commands.map((command) => drawbridge([command, '--help'])))

  for (const { stdout } of helpOutputs)
    expect(stdout).not.toMatch(/profile|toolset|--mode|--full\b|--core/i)
})

test('stdio serves the same tools as HTTP under the same grant [R7]', async () => {
  const { store, token, id, reader } = await aServedStore()
  const folder = path.dirname(store.file)
  await put(
    path.join(folder, 'drawbridge.yaml'),
    'sources:\n  - records: ./personal.db\n    mount: /mcp/records\n',
  )
  const client = new Client({ name: 'test', version: '1.0.0' })
  onTestFinished(() => client.close())

  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [main, 'serve', folder, '--stdio'],
      env: { PATH: process.env.PATH ?? '', DRAWBRIDGE_TOKEN: token },
      stderr: 'ignore',
    }),
  )

  const strip = ({ tools }: { tools: { _meta?: unknown }[] }) =>
    tools.map(({ _meta, ...tool }) => tool)
  expect(strip(await client.listTools())).toEqual(strip(await reader.client.listTools()))
  const result = await client.callTool({ name: 'query_records', arguments: { stream: 'messages' } })
  expect(result.structuredContent).toEqual(
    (await reader.call('query_records', { stream: 'messages' })).data,
  )
  // The tool list does not depend on the grant; each call reports the revocation.
  store.writer.revoke(id, Date.now())
  expect((await client.listTools()).tools).toHaveLength(5)
  for (const { name } of (await client.listTools()).tools)
    await expect(
      client.callTool({ name, arguments: requiredArguments[name] ?? {} }),
    ).rejects.toThrow(/was revoked.*drawbridge grants create/)
})

/** The required arguments of each tool. */
const requiredArguments: Readonly<Record<string, Record<string, string>>> = {
  query_records: { stream: 'messages' },
  aggregate: { stream: 'messages', metric: 'count' },
  search: { q: 'invoice' },
  fetch: { id: 'messages:m1' },
}
