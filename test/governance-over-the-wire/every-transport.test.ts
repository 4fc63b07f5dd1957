import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import {
  type CallAnswer,
  type ClientKind,
  clientKinds,
  type OfficialClient,
  prefix,
} from '../support/client-kinds.ts'
import { countingTools } from '../support/counting-tools.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

interface Connection {
  readonly clientKind: ClientKind
  readonly site: Site
  readonly client: OfficialClient
}

const config = `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  rules:
    - { match: metered, budgets: [{ limit: 2 }] }
    - { match: agreed, budgets: [{ limit: 5 }] }
    - { match: last_one, budgets: [{ limit: 1 }] }
    - { match: closed, budgets: [{ limit: 0 }] }
    - { match: hasty, rates: [{ calls: 1, seconds: 3600 }] }
`
const tools = countingTools(
  { name: 'charge', more: 'idempotencyKey: true,' },
  { name: 'note' },
  { name: 'metered' },
  { name: 'agreed' },
  { name: 'last_one' },
  { name: 'closed' },
  { name: 'hasty' },
  { name: 'look', category: 'read' },
  { name: 'break_down', body: `throw new Error('at 10.0.0.7')` },
  {
    name: 'give_up',
    body: `return { tool: 'give_up', fetchedAt: '', error: 'There is no such order.' }`,
  },
  { name: 'own_key', schema: 'z.object({ idempotency_key: z.string() })' },
)

const key = (value: string) => ({ meta: { 'idempotency-key': value } })

/** Calls through one transport, the expected verdicts, and the expected number of runs. */
interface Scenario {
  readonly calls: (client: OfficialClient) => Promise<CallAnswer[]>
  readonly verdicts: readonly string[]
  readonly runs: number
}

const sequentially = async (
  ...calls: readonly (() => Promise<CallAnswer>)[]
): Promise<CallAnswer[]> => {
  const answers: CallAnswer[] = []
  for (const call of calls) answers.push(await call())
  return answers
}

const repeatCall = (count: number, call: (index: number) => Promise<CallAnswer>) =>
  sequentially(...Array.from({ length: count }, (_, index) => () => call(index)))

