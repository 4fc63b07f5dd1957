import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type AgentDefinition, AgentError, intentSource } from '../../src/index.ts'
import type { IntentOptions } from '../../src/sources/intents/intent-source.ts'
import { aNatsServer, describeWithNats } from '../support/a-nats-server.ts'
import { aProject } from '../support/a-project.ts'
import { anAgent, anEnvelope, aPayer, never } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { drawbridge } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { tokenOf, toTokenEntry } from '../support/tokens.ts'

const failure = 'dev.drawbridge/failure'
const route = 'dev.drawbridge/route'
const keys = { k1: 'k'.repeat(32), k2: 'q'.repeat(32) }
const k1 = { key: 'k1' }

type Rest = Omit<Parameters<typeof serveHere>[0], 'sources'>

const serve = async (options: IntentOptions, rest: Rest = {}) =>
  (await serveHere({ sources: [intentSource(options)], ...rest })).bridge

/** A node that is asked over NATS. */
const aNode = (
  url: string,
  agents: readonly AgentDefinition[],
  { seal, node = 'bank', heartbeat = 100, ...rest }: NodeParts = {},
) => serve({ agents, node, keys, serve: { nats: { url, heartbeat }, ...(seal && { seal }) } }, rest)

interface NodeParts extends Rest {
  readonly node?: string
  readonly heartbeat?: number
  readonly seal?: { readonly key: string; readonly format?: 'v1' | 'v2' }
}

const look = { intent: 'Look', description: 'Looks.', effects: 'read_only' as const }
const pay = { intent: 'Pay', description: 'Pays.', effects: 'irreversible' as const }

/** A router that asks the agent `bank` there. */
const aRouterTo = (url: string, rest: object = {}, around: IntentOptions = {}) =>
  serve({
    remote: [{ name: 'bank', url, capabilities: [look, pay], ...rest }],
    node: 'shop',
    keys,
    attemptTimeout: 500,
    ...around,
  })

async function aConnection(url: string): Promise<NatsConnection> {
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  return connection
}

/** Somebody on the subject of the agent who answers as they like. */
async function anImpostor(url: string, answer: (message: Msg) => void): Promise<NatsConnection> {
  const connection = await aConnection(url)
  connection.subscribe('intents.agent.bank', {
    callback: (_, message) => answer(message),
  })
  await connection.flush()
  return connection
}

const toFrame = (body: unknown, messageType = 'response') =>
  JSON.stringify({ protocol: 'INTENTUSNET/1.0', messageType, body })

