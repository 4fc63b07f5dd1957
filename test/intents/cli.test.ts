import { cp } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { aProject, put } from '../support/a-project.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { repository, spawnStdio } from '../support/spawn-server.ts'

/** A copy of the example: what it remembers goes with the test. */
async function theExample(): Promise<string> {
  const folder = await aProject({})
  await cp(path.join(repository, 'examples/intents'), folder, { recursive: true })
  return folder
}

const toRequest = (id: number, method: string, params: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

const run = async (folder: string, ...words: readonly string[]) => {
  const { code, stdout, stderr } = await drawbridge([...words], { cwd: folder })
  return { code, stdout, stderr }
}

test('the example falls back, and the log explains it', async () => {
  const folder = await theExample()

  const called = await run(folder, 'call', '.', 'quote_price', '{"sku":"lamp"}')
  const listed = JSON.parse((await run(folder, 'executions', '--json')).stdout)
  const shown = await run(folder, 'executions', 'show', listed[0].id)
  const rerun = await run(folder, 'executions', 'rerun', listed[0].id, '--json')
  const verified = await run(folder, 'executions', '--verify')

  expect(JSON.parse(called.stdout)).toEqual({ sku: 'lamp', cents: 4900, from: 'the list' })
  expect(listed).toMatchObject([{ intent: 'quote_price', state: 'done', caller: 'local' }])
  expect(shown.stdout).toMatch(/market +asked: AGENT_UNAVAILABLE .*The market is closed/)
  expect(shown.stdout).toMatch(/clerk +asked: ok/)
  expect(shown.stdout).toMatch(/warehouse +not asked: the execution had already ended/)
  expect(JSON.parse(rerun.stdout)).toMatchObject({ former: listed[0].id, differences: [] })
  expect(rerun.code).toBe(0)
  expect(verified.stdout).toMatch(/events, all intact/)
})

test('what is sealed with a key that is gone is not run again as it stands', async () => {
  const agents = `import { defineAgent } from 'drawbridge-mcp'
export default defineAgent({
  name: 'a',
  capabilities: [{ intent: 'Look', description: 'Looks.', effects: 'read_only' }],
  handle: ({ payload }) => ({ got: payload }),
})
`
  const config = (keys: string) => `sources:\n  - intents: { agents: ./agents.ts, ${keys} }\n`
  const key = (letter: string) => letter.repeat(32)
  const sealing = config(`keys: { k1: ${key('k')} }, logKey: k1`)
  const folder = await aProject({ 'agents.ts': agents, 'drawbridge.yaml': sealing })
  await run(folder, 'call', '.', 'Look', '{"secret":1}')
  const [{ id }] = JSON.parse((await run(folder, 'executions', '--json')).stdout)
  await put(path.join(folder, 'drawbridge.yaml'), config('keys: {}'))

  const rerun = await run(folder, 'executions', 'rerun', id)
  const limited = await run(folder, 'executions', '--limit', 'many')

  expect([rerun.code, rerun.stderr]).toEqual([1, expect.stringContaining('is sealed with a key')])
  expect([limited.code, limited.stderr]).toEqual([2, expect.stringContaining('--limit')])
})

test('what takes effect is not run again by mistake', async () => {
  const folder = await theExample()
  await run(folder, 'call', '.', 'place_order', '{"sku":"desk"}')
  const [{ id }] = JSON.parse((await run(folder, 'executions', '--json')).stdout)

  const refused = await run(folder, 'executions', 'rerun', id)
  const meant = await run(folder, 'executions', 'rerun', id, '--again')
  const resumed = await run(folder, 'executions', 'resume', id)

  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--again')])
  // Governance still stands in between: the same call a moment ago looks like a mistake.
  expect([meant.code, meant.stderr]).toEqual([
    1,
    expect.stringContaining('The call was not routed'),
  ])
  expect([resumed.code, resumed.stderr]).toEqual([
    1,
    expect.stringContaining('there is nothing to resume'),
  ])
})

test('the other process of the example is asked when nobody here can', async () => {
  const folder = await theExample()
  const { url } = await startServing([path.join(folder, 'warehouse')])
  const frame = {
    protocol: 'INTENTUSNET/1.0',
    messageType: 'intent',
    body: {
      version: '1.0',
      intent: { name: 'quote_price', version: '1.0' },
      payload: { sku: 'lamp' },
      context: { sourceAgent: 'client', timestamp: '2026-01-01T00:00:00+00:00' },
      metadata: { requestId: 'r1', source: 'client', createdAt: '', traceId: 't1' },
    },
  }

  const response = await fetch(url.replace(/\/mcp$/, '/intents'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(frame),
  })

  expect(await response.json()).toMatchObject({
    protocol: 'INTENTUSNET/1.0',
    messageType: 'response',
    body: { status: 'success', payload: { cents: 4500 }, metadata: { traceId: 't1' } },
  })
})

test('over stdio, notifications between calls stop nothing', async () => {
  const server = spawnStdio(await theExample())
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  await server.request(toRequest(1, 'initialize', params))
  await server.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const call = { name: 'quote_price', arguments: { sku: 'chair' } }
  const first = await server.request(toRequest(2, 'tools/call', call))
  await server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } })
  const again = await server.request(toRequest(3, 'tools/call', call))
  await server.stop()

  for (const { result } of [first, again])
    expect(result?.structuredContent).toEqual({ sku: 'chair', cents: 12900, from: 'the list' })
})

test('what is written wrongly in the configuration is named with its place', async () => {
  const folder = await aProject({
    'agents.ts': 'export default []',
    'drawbridge.yaml': [
      'sources:',
      '  - intents:',
      '      agents: ./agents.ts',
      '      strategie: fallback',
      '      remote:',
      '        - { name: x, url: nonsense, capabilities: [{ intent: A }] }',
    ].join('\n'),
  })

  const { code, stderr } = await run(folder, 'check', '.')

  expect(code).toBe(2)
  expect(stderr).toMatch(/drawbridge\.yaml:4:7 unknown key "strategie".*Did you mean "strategy"/)
  expect(stderr).toMatch(/drawbridge\.yaml:6:\d+ \/sources\/0\/intents\/remote\/0\/url/)
})

test('a module without agents is an error that names it', async () => {
  const folder = await aProject({
    'agents.ts': 'export const x = 1',
    'drawbridge.yaml': 'sources:\n  - intents: ./agents.ts\n',
  })

  const { code, stdout } = await run(folder, 'check', '.')

  expect(code).toBe(1)
  expect(stdout).toMatch(/module_empty: agents\.ts exports no agent/)
})