const scenarios: Record<string, Scenario> = {
  'a call without a required key is refused': {
    calls: (client) =>
      sequentially(
        () => client.call('charge', { order: 'a' }),
        () => client.call('charge', { order: 'a', idempotency_key: '' }),
        () => client.call('charge', { order: 'a' }, key('k'.repeat(256))),
      ),
    verdicts: Array(3).fill('idempotency_key_required'),
    runs: 0,
  },
  'a key reused with other arguments is a conflict': {
    calls: (client) =>
      sequentially(
        () => client.call('charge', { order: 'b' }, key('conflict')),
        () => client.call('charge', { order: 'c' }, key('conflict')),
      ),
    verdicts: ['done', 'idempotency_conflict'],
    runs: 1,
  },
  'a repeated key replays the answer': {
    calls: (client) => repeatCall(3, () => client.call('charge', { order: 'd' }, key('replay'))),
    verdicts: ['done', 'done', 'done'],
    runs: 1,
  },
  'a repeated key replays a certain failure': {
    calls: (client) => repeatCall(2, () => client.call('give_up', { order: 'd' }, key('failing'))),
    verdicts: ['tool_error', 'tool_error'],
    runs: 1,
  },
  'a repeated key after an internal error is an unknown outcome': {
    calls: (client) =>
      repeatCall(2, () => client.call('break_down', { order: 'd' }, key('breaking'))),
    verdicts: ['internal', 'outcome_unknown'],
    runs: 1,
  },
  'a key in an argument is equivalent to one in the metadata': {
    calls: (client) =>
      sequentially(
        () => client.call('charge', { order: 'e', idempotency_key: 'argument' }),
        () => client.call('charge', { order: 'e', idempotency_key: 'argument' }),
        () => client.call('charge', { order: 'e' }, key('argument')),
        () => client.call('charge', { order: 'f', idempotency_key: 'argument' }),
      ),
    verdicts: ['done', 'done', 'done', 'idempotency_conflict'],
    runs: 1,
  },
  'different keys in metadata and argument are refused': {
    calls: (client) =>
      sequentially(
        () => client.call('charge', { order: 'g', idempotency_key: 'one' }, key('another')),
        () => client.call('charge', { order: 'g', idempotency_key: 'another' }, key('another')),
        () => client.call('charge', { order: 'h', idempotency_key: 'one' }),
      ),
    verdicts: ['idempotency_conflict', 'done', 'done'],
    runs: 2,
  },
  'a repeat without a key is a possible duplicate unless the caller insists': {
    calls: async (client) => {
      const first = await client.call('note', { order: 'i' })
      const second = await client.call('note', { order: 'i' })
      const insistKey = key(String(second.details.insist_with))
      return [
        first,
        second,
        ...(await repeatCall(2, () => client.call('note', { order: 'i' }, insistKey))),
      ]
    },
    verdicts: ['done', 'possible_duplicate', 'done', 'done'],
    runs: 2,
  },
  'a repeat under a new key is a possible duplicate': {
    calls: (client) =>
      repeatCall(2, (n) => client.call('charge', { order: 'j' }, key(`attempt-${n}`))),
    verdicts: ['done', 'possible_duplicate'],
    runs: 1,
  },
  'a call over budget is refused': {
    calls: (client) => repeatCall(3, (n) => client.call('metered', { order: `k${n}` })),
    verdicts: ['done', 'done', 'budget_exceeded'],
    runs: 2,
  },
  'a call just over budget needs an approval': {
    calls: (client) => repeatCall(6, (n) => client.call('agreed', { order: `l${n}` })),
    verdicts: [...Array(5).fill('done'), 'approval_required'],
    runs: 5,
  },
  'a call with a zero budget is refused': {
    calls: (client) => repeatCall(1, () => client.call('closed', { order: 'm' })),
    verdicts: ['budget_exceeded'],
    runs: 0,
  },
  'a call over the rate limit is refused': {
    calls: (client) => repeatCall(2, (n) => client.call('hasty', { order: `n${n}` })),
    verdicts: ['done', 'rate_limited'],
    runs: 1,
  },
  'invalid arguments are refused and consume no key': {
    calls: (client) =>
      sequentially(
        () => client.call('charge', { order: 7 }, key('invalid')),
        () => client.call('charge', { order: 'o' }, key('invalid')),
      ),
    verdicts: ['invalid_input', 'done'],
    runs: 1,
  },
  'a call with an unknown fingerprint is refused': {
    calls: (client) =>
      repeatCall(1, () =>
        client.call('look', { order: 'p' }, { meta: { 'expect-fingerprint': '0' } }),
      ),
    verdicts: ['definition_changed'],
    runs: 0,
  },
  'a call with the current fingerprint runs': {
    calls: async (client) => {
      const served = await fingerprintOf(client, 'look')
      return [await client.call('look', { order: 'q' }, { meta: { 'expect-fingerprint': served } })]
    },
    verdicts: ['done'],
    runs: 1,
  },
}