describeWithNats('agents over NATS', () => {
  test('an agent elsewhere is asked by its name, and answers; which replica did is in the log', async () => {
    const { url } = await aNatsServer()
    const seen: unknown[] = []
    await aNode(url, [
      anAgent('teller', {
        handle: ({ metadata }) => {
          seen.push(metadata)
          return { balance: 7 }
        },
      }),
    ])
    const near = await aRouterTo(url)
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

    const result = await near.call('Look', { of: 'ann' }, { meta: { traceparent } })

    expect(result.structuredContent).toEqual({ balance: 7 })
    expect(result._meta?.[route]).toMatchObject({ agent: 'bank' })
    expect(seen).toMatchObject([
      {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        identityChain: ['caller:local', 'proxy:shop:bank', 'caller:local'],
      },
    ])
    const [{ id } = { id: '' }] = near.executions.list({ limit: 1 })
    const answered = near.executions.find(id)?.events.find(({ event }) => event === 'answered')
    expect(answered).toMatchObject({ agent: 'bank', instance: expect.stringMatching(/^\w{16}$/) })
  })

  test('answers and failures are the same as over any other way', async () => {
    const { url } = await aNatsServer()
    const agent = anAgent('teller', {
      handle: ({ payload }) => {
        if (payload.fail !== undefined)
          throw new AgentError('AGENT_ERROR', 'No.', { details: { why: payload.fail } })
        return { echo: payload }
      },
    })
    await aNode(url, [agent])
    const [near, local] = [await aRouterTo(url), await serve({ agents: [agent] })]

    for (const input of [{ a: [1, { b: null }] }, { fail: 'so' }]) {
      const [here, there] = [await local.call('Look', input), await near.call('Look', input)]
      expect(there.content).toEqual(here.content)
      expect(there.structuredContent).toEqual(here.structuredContent)
      expect(there.isError).toBe(here.isError)
    }
  })

  test('replicas share the work, and nothing is done twice', async () => {
    const { url } = await aNatsServer()
    const done = [0, 0]
    for (const index of [0, 1])
      await aNode(url, [
        anAgent('teller', {
          handle: () => {
            done[index] = (done[index] ?? 0) + 1
          },
        }),
      ])
    const near = await aRouterTo(url)

    await Promise.all(Array.from({ length: 100 }, () => near.call('Look')))

    expect((done[0] ?? 0) + (done[1] ?? 0)).toBe(100)
    expect(Math.min(...done)).toBeGreaterThan(10)
  })

  test('nobody there: said at once, surely not executed, so the next one is asked', async () => {
    const { url } = await aNatsServer()
    const near = await serve({
      remote: [
        { name: 'bank', url, capabilities: [pay] },
        { name: 'other', url, capabilities: [pay] },
      ],
    })
    await near.call('Pay', { order: 0 })
    const began = performance.now()

    const result = await near.call('Pay', { order: 1 })

    expect(performance.now() - began).toBeLessThan(atMost(50))
    expect(result._meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
    expect(result._meta?.[route]).toMatchObject({
      tried: [
        { agent: 'bank', outcome: 'AGENT_UNAVAILABLE', certainty: 'nothing' },
        { agent: 'other', outcome: 'AGENT_UNAVAILABLE', certainty: 'nothing' },
      ],
    })
  })

  test('no server: said at once, and the server is used when it is there', async () => {
    const server = await aNatsServer()
    await server.stop()
    const near = await aRouterTo(server.url)
    const began = performance.now()

    const refused = await near.call('Pay', { order: 1 })
    const took = performance.now() - began
    await server.start()
    await aNode(server.url, [aPayer('teller')])

    expect(took).toBeLessThan(atMost(400))
    expect(refused._meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
    expect((await near.call('Pay', { order: 2 })).structuredContent).toEqual({ from: 'teller' })
  })

  test('no answer by the deadline: unknown, nobody else is asked, and the agent hears of it', async () => {
    const { url } = await aNatsServer()
    const stopped = vi.fn()
    const handle: AgentDefinition['handle'] = (_, { signal }) => {
      signal.addEventListener('abort', stopped)
      return never()
    }
    await aNode(url, [aPayer('teller', { handle })])
    const near = await serve({
      remote: [
        { name: 'bank', url, capabilities: [pay] },
        { name: 'other', url, node: 'bank', capabilities: [pay] },
      ],
      attemptTimeout: 200,
    })

    const result = await near.call('Pay', { order: 1 })

    expect(result._meta?.[failure]).toMatchObject({
      code: 'outcome_unknown',
      details: { code: 'AGENT_TIMEOUT' },
    })
    expect(result._meta?.[route]).toMatchObject({ tried: [{ agent: 'bank' }] })
    await eventually(() => expect(stopped).toHaveBeenCalledOnce())
  })

  test('a caller who leaves stops the agent at the other end', async () => {
    const { url } = await aNatsServer()
    const [began, stopped] = [vi.fn(), vi.fn()]
    const handle: AgentDefinition['handle'] = (_, { signal }) => {
      began()
      signal.addEventListener('abort', stopped)
      return never()
    }
    await aNode(url, [anAgent('teller', { handle })])
    const near = await aRouterTo(url, {}, { attemptTimeout: 5000 })
    const leaving = new AbortController()

    const call = near.call('Look', {}, { signal: leaving.signal })
    await eventually(() => expect(began).toHaveBeenCalled())
    leaving.abort()

    expect((await call).isError).toBe(true)
    await eventually(() => expect(stopped).toHaveBeenCalledOnce())
  })

  test('the same request, sent again, takes effect once', async () => {
    const { url } = await aNatsServer()
    let paid = 0
    await aNode(url, [aPayer('teller', { handle: () => ({ paid: ++paid }) })])
    const connection = await aConnection(url)
    const frame = toFrame(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }), 'intent')

    const answers = []
    for (let count = 0; count < 3; count++)
      answers.push((await connection.request('intents.agent.bank', frame)).json())

    expect(paid).toBe(1)
    expect(answers).toMatchObject(Array(3).fill({ body: { payload: { paid: 1 } } }))
  })

  test('who asks must show a token where tokens are configured', async () => {
    const { url } = await aNatsServer()
    const entry = toTokenEntry({ subject: 'shop', scopes: [] })
    const seen: unknown[] = []
    const handle: AgentDefinition['handle'] = ({ metadata }) => void seen.push(metadata)
    await aNode(url, [anAgent('teller', { handle })], { http: { tokens: [entry] } })
    const [stranger, known] = [
      await aRouterTo(url),
      await aRouterTo(url, { token: tokenOf('shop') }),
    ]

    expect((await stranger.call('Look'))._meta?.[failure]).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('whoever runs the server must configure'),
    })
    expect((await known.call('Look')).isError).toBeUndefined()
    expect(seen).toMatchObject([
      { identityChain: ['caller:local', 'proxy:shop:bank', 'caller:shop'] },
    ])
  })

  test('the server is shown user and password, and what it forbids is not executed', async () => {
    const config = await aProject({
      'nats.conf': `authorization {
        users: [
          { user: ann, password: secret }
          { user: bob, password: secret, permissions: { publish: ["_INBOX.>", "elsewhere.>"] } }
        ]
      }`,
    })
    const { url } = await aNatsServer('-c', `${config}/nats.conf`)
    const access = { user: 'ann', password: 'secret' }
    await serve({
      agents: [aPayer('teller')],
      node: 'bank',
      serve: { nats: { url, access } },
    })
    const near = await aRouterTo(url, { access })
    const forbidden = await aRouterTo(url, { access: { ...access, user: 'bob' } })
    const wrong = await aRouterTo(url, { access: { ...access, password: 'wrong' } })

    expect((await near.call('Pay', { order: 1 })).structuredContent).toEqual({ from: 'teller' })
    expect((await forbidden.call('Pay', { order: 2 }))._meta?.[failure]).toMatchObject({
      code: 'UNAUTHORIZED',
    })
    expect((await wrong.call('Pay', { order: 3 }))._meta?.[failure]).toMatchObject({
      code: 'AGENT_UNAVAILABLE',
    })
  })

  test.each(['v1', 'v2'] as const)(
    'sealed in %s, nothing readable is on the wire',
    async (format) => {
      const { url } = await aNatsServer()
      const wire: string[] = []
      const listener = await aConnection(url)
      listener.subscribe('>', { callback: (_, message) => void wire.push(message.string()) })
      const seal = { ...k1, format }
      const handle = () => ({ answer: 'the secret answer' })
      await aNode(url, [anAgent('teller', { handle })], { seal, heartbeat: 60_000 })
      const near = await aRouterTo(url, { seal })

      const result = await near.call('Look', { question: 'the secret question' })

      expect(result.structuredContent).toEqual({ answer: 'the secret answer' })
      await eventually(() => expect(wire.join('')).toContain('emcl'))
      expect(wire.join('')).not.toContain('secret')
    },
  )

  const answers: readonly [string, (message: Msg) => void, string][] = [
    ['rubbish', (message) => message.respond('{"protocol":'), 'PROTOCOL_ERROR'],
    ['nothing', (message) => message.respond(), 'PROTOCOL_ERROR'],
    ['no answer to the question', (message) => message.respond(toFrame(7)), 'PROTOCOL_ERROR'],
    [
      'something too deep',
      (message) =>
        message.respond(toFrame({}).replace('{}', `${'['.repeat(9999)}${']'.repeat(9999)}`)),
      'PROTOCOL_ERROR',
    ],
    ['silence', () => {}, 'AGENT_TIMEOUT'],
  ]

  test.each(answers)(
    '%s: a typed failure, and no payment is tried elsewhere',
    async (_, answer, code) => {
      const { url } = await aNatsServer()
      await anImpostor(url, answer)
      const near = await serve({
        remote: [
          { name: 'bank', url, capabilities: [pay] },
          { name: 'other', url, node: 'bank', capabilities: [pay] },
        ],
        attemptTimeout: 200,
      })

      const result = await near.call('Pay', { order: 1 })

      expect(result._meta?.[failure]).toMatchObject({ code: 'outcome_unknown', details: { code } })
      expect(result._meta?.[route]).toMatchObject({ tried: [{ agent: 'bank', outcome: code }] })
    },
  )

  test('only the first answer counts, and an unsealed one to a sealed question does not', async () => {
    const { url } = await aNatsServer()
    await anImpostor(url, (message) => {
      for (const n of [1, 2]) message.respond(toFrame({ payload: { n }, error: null }))
    })
    const [open, sealed] = [await aRouterTo(url), await aRouterTo(url, { seal: k1 })]

    expect((await open.call('Look')).structuredContent).toEqual({ n: 1 })
    expect((await sealed.call('Pay', { order: 1 }))._meta?.[failure]).toMatchObject({
      code: 'outcome_unknown',
      details: { code: 'EMCL_FAILURE' },
    })
  })

  test('too large a question is not sent; too large an answer does not look like a refusal', async () => {
    const { url } = await aNatsServer()
    const reached = vi.fn()
    const handle: AgentDefinition['handle'] = () => {
      reached()
      return { text: 'x'.repeat(1_100_000) }
    }
    await aNode(url, [aPayer('teller', { handle })])
    const near = await aRouterTo(url)

    const tooMuch = await near.call('Pay', { text: 'x'.repeat(1_100_000) })
    expect(tooMuch._meta?.[failure]).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect(reached).not.toHaveBeenCalled()

    const result = await near.call('Pay', { order: 1 })
    expect(result._meta?.[failure]).toMatchObject({ code: 'outcome_unknown' })
    expect(reached).toHaveBeenCalledOnce()
  })

  test('what is no frame is answered with an error frame', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    const connection = await aConnection(url)

    for (const [body, code] of [
      ['nonsense', 'PROTOCOL_ERROR'],
      [toFrame({}, 'intent'), 'VALIDATION_ERROR'],
      [toFrame({}, 'emcl'), 'PROTOCOL_ERROR'],
    ] as const)
      expect((await connection.request('intents.agent.bank', body)).json()).toMatchObject({
        messageType: 'error',
        body: { code },
      })
  })

  test('an address that asks for encryption gets it, or nothing', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    const near = await aRouterTo(url.replace('nats:', 'tls:'))

    expect((await near.call('Look'))._meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
  })

  test('subjects begin as the address says, and names stay one part of them', async () => {
    const { url } = await aNatsServer()
    const subjects: string[] = []
    const listener = await aConnection(url)
    listener.subscribe('>', { callback: (_, { subject }) => void subjects.push(subject) })
    await aNode(`${url}/acme.shop`, [anAgent('teller')], { node: 'bank.one' })
    const near = await aRouterTo(`${url}/acme.shop`, { node: 'bank.one' })

    expect((await near.call('Look')).structuredContent).toEqual({ from: 'teller' })
    expect(subjects).toContain('acme.shop.agent.bank%2Eone')
  })
})

