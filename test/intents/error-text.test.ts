import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  AgentError,
  createDrawbridge,
  defineTool,
  definitionSource,
  intentSource,
  z,
} from '../../src/index.ts'
import type { IntentOptions } from '../../src/sources/intents/intent-options.ts'
import { canary } from '../fixtures/hostile/canary.ts'
import { aNatsServer, describeWithNats } from '../support/a-nats-server.ts'
import { aProject } from '../support/a-project.ts'
import { anAgent, neverSettle } from '../support/agents.ts'
import { clientKinds, openClient } from '../support/client-kinds.ts'
import { drawbridge, main, startServing } from '../support/run-cli.ts'

type Effects = 'read_only' | 'reversible' | 'irreversible'
const allEffects: readonly Effects[] = ['read_only', 'reversible', 'irreversible']

const leak = `connect ${canary}\n    at pay (/srv/agents/pay.ts:3:7)`
const details = { stack: leak, nested: { response: canary } }

/** An error of an HTTP library, with the request in its properties. */
const anErrorWithProperties = () =>
  Object.assign(new Error(leak), { config: { headers: { authorization: canary } } })

const aResponse = (code: string) => ({
  version: '1.0',
  status: 'error',
  payload: null,
  metadata: { agent: 'bank', traceId: '', timestamp: '' },
  error: { code, message: leak, retryable: false, details },
})

const breakdownCodes = [
  'AGENT_TIMEOUT',
  'PROTOCOL_ERROR',
  'TRANSPORT_ERROR',
  'INTERNAL_AGENT_ERROR',
  'EMCL_FAILURE',
  'NO_SUCH_CODE',
] as const

/** Ways in which an agent in this process fails by accident. */
const accidents: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw anErrorWithProperties()
  },
  rejects: () => Promise.reject(leak),
  'returns an error': anErrorWithProperties,
  'throws with an internal code': () => {
    throw new AgentError('INTERNAL_AGENT_ERROR', leak, { details })
  },
  'returns an internal response': () => aResponse('INTERNAL_AGENT_ERROR'),
  'returns an unknown code': () => aResponse('NO_SUCH_CODE'),
  'returns a value without JSON': () => ({ value: 1n, note: canary }),
}

/** Calls the intent and returns everything the caller gets, and the causes for the operator. */
async function callIntent(options: IntentOptions, effects: Effects) {
  const causes: string[] = []
  const bridge = createDrawbridge({
    sources: [intentSource(options)],
    onOperatorFailure: ({ failure }) => void causes.push(failure.cause ?? ''),
    onOperationalError: () => {},
  })
  onTestFinished(() => bridge.close(100))
  const result = await bridge.call('Do', {}, { idempotencyKey: `key-${effects}` })
  const repeated = await bridge.call('Do', {}, { idempotencyKey: `key-${effects}` })
  const [{ id = '' } = {}] = bridge.executions.list({ limit: 1 })
  const logged = JSON.stringify(bridge.executions.find(id))
  return { received: JSON.stringify([result, repeated]), result, causes: causes.join(), logged }
}

const anAgentFor = (effects: Effects, handle: () => unknown, name = 'bank') =>
  anAgent(name, { capability: { intent: 'Do', effects }, handle })

describe.each(allEffects)('an agent for %s effects', (effects) => {
  test.each(Object.entries(accidents))(
    'that %s gives the model no text of the error, and the operator all of it',
    async (_, handle) => {
      const agents = [anAgentFor(effects, handle)]

      const { received, result, causes, logged } = await callIntent({ agents }, effects)

      expect(received).not.toMatch(/canary|srv.agents/)
      expect(result.isError).toBe(true)
      expect(result._meta?.['dev.drawbridge/call-id']).toEqual(expect.any(String))
      if (handle !== accidents['returns a value without JSON']) {
        expect(causes).toContain(canary)
        expect(logged).toContain(canary)
      }
    },
  )

  test.each(breakdownCodes)('in another runtime gives the model no text of %s', async (code) => {
    for (const messageType of ['response', 'error']) {
      const response = aResponse(code)
      const body = messageType === 'error' ? response.error : response
      const url = await aPeer(200, { protocol: 'INTENTUSNET/1.0', messageType, body })
      const remote = [{ name: 'bank', url, capabilities: [{ intent: 'Do', effects }] }]

      const { received, logged } = await callIntent({ remote }, effects)

      expect(received).not.toMatch(/canary|srv.agents/)
      expect(logged).toContain(canary)
    }
  })

  test('gives no text of an HTTP error, of a fallback and of a timeout', async () => {
    const url = await aPeer(500, leak)
    const remote = [{ name: 'remote', url, capabilities: [{ intent: 'Do', effects }] }]
    const unavailable = () => {
      throw new AgentError('AGENT_UNAVAILABLE', 'Closed.', { details: { stack: leak } })
    }
    const agents = [
      anAgentFor(effects, unavailable, 'a'),
      anAgentFor(effects, neverSettle, 'b'),
      anAgentFor(effects, accidents.throws ?? neverSettle, 'c'),
    ]
    const options = { agents, remote, attemptTimeout: 50 }

    const { received } = await callIntent(options, effects)

    expect(received).not.toMatch(/canary|srv.agents/)
  })
})