describe('the same call over every transport', () => {
  const connections: Connection[] = []

  beforeAll(async () => {
    await Promise.all(
      clientKinds.map(async (clientKind) => {
        const site = await Site.open({ 'drawbridge.yaml': config, 'tools/all.ts': tools })
        if (clientKind.endsWith('HTTP')) await site.serve()
        connections.push({ clientKind, site, client: await site.connect(clientKind) })
      }),
    )
    connections.sort(
      (a, b) => clientKinds.indexOf(a.clientKind) - clientKinds.indexOf(b.clientKind),
    )
    return () => Promise.all(connections.map(({ site }) => site.close()))
  })

  test.each(Object.entries(scenarios))('%s', async (_, scenario) => {
    const { calls, verdicts, runs } = scenario

    const results = await Promise.all(
      connections.map(async ({ clientKind, site, client }) => {
        const runsBefore = site.runsOf().length
        const answers = await calls(client)
        return { clientKind, answers, ran: site.runsOf().slice(runsBefore) }
      }),
    )

    for (const { clientKind, answers, ran } of results)
      expect({
        clientKind,
        verdicts: answers.map(({ verdict }) => verdict),
        runs: ran.length,
      }).toEqual({
        clientKind,
        verdicts,
        runs,
      })
    const [first, ...others] = results.map(({ answers, ran }) => maskVariables({ answers, ran }))
    for (const other of others) expect(other).toEqual(first)
  })

  test('a replay has the same bytes, a marker and the id of the original call', async () => {
    for (const { client } of connections) {
      const first = await client.call('charge', { order: 'r' }, key('bytes'))
      const second = await client.call('charge', { order: 'r' }, key('bytes'))

      expect(first.meta.replayed).toBeUndefined()
      expect(second.meta.replayed).toMatchObject({ call: first.meta['call-id'] })
      expect(second.meta['call-id']).toBe(first.meta['call-id'])
      expect([second.text, second.data]).toEqual([first.text, first.data])
    }
  })

  test('a budget alert is reported in text and metadata', async () => {
    for (const { client } of connections) {
      const outcome = await client.call('last_one', { order: 'a' })

      expect(outcome).toMatchObject({
        verdict: 'done',
        meta: { budget: { state: 'alert', limit: 1, used: 1, unit: 'calls' } },
      })
      expect(outcome.text).toContain('Budget: 1 of 1 calls')
    }
  })

  test('the idempotency key is not passed to the tool unless the tool declares it', async () => {
    for (const { site, client } of connections) {
      await client.call('charge', { order: 's', idempotency_key: 'mine' })
      await client.call('own_key', { idempotency_key: 'also mine' })

      expect(site.runsOf('charge').at(-1)?.input).toEqual({ order: 's' })
      expect(site.runsOf('own_key').at(-1)?.input).toEqual({ idempotency_key: 'also mine' })
    }
  })

  test('the served schema declares the key only when it is required', async () => {
    const declaringTools = await Promise.all(
      connections.map(async ({ client }) => {
        const toolList = await client.tools()
        return toolList
          .filter(({ inputSchema }) => 'idempotency_key' in (inputSchema.properties ?? {}))
          .map(({ name }) => name)
      }),
    )

    for (const names of declaringTools) expect(names).toEqual(['charge', 'own_key'])
  })

  test('the Idempotency-Key header is used when metadata and arguments have no key', async () => {
    for (const { clientKind, site } of connections.filter((connection) =>
      connection.clientKind.endsWith('HTTP'),
    )) {
      const client = await site.connect(clientKind, { headers: { 'idempotency-key': 'header' } })
      const runsBefore = site.runsOf().length

      const first = await client.call('charge', { order: 't' })
      const repeated = await client.call('charge', { order: 't' })
      const conflict = await client.call('charge', { order: 'u' })
      const withTwoKeys = await client.call('charge', { order: 'u', idempotency_key: 'other' })

      expect([first, repeated, conflict, withTwoKeys].map(({ verdict }) => verdict)).toEqual([
        'done',
        'done',
        'idempotency_conflict',
        'idempotency_conflict',
      ])
      expect(repeated.meta.replayed).toBeDefined()
      expect(site.runsOf().length - runsBefore).toBe(1)
    }
  })
})