describeWithNats('a node that is reloaded', () => {
  test('answers what it was asked before, and is there all the time', async () => {
    const { url } = await aNatsServer()
    const aSource = (handle: AgentDefinition['handle']) =>
      intentSource({
        agents: [anAgent('teller', { handle })],
        node: 'bank',
        serve: { nats: { url, heartbeat: 100 } },
      })
    let finish: (value: unknown) => void = () => {}
    const began = vi.fn()
    const slow = aSource(() => {
      began()
      return new Promise((resolve) => {
        finish = resolve
      })
    })
    const { bridge } = await serveHere({ sources: [slow] })
    const near = await aRouterTo(url, {}, { attemptTimeout: 5000 })

    const before = near.call('Look')
    await eventually(() => expect(began).toHaveBeenCalled())
    await bridge.replace([{ source: aSource(() => ({ from: 'the new one' })), mount: '/mcp' }])
    const after = await near.call('Look')
    finish({ from: 'the old one' })

    expect(after.structuredContent).toEqual({ from: 'the new one' })
    expect((await before).structuredContent).toEqual({ from: 'the old one' })
  })
})

describeWithNats('the shared registry', () => {
  const aDiscoverer = (url: string, rest: object = {}, around: IntentOptions = {}) =>
    serve({ discover: { url, ...rest }, node: 'shop', keys, attemptTimeout: 500, ...around })

  const names = async (bridge: Awaited<ReturnType<typeof serve>>) =>
    (await bridge.list()).tools.map(({ name }) => name)

  test('who announces itself is asked: nothing else is configured', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller'), aPayer('cashier')])
    const near = await aDiscoverer(url)

    expect(await names(near)).toEqual(['Look', 'Pay'])
    const { tools } = await near.list()
    expect(tools[1]?.annotations).toMatchObject({ destructiveHint: true, readOnlyHint: false })
    expect((await near.call('Look')).structuredContent).toEqual({ from: 'teller' })
  })

  test('who comes later is listed when it comes; who goes is missed at once', async () => {
    const { url } = await aNatsServer()
    const near = await aDiscoverer(url)
    expect(await names(near)).toEqual([])

    const far = await aNode(url, [anAgent('teller')])
    await eventually(async () => expect(await names(near)).toEqual(['Look']))
    expect((await near.call('Look')).structuredContent).toEqual({ from: 'teller' })

    await far.close()
    await eventually(async () => {
      const { _meta } = await near.call('Look')
      expect(_meta?.[route]).toMatchObject({
        tried: [],
        skipped: [{ agent: 'bank', why: 'absent' }],
      })
      expect(_meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE', retryable: true })
    })
    expect(await names(near)).toEqual(['Look'])

    await aNode(url, [anAgent('teller')])
    await eventually(async () => expect((await near.call('Look')).isError).toBeUndefined())
  })

  test('one router finds an agent ill, and the others leave it alone, too', async () => {
    const { url } = await aNatsServer()
    let ill = true
    const asked = vi.fn()
    const handle = () => {
      asked()
      if (ill) throw new Error('ill')
      return { well: true }
    }
    await aNode(url, [anAgent('teller', { handle })])
    const ejection = { failures: 2, seconds: 0.5 }
    const [one, other] = [
      await aDiscoverer(url, {}, { ejection }),
      await aDiscoverer(url, {}, { ejection }),
    ]

    for (let count = 0; count < 2; count++) await one.call('Look')
    await eventually(async () => {
      const steps = (await other.explain('Look')) ?? []
      expect(steps.at(-1)).toMatchObject({ would: 'refuse', code: 'AGENT_UNAVAILABLE' })
    })
    expect(asked).toHaveBeenCalledTimes(2)

    ill = false
    await eventually(async () => expect((await one.call('Look')).isError).toBeUndefined())
    await eventually(async () => expect((await other.call('Look')).isError).toBeUndefined())
  })

  test('what is announced takes no name of what is configured', async () => {
    const { url } = await aNatsServer()
    const handle = () => ({ from: 'a stranger' })
    const stranger = await aNode(url, [anAgent('teller', { handle })])
    const near = await aDiscoverer(url, {}, { agents: [anAgent('bank')] })

    expect((await near.call('Look')).structuredContent).toEqual({ from: 'bank' })
    expect(near.diagnostics).toMatchObject([{ code: 'name_taken', severity: 'info' }])

    const connection = await aConnection(url)
    connection.publish('intents.health', '{"agent":"bank","turn":"ill","by":"x"}')
    await connection.flush()
    await stranger.close()
    await aWhile(50)
    expect((await near.call('Look')).structuredContent).toEqual({ from: 'bank' })
  })

  test('with a key, only who has it is believed', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')], { seal: k1 })
    await aNode(url, [aPayer('thief')], { node: 'thief', seal: { key: 'k2' } })
    await aNode(url, [aPayer('open')], { node: 'open' })
    const connection = await aConnection(url)
    const near = await aDiscoverer(url, { seal: k1 }, { keys: { k1: keys.k1 } })

    connection.publish('intents.registry', 'nonsense')
    expect(await names(near)).toEqual(['Look'])
    expect((await near.call('Look')).structuredContent).toEqual({ from: 'teller' })
  })

  test('hostile announcements change nothing', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    const near = await aDiscoverer(url)
    const connection = await aConnection(url)
    const good = { node: 'x', instance: 'i', started: 0, every: 100, capabilities: [] }
    for (const notice of [
      null,
      [],
      { ...good, node: '../..' },
      { ...good, every: 0 },
      { ...good, capabilities: [{ intent: 7 }] },
      { ...good, capabilities: [{ intent: 'Evil', inputSchema: { type: 'nonsense' } }] },
      { ...good, node: 'x'.repeat(1000) },
      { ...good, node: 'round', capabilities: [{ intent: 'Look', fallbackAgents: ['round'] }] },
      { ...good, node: 'all', capabilities: [{ intent: 'Look', strategy: 'broadcast' }] },
    ])
      connection.publish('intents.registry', JSON.stringify(notice))
    connection.publish('intents.health', '{"agent":"bank","turn":"dead","by":"x"}')
    await connection.flush()
    await aWhile(50)

    expect(await names(near)).toEqual(['Look'])
    expect((await near.call('Look')).isError).toBeUndefined()
  })

  test('a node serves what its own agents serve, and does not pass on what it found', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    await serve({
      agents: [aPayer('cashier')],
      node: 'middle',
      discover: { url },
      serve: { nats: { url, heartbeat: 100 } },
    })
    const near = await aDiscoverer(url)

    expect(near.diagnostics).toEqual([])
    const [step] = ((await near.explain('Look')) ?? []).slice(-1)
    expect(JSON.stringify(step)).not.toContain('middle')
  })
})

