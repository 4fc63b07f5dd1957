import { cp } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { aProject, put } from '../support/a-project.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { repository, spawnStdio } from '../support/spawn-server.ts'

/** Copies the example, so that its store is removed with the test. */
async function copyExample(): Promise<string> {
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

const run = async (folder: string, ...args: readonly string[]) => {
  const { code, stdout, stderr } = await drawbridge([...args], { cwd: folder })
  return { code, stdout, stderr }
}

test('the example falls back to another agent, and the execution log shows why', async () => {
  const folder = await copyExample()

  const callOutput = await run(folder, 'call', '.', 'quote_price', '{"sku":"lamp"}')
  const executions = JSON.parse((await run(folder, 'executions', '--json')).stdout)
  const showOutput = await run(folder, 'executions', 'show', executions[0].id)
  const rerun = await run(folder, 'executions', 'rerun', executions[0].id, '--json')
  const verifyOutput = await run(folder, 'executions', '--verify')

  expect(JSON.parse(callOutput.stdout)).toEqual({ sku: 'lamp', cents: 4900, from: 'the list' })
  expect(executions).toMatchObject([{ intent: 'quote_price', state: 'done', caller: 'local' }])
  expect(showOutput.stdout).toMatch(/market +asked: AGENT_UNAVAILABLE .*The market is closed/)
  expect(showOutput.stdout).toMatch(/clerk +asked: ok/)
  expect(showOutput.stdout).toMatch(/warehouse +not asked: the execution had already ended/)
  expect(JSON.parse(rerun.stdout)).toMatchObject({ former: executions[0].id, differences: [] })
  expect(rerun.code).toBe(0)
  expect(verifyOutput.stdout).toMatch(/events, all intact/)
})

test('an execution sealed with a missing key cannot be rerun', async () => {
  const agents = `import { defineAgent } from 'drawbridge-mcp'
export default defineAgent({
  name: 'a',
  capabilities: [{ intent: 'Look', description: 'Looks.', effects: 'read_only' }],
  handle: ({ payload }) => ({ got: payload }),
})
`
  const config = (keys: string) => `sources:\n  - intents: { agents: ./agents.ts, ${keys} }\n`
  const key = (letter: string) => letter.repeat(32)
  const sealedConfig = config(`keys: { k1: ${key('k')} }, logKey: k1`)
  const folder = await aProject({ 'agents.ts': agents, 'drawbridge.yaml': sealedConfig })
  await run(folder, 'call', '.', 'Look', '{"secret":1}')
  const [{ id }] = JSON.parse((await run(folder, 'executions', '--json')).stdout)
  await put(path.join(folder, 'drawbridge.yaml'), config('keys: {}'))

  const rerun = await run(folder, 'executions', 'rerun', id)
  const limitOutput = await run(folder, 'executions', '--limit', 'many')

  expect([rerun.code, rerun.stderr]).toEqual([1, expect.stringContaining('is sealed with a key')])
  expect([limitOutput.code, limitOutput.stderr]).toEqual([2, expect.stringContaining('--limit')])
})

test('an execution with side effects needs --again to be rerun', async () => {
  const folder = await copyExample()
  await run(folder, 'call', '.', 'place_order', '{"sku":"desk"}')
  const [{ id }] = JSON.parse((await run(folder, 'executions', '--json')).stdout)

  const plainRerun = await run(folder, 'executions', 'rerun', id)
  const forcedRerun = await run(folder, 'executions', 'rerun', id, '--again')
  const resumeOutput = await run(folder, 'executions', 'resume', id)

  expect([plainRerun.code, plainRerun.stderr]).toEqual([1, expect.stringContaining('--again')])
  // Governance still applies: an identical call moments ago counts as a duplicate.
  expect([forcedRerun.code, forcedRerun.stderr]).toEqual([
    1,
    expect.stringContaining('The call was not routed'),
  ])
  expect([resumeOutput.code, resumeOutput.stderr]).toEqual([
    1,
    expect.stringContaining('there is nothing to resume'),
  ])
})

test('the second process of the example serves intents over HTTP frames', async () => {
  const folder = await copyExample()
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

test('notifications between stdio calls do not interrupt them', async () => {
  const server = spawnStdio(await copyExample())
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
  const second = await server.request(toRequest(3, 'tools/call', call))
  await server.stop()

  for (const { result } of [first, second])
    expect(result?.structuredContent).toEqual({ sku: 'chair', cents: 12900, from: 'the list' })
})

test('configuration mistakes are reported with file and line', async () => {
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

test('a module without agents is reported as an error', async () => {
  const folder = await aProject({
    'agents.ts': 'export const x = 1',
    'drawbridge.yaml': 'sources:\n  - intents: ./agents.ts\n',
  })

  const { code, stdout } = await run(folder, 'check', '.')

  expect(code).toBe(1)
  expect(stdout).toMatch(/module_empty: agents\.ts exports no agent/)
})