describe('a definition that changes while it is served', () => {
  let site: Site
  let server: Awaited<ReturnType<Site['serve']>>
  const clients = new Map<ClientKind, OfficialClient>()
  const plain = 'name: acme\nsources:\n  - definitions: ./tools/*.ts\n'
  const versionOf = (description: string, schema: string, more = '') =>
    countingTools({ name: 'charge', description, schema, more }, { name: 'note' })

  beforeAll(async () => {
    site = await Site.open({
      'drawbridge.yaml': plain,
      'tools/all.ts': versionOf('Charges.', 'z.object({ order: z.string() })'),
    })
    server = await site.serve('--watch')
    await Promise.all(
      clientKinds.map(async (clientKind) =>
        clients.set(clientKind, await site.connect(clientKind, { serverArgs: ['--watch'] })),
      ),
    )
    return () => site.close()
  })

  test('writing the store next to the configuration triggers no reload', async () => {
    const client = clients.get('2026 over HTTP')

    await client?.call('note', { order: 'a' })
    await client?.call('note', { order: 'b' })
    // Longer than the debounce of a reload; a negative cannot be awaited.
    await aWhile(500)

    expect(server.stderr()).not.toContain('Reloaded')
  })

  test('a call that expects the old fingerprint is refused with the changed parts', async () => {
    const fingerprints = new Map<ClientKind, string>()
    for (const [clientKind, client] of clients)
      fingerprints.set(clientKind, await fingerprintOf(client, 'charge'))
    expect(new Set(fingerprints.values()).size).toBe(1)

    await site.put(
      'tools/all.ts',
      versionOf('Charges twice.', 'z.object({ order: z.string(), twice: z.boolean() })'),
    )

    for (const [clientKind, client] of clients) {
      const oldFingerprint = fingerprints.get(clientKind) ?? ''
      const currentFingerprint = await eventually(async () => {
        const served = await fingerprintOf(client, 'charge')
        expect(served).not.toBe(oldFingerprint)
        return served
      })
      const expecting = (fingerprint: string) => ({ meta: { 'expect-fingerprint': fingerprint } })
      const refused = await client.call('charge', { order: 'a' }, expecting(oldFingerprint))

      expect({ clientKind, verdict: refused.verdict, details: refused.details }).toEqual({
        clientKind,
        verdict: 'definition_changed',
        details: {
          expected: oldFingerprint,
          actual: currentFingerprint,
          changed: ['description', 'input', 'code'],
        },
      })
      expect(refused.text).toMatch(/description, input, code/)
      const input = { order: clientKind, twice: true }
      expect(await client.call('charge', input, expecting(currentFingerprint))).toMatchObject({
        verdict: 'done',
      })
    }
    expect(site.runsOf('charge')).toHaveLength(clientKinds.length)
  })

  test('an approval for the old definition is void', async () => {
    const client = clients.get('2026 over HTTP')
    if (!client) throw new Error('no client')
    const serveWithDescription = async (description: string) => {
      const oldFingerprint = await fingerprintOf(client, 'charge')
      await site.put(
        'tools/all.ts',
        versionOf(description, 'z.object({ order: z.string() })', 'requiresConfirmation: true,'),
      )
      await eventually(async () =>
        expect(await fingerprintOf(client, 'charge')).not.toBe(oldFingerprint),
      )
    }
    await serveWithDescription('Charges a little.')
    const pendingCall = await client.call('charge', { order: 'void' })
    await site.run('approvals', 'approve', String(pendingCall.details.approval))

    await serveWithDescription('Charges a lot.')
    const repeated = await client.call('charge', { order: 'void' })

    expect(repeated.verdict).toBe('approval_void')
    expect(repeated.details).toMatchObject({
      void: pendingCall.details.approval,
      changed: ['description', 'code'],
    })
    expect(site.runsOf('charge').filter(({ input }) => input.order === 'void')).toEqual([])
  })

  test('a changed policy is enforced', async () => {
    const client = clients.get('2026 over HTTP')
    const logLength = server.stderr().length
    const newLog = () => server.stderr().slice(logLength)

    const policy =
      'policy:\n  limits: { timeout: 100 }\n  rules:\n    - { match: note, approval: true }\n'
    await site.put('drawbridge.yaml', `${plain}${policy}`)
    await eventually(() => expect(newLog()).toContain('Reloaded.'))

    expect(newLog()).not.toMatch(/restart/)
    const noted = await client?.call('note', { order: 'after the policy changed' })
    expect(noted?.verdict).toBe('approval_required')
  })

  test('a changed setting that needs a restart is announced', async () => {
    await site.put('drawbridge.yaml', `${plain}http: { bodyLimit: 1000 }\n`)
    await eventually(() =>
      expect(server.stderr()).toContain('Changes of http need a restart to take effect.'),
    )
  })
})