test.each(['broadcast', 'parallel', 'race'] as const)(
  'the outcomes of %s contain no text of an error',
  async (strategy) => {
    const agents = Object.values(accidents).map((handle, index) =>
      anAgentFor('read_only', handle, `a${index}`),
    )
    const failed = await callIntent({ agents, strategy }, 'read_only')
    const fine = anAgentFor('read_only', () => ({ fine: true }), 'z')
    const done = await callIntent({ agents: [...agents, fine], strategy }, 'read_only')

    expect(failed.received).not.toMatch(/canary|srv.agents/)
    expect(done.received).not.toMatch(/canary|srv.agents/)
    expect(done.received).toContain('fine')
  },
)

test('a failure that the agent reports to the caller is passed on, without its stack', async () => {
  const handle = () => {
    throw new AgentError(
      'VALIDATION_ERROR',
      'Unknown product.\n    at look (/srv/agents/a.ts:1:2)',
      {
        details: { sku: 'unicorn', traceback: leak },
      },
    )
  }

  const { result, received } = await callIntent(
    { agents: [anAgentFor('irreversible', handle)] },
    'irreversible',
  )

  expect(result._meta?.['dev.drawbridge/failure']).toMatchObject({
    code: 'VALIDATION_ERROR',
    message: 'Unknown product.',
    details: { sku: 'unicorn' },
  })
  expect(received).not.toMatch(/canary|srv.agents/)
})

describeWithNats('over NATS', () => {
  test.each(allEffects)(
    'an agent for %s effects gives the model no text of an error',
    async (effects) => {
      const { url } = await aNatsServer()
      const connection = await connect({ servers: url })
      onTestFinished(() => connection.close())
      const body = aResponse('INTERNAL_AGENT_ERROR')
      const frame = { protocol: 'INTENTUSNET/1.0', messageType: 'response', body }
      connection.subscribe('intents.agent.bank', {
        callback: (_, message) => void message.respond(JSON.stringify(frame)),
      })
      await connection.flush()
      const remote = [{ name: 'bank', url, capabilities: [{ intent: 'Do', effects }] }]

      const { received, logged } = await callIntent({ remote }, effects)

      expect(received).not.toMatch(/canary|srv.agents/)
      expect(logged).toContain(canary)
    },
  )
})

test('no era and transport gives the client text of an error, and the operator finds it by the call id', async () => {
  const agents = `import { AgentError, defineAgent } from 'drawbridge-mcp'
const agent = (intent, effects, handle) =>
  defineAgent({ name: intent, capabilities: [{ intent, description: 'x', effects }], handle })
const leak = ${JSON.stringify(leak)}
export default [
  agent('Read', 'read_only', () => { throw new Error(leak) }),
  agent('Pay', 'irreversible', () => { throw new AgentError('INTERNAL_AGENT_ERROR', leak, { details: { leak } }) }),
]
`
  const folder = await aProject({
    'agents.ts': agents,
    'drawbridge.yaml': 'sources: [{ intents: ./agents.ts }]\n',
  })
  const server = await startServing([folder])
  const stdio = {
    command: process.execPath,
    args: [main, 'serve', folder, '--stdio'],
    cwd: folder,
    env: {},
  }
  let callId = ''

  for (const kind of clientKinds) {
    const client = await openClient(kind, {}, { url: server.url, stdio })
    const answers = [await client.call('Read', { kind }), await client.call('Pay', { kind })]
    await client.close()
    expect(answers.map(({ verdict }) => verdict)).toEqual([
      'INTERNAL_AGENT_ERROR',
      'outcome_unknown',
    ])
    expect(JSON.stringify(answers)).not.toMatch(/canary|srv.agents/)
    callId = String(answers[1]?.meta['call-id'])
  }

  expect(server.stderr()).toContain(canary)
  const shown = await drawbridge(['executions', 'show', callId, '--what', folder])
  expect(shown.stdout).toContain(`cause: connect ${canary}`)
})

test('a tool of definitions that returns an error tells the model nothing of it', async () => {
  const causes: string[] = []
  const aTool = (name: string, execute: () => unknown) =>
    defineTool({ name, description: 'x', category: 'read', schema: z.object({}), execute })
  const bridge = createDrawbridge({
    sources: [
      definitionSource([
        aTool('returned', anErrorWithProperties),
        aTool('nested', () => ({ results: [{ reason: anErrorWithProperties() }] })),
      ]),
    ],
    onOperatorFailure: ({ failure }) => void causes.push(failure.cause ?? ''),
  })

  const results = [await bridge.call('returned'), await bridge.call('nested')]

  expect(JSON.stringify(results)).not.toMatch(/canary|srv.agents/)
  expect(results[0]?.isError).toBe(true)
  expect(results[1]?.isError).toBe(true)
  expect(causes.join()).toContain(canary)
})

/** An HTTP server that always sends this answer. */
async function aPeer(status: number, body: unknown): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/intents`
}