describeWithNats('what check says of a server', () => {
  test('is nothing where it is there, and why not where it is not', async () => {
    const { url, stop } = await aNatsServer('--auth', 'right')
    const folder = await aProject({
      'drawbridge.yaml': `sources: [{ intents: { node: shop,
        remote: [{ name: bank, url: "${url}", access: { token: env://NATS_TOKEN }, capabilities: [
          { intent: Look, description: Looks., effects: read_only }] }],
        discover: { url: "${url}", access: { token: env://NATS_TOKEN } } } }]`,
    })
    const check = async (token: string) => {
      const { stdout, code } = await drawbridge(['check', folder, '--json'], {
        env: { NATS_TOKEN: token },
      })
      return { code, said: JSON.parse(stdout) }
    }

    const [right, wrong] = [await check('right'), await check('wrong')]
    await stop()
    const gone = await check('right')

    expect(right).toEqual({ code: 0, said: [] })
    const unreachable = { code: 'nats_unreachable', severity: 'warning', pointer: '/remote/0' }
    expect(wrong).toMatchObject({
      code: 0,
      said: [{ ...unreachable, message: expect.stringContaining('check "access"') }],
    })
    expect(gone).toMatchObject({
      code: 0,
      said: [{ ...unreachable, message: expect.stringContaining('connection refused') }],
    })
  })
})

test('a node that others ask over NATS needs a name, and a public server needs tokens', async () => {
  const nats = { url: 'nats://nats.example:4222' }

  expect(() => intentSource({ serve: { nats } })).toThrow(/needs a "node" name/)
  await expect(serve({ node: 'shop', serve: { nats } })).rejects.toThrow(/http.tokens/)
})

test('two sources of one server cannot be the same node', async () => {
  const aSource = (id: string) =>
    intentSource({ id, node: 'shop', serve: { nats: { url: 'nats://127.0.0.1:4222' } } })

  await expect(serveHere({ sources: [aSource('a'), aSource('b')] })).rejects.toThrow(
    /already in use/,
  )
})

test('a password in an address is refused, and so is access over HTTP', async () => {
  expect(() => intentSource({ discover: { url: 'nats://ann:pw@127.0.0.1' } })).toThrow(/access/)
  const bridge = await serve({
    remote: [
      {
        name: 'bank',
        url: 'https://bank.example/intents',
        access: { user: 'ann' },
        capabilities: [look],
      },
    ],
  })
  expect(bridge.diagnostics).toMatchObject([{ code: 'agent_invalid', pointer: '/remote/0' }])
})