describe('a call with a bearer token', () => {
  let site: Site
  const pay = { name: 'pay', more: 'requiresConfirmation: true,' }

  beforeAll(async () => {
    site = await Site.open({
      'drawbridge.yaml': `name: acme
sources:
  - definitions: ./tools/*.ts
  - { definitions: ./others/*.ts, mount: /mcp/others }
policy:
  rules:
    - { match: write_order, permissions: ['audit:read'] }
    - { match: greet, permissions: ['people:read'] }
${httpWithTokens(
  { subject: 'ann', scopes: ['orders:*', 'audit:read'] },
  { subject: 'bob', scopes: ['orders:read', 'approvals:decide'] },
)}`,
      'tools/all.ts': `${countingTools({ name: 'write_order', more: `permissions: ['orders:write'],` }, pay)}
import { definePrompt } from 'drawbridge-mcp'
export const greet = definePrompt({
  name: 'greet', description: 'Greets.',
  arguments: { who: { required: true, complete: () => ['a person nobody should know of'] } },
  render: ({ who }) => 'Hello ' + who,
})`,
      'others/all.ts': countingTools({ name: 'write_order', body: `return 'another one'` }, pay),
    })
    await site.serve()
    return () => site.close()
  })

  const input = { name: 'write_order', arguments: { order: 'a' } }
  const missing = ['orders:write', 'audit:read']
  const sendModern = (subject: string, method: string, params: Record<string, unknown>) => {
    const message = aModernRequest(method, params)
    return fetch(site.url, {
      method: 'POST',
      headers: { ...toModernHeaders(message), ...asBearer(subject) },
      body: JSON.stringify(message),
    })
  }

  test('without the scopes gets 403 and a challenge that names all missing scopes', async () => {
    const response = await sendModern('bob', 'tools/call', input)

    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="orders:write audit:read"',
    )
    expect(await response.json()).toMatchObject({
      error: { code: -31403, data: { code: 'insufficient_scope', missing } },
    })
    expect(site.runsOf()).toEqual([])
  })

  test('without the scopes is refused alike in both protocol versions', async () => {
    for (const clientKind of ['2026 over HTTP', '2025 over HTTP'] as const) {
      const client = await site.connect(clientKind, { headers: asBearer('bob') })

      const outcome = await client.call('write_order', { order: 'a' })

      expect(outcome).toMatchObject({ verdict: 'insufficient_scope', details: { missing } })
    }
    expect(site.runsOf()).toEqual([])
  })

  test('tools without the needed scopes are not listed', async () => {
    for (const clientKind of ['2026 over HTTP', '2025 over HTTP'] as const) {
      const [ann, bob] = await Promise.all(
        ['ann', 'bob'].map((subject) => site.connect(clientKind, { headers: asBearer(subject) })),
      )
      expect((await ann?.tools())?.map(({ name }) => name)).toEqual(['pay', 'write_order'])
      expect((await bob?.tools())?.map(({ name }) => name)).toEqual(['pay'])
    }
  })

  test('without the scopes of a policy gets no completions', async () => {
    const response = await sendModern('bob', 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: '' },
    })

    expect(await response.text()).not.toContain('a person nobody should know of')
    expect(response.status).toBe(403)
  })

  test('with a wildcard scope runs', async () => {
    const client = await site.connect('2026 over HTTP', { headers: asBearer('ann') })

    expect(await client.call('write_order', { order: 'b' })).toMatchObject({ verdict: 'done' })
  })

  const onBothMounts = () =>
    Promise.all(
      ['/mcp', '/mcp/others'].map((mount) =>
        site.connect('2026 over HTTP', { headers: asBearer('ann'), mount }),
      ),
    )

  test('on another mount is a separate call, even with the same name, key and arguments', async () => {
    const [mainMount, otherMount] = await onBothMounts()

    const mainOutcome = await mainMount?.call('write_order', { order: 'c' }, key('shared'))
    const otherOutcome = await otherMount?.call('write_order', { order: 'c' }, key('shared'))

    expect(mainOutcome).toMatchObject({ verdict: 'done', data: { done: 'c' } })
    expect(otherOutcome).toMatchObject({ verdict: 'done', text: 'another one' })
  })

  test('an approval on one mount is not valid on another', async () => {
    const [mainMount, otherMount] = await onBothMounts()
    const pendingCall = await mainMount?.call('pay', { order: 'd' })
    await fetch(new URL(`/approvals/${pendingCall?.details.approval}`, site.url), {
      method: 'POST',
      headers: { ...asBearer('bob'), 'content-type': 'application/json' },
      body: '{"decision":"approve"}',
    })

    expect(await otherMount?.call('pay', { order: 'd' })).toMatchObject({
      verdict: 'approval_required',
    })
    expect(await mainMount?.call('pay', { order: 'd' })).toMatchObject({ verdict: 'done' })
  })
})

async function fingerprintOf(client: OfficialClient, name: string): Promise<string> {
  const tool = (await client.tools()).find((one) => one.name === name)
  return String(tool?._meta[`${prefix}fingerprint`])
}

/** Replaces ids, times and numbers, which differ between runs. */
function maskVariables(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/\d+/g, '0')
  return JSON.parse(text)
}
