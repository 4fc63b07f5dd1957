import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { countingTools } from '../support/counting-tools.ts'
import { type Answered, type Door, type DoorClient, doors, prefix } from '../support/doors.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

interface Party {
  readonly door: Door
  readonly site: Site
  readonly client: DoorClient
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

/** Calls through one door, how they must end, and how often anything may run. */
interface Scenario {
  readonly calls: (client: DoorClient) => Promise<Answered[]>
  readonly verdicts: readonly string[]
  readonly runs: number
}

const inTurn = async (...calls: readonly (() => Promise<Answered>)[]): Promise<Answered[]> => {
  const answers: Answered[] = []
  for (const call of calls) answers.push(await call())
  return answers
}

const times = (count: number, call: (index: number) => Promise<Answered>) =>
  inTurn(...Array.from({ length: count }, (_, index) => () => call(index)))

const scenarios: Record<string, Scenario> = {
  'without the key that is required it is refused, and is told how to bring one': {
    calls: (client) =>
      inTurn(
        () => client.call('charge', { order: 'a' }),
        () => client.call('charge', { order: 'a', idempotency_key: '' }),
        () => client.call('charge', { order: 'a' }, key('k'.repeat(256))),
      ),
    verdicts: Array(3).fill('idempotency_key_required'),
    runs: 0,
  },
  'under the key of other arguments it is refused': {
    calls: (client) =>
      inTurn(
        () => client.call('charge', { order: 'b' }, key('conflict')),
        () => client.call('charge', { order: 'c' }, key('conflict')),
      ),
    verdicts: ['done', 'idempotency_conflict'],
    runs: 1,
  },
  'under a key that was used it is answered from memory': {
    calls: (client) => times(3, () => client.call('charge', { order: 'd' }, key('replay'))),
    verdicts: ['done', 'done', 'done'],
    runs: 1,
  },
  'under a key that failed it fails the same way again': {
    calls: (client) => times(2, () => client.call('give_up', { order: 'd' }, key('failing'))),
    verdicts: ['tool_error', 'tool_error'],
    runs: 1,
  },
  'under a key whose call broke off it is not run again, because nobody knows what it did': {
    calls: (client) => times(2, () => client.call('break_down', { order: 'd' }, key('breaking'))),
    verdicts: ['internal', 'outcome_unknown'],
    runs: 1,
  },
  'with a key in an argument it is remembered under that': {
    calls: (client) =>
      inTurn(
        () => client.call('charge', { order: 'e', idempotency_key: 'argument' }),
        () => client.call('charge', { order: 'e', idempotency_key: 'argument' }),
        () => client.call('charge', { order: 'e' }, key('argument')),
        () => client.call('charge', { order: 'f', idempotency_key: 'argument' }),
      ),
    verdicts: ['done', 'done', 'done', 'idempotency_conflict'],
    runs: 1,
  },
  'with a key in the metadata and another in an argument, the metadata counts': {
    calls: (client) =>
      inTurn(
        () => client.call('charge', { order: 'g', idempotency_key: 'lesser' }, key('greater')),
        () => client.call('charge', { order: 'g' }, key('greater')),
        () => client.call('charge', { order: 'h', idempotency_key: 'lesser' }),
      ),
    verdicts: ['done', 'done', 'done'],
    runs: 2,
  },
  'twice in a row without a key it is taken for a mistake, unless the caller insists': {
    calls: async (client) => {
      const first = await client.call('note', { order: 'i' })
      const second = await client.call('note', { order: 'i' })
      const insisting = key(String(second.details.insist_with))
      return [
        first,
        second,
        ...(await times(2, () => client.call('note', { order: 'i' }, insisting))),
      ]
    },
    verdicts: ['done', 'possible_duplicate', 'done', 'done'],
    runs: 2,
  },
  'twice in a row with a new key each time it is taken for a mistake as well': {
    calls: (client) => times(2, (n) => client.call('charge', { order: 'j' }, key(`attempt-${n}`))),
    verdicts: ['done', 'possible_duplicate'],
    runs: 1,
  },
  'close to its budget it says so, and over it is refused': {
    calls: (client) => times(3, (n) => client.call('metered', { order: `k${n}` })),
    verdicts: ['done', 'done', 'budget_exceeded'],
    runs: 2,
  },
  'a little over its budget it needs a human': {
    calls: (client) => times(6, (n) => client.call('agreed', { order: `l${n}` })),
    verdicts: [...Array(5).fill('done'), 'approval_required'],
    runs: 5,
  },
  'with a budget of nothing it is refused': {
    calls: (client) => times(1, () => client.call('closed', { order: 'm' })),
    verdicts: ['budget_exceeded'],
    runs: 0,
  },
  'too often it is refused, and is told when to come back': {
    calls: (client) => times(2, (n) => client.call('hasty', { order: `n${n}` })),
    verdicts: ['done', 'rate_limited'],
    runs: 1,
  },
  'with invalid arguments it is refused, and consumes no key': {
    calls: (client) =>
      inTurn(
        () => client.call('charge', { order: 7 }, key('invalid')),
        () => client.call('charge', { order: 'o' }, key('invalid')),
      ),
    verdicts: ['invalid_input', 'done'],
    runs: 1,
  },
  'with a fingerprint that was never served it is refused': {
    calls: (client) =>
      times(1, () => client.call('look', { order: 'p' }, { meta: { 'expect-fingerprint': '0' } })),
    verdicts: ['definition_changed'],
    runs: 0,
  },
  'with the fingerprint that is served it runs': {
    calls: async (client) => {
      const served = await fingerprintOf(client, 'look')
      return [await client.call('look', { order: 'q' }, { meta: { 'expect-fingerprint': served } })]
    },
    verdicts: ['done'],
    runs: 1,
  },
}

describe('the same call', () => {
  const parties: Party[] = []

  beforeAll(async () => {
    await Promise.all(
      doors.map(async (door) => {
        const site = await Site.open({ 'drawbridge.yaml': config, 'tools/all.ts': tools })
        if (door.endsWith('HTTP')) await site.serve()
        parties.push({ door, site, client: await site.connect(door) })
      }),
    )
    parties.sort((a, b) => doors.indexOf(a.door) - doors.indexOf(b.door))
    return () => Promise.all(parties.map(({ site }) => site.close()))
  })

  test.each(Object.entries(scenarios))('%s, by whatever way it came', async (_, scenario) => {
    const { calls, verdicts, runs } = scenario

    const told = await Promise.all(
      parties.map(async ({ door, site, client }) => {
        const before = site.ran().length
        const answers = await calls(client)
        return { door, answers, ran: site.ran().slice(before) }
      }),
    )

    for (const { door, answers, ran } of told)
      expect({ door, verdicts: answers.map(({ verdict }) => verdict), runs: ran.length }).toEqual({
        door,
        verdicts,
        runs,
      })
    const [first, ...others] = told.map(({ answers, ran }) => masked({ answers, ran }))
    for (const other of others) expect(other).toEqual(first)
  })

  test('is replayed byte by byte, marked, and under the id of the call that ran', async () => {
    for (const { client } of parties) {
      const first = await client.call('charge', { order: 'r' }, key('bytes'))
      const second = await client.call('charge', { order: 'r' }, key('bytes'))

      expect(first.meta.replayed).toBeUndefined()
      expect(second.meta.replayed).toMatchObject({ call: first.meta['call-id'] })
      expect(second.meta['call-id']).toBe(first.meta['call-id'])
      expect([second.text, second.data]).toEqual([first.text, first.data])
    }
  })

  test('is told in words and in the metadata when its budget is nearly used', async () => {
    for (const { client } of parties) {
      const answered = await client.call('last_one', { order: 'a' })

      expect(answered).toMatchObject({
        verdict: 'done',
        meta: { budget: { state: 'alert', limit: 1, used: 1, unit: 'calls' } },
      })
      expect(answered.text).toContain('Budget: 1 of 1 calls')
    }
  })

  test('never hands the key on to the tool, and leaves alone what is an argument of its own', async () => {
    for (const { site, client } of parties) {
      await client.call('charge', { order: 's', idempotency_key: 'mine' })
      await client.call('own_key', { idempotency_key: 'also mine' })

      expect(site.ran('charge').at(-1)?.input).toEqual({ order: 's' })
      expect(site.ran('own_key').at(-1)?.input).toEqual({ idempotency_key: 'also mine' })
    }
  })

  test('finds the key declared in the served schema only where one is required', async () => {
    const declared = await Promise.all(
      parties.map(async ({ client }) => {
        const listed = await client.tools()
        return listed
          .filter(({ inputSchema }) => 'idempotency_key' in (inputSchema.properties ?? {}))
          .map(({ name }) => name)
      }),
    )

    for (const names of declared) expect(names).toEqual(['charge', 'own_key'])
  })

  test('takes its key from the header of an HTTP request when nothing nearer says one', async () => {
    for (const { door, site } of parties.filter((party) => party.door.endsWith('HTTP'))) {
      const client = await site.connect(door, { headers: { 'idempotency-key': 'header' } })
      const before = site.ran().length

      const first = await client.call('charge', { order: 't' })
      const again = await client.call('charge', { order: 't' })
      const conflict = await client.call('charge', { order: 'u' })
      const nearer = await client.call('charge', { order: 'u', idempotency_key: 'nearer' })

      expect([first, again, conflict, nearer].map(({ verdict }) => verdict)).toEqual([
        'done',
        'done',
        'idempotency_conflict',
        'done',
      ])
      expect(again.meta.replayed).toBeDefined()
      expect(site.ran().length - before).toBe(2)
    }
  })
})

describe('a definition that changed while it was served', () => {
  let site: Site
  let server: Awaited<ReturnType<Site['serve']>>
  const clients = new Map<Door, DoorClient>()
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
      doors.map(async (door) =>
        clients.set(door, await site.connect(door, { words: ['--watch'] })),
      ),
    )
    return () => site.close()
  })

  test('is not what a call makes it look like: the store beside the configuration is no definition', async () => {
    const client = clients.get('2026 over HTTP')

    await client?.call('note', { order: 'a' })
    await client?.call('note', { order: 'b' })
    // Longer than a reload waits for quiet; there is nothing to wait for when all is well.
    await aWhile(500)

    expect(server.stderr()).not.toContain('Reloaded')
  })

  test('is refused to those who know the old one, with what changed, by whatever way they come', async () => {
    const known = new Map<Door, string>()
    for (const [door, client] of clients) known.set(door, await fingerprintOf(client, 'charge'))
    expect(new Set(known.values()).size).toBe(1)

    await site.put(
      'tools/all.ts',
      versionOf('Charges twice.', 'z.object({ order: z.string(), twice: z.boolean() })'),
    )

    for (const [door, client] of clients) {
      const old = known.get(door) ?? ''
      const current = await eventually(async () => {
        const served = await fingerprintOf(client, 'charge')
        expect(served).not.toBe(old)
        return served
      })
      const expecting = (fingerprint: string) => ({ meta: { 'expect-fingerprint': fingerprint } })
      const refused = await client.call('charge', { order: 'a' }, expecting(old))

      expect({ door, verdict: refused.verdict, details: refused.details }).toEqual({
        door,
        verdict: 'definition_changed',
        details: { expected: old, actual: current, changed: ['description', 'input'] },
      })
      expect(refused.text).toMatch(/description, input/)
      const input = { order: door, twice: true }
      expect(await client.call('charge', input, expecting(current))).toMatchObject({
        verdict: 'done',
      })
    }
    expect(site.ran('charge')).toHaveLength(doors.length)
  })

  test('makes an approval void that was given for the old one', async () => {
    const client = clients.get('2026 over HTTP')
    if (!client) throw new Error('no client')
    const serveAs = async (description: string) => {
      const before = await fingerprintOf(client, 'charge')
      await site.put(
        'tools/all.ts',
        versionOf(description, 'z.object({ order: z.string() })', 'requiresConfirmation: true,'),
      )
      await eventually(async () => expect(await fingerprintOf(client, 'charge')).not.toBe(before))
    }
    await serveAs('Charges a little.')
    const asked = await client.call('charge', { order: 'void' })
    await site.run('approvals', 'approve', String(asked.details.approval))

    await serveAs('Charges a lot.')
    const again = await client.call('charge', { order: 'void' })

    expect(again.verdict).toBe('approval_required')
    expect(again.details.approval).not.toBe(asked.details.approval)
    expect(site.ran('charge').filter(({ input }) => input.order === 'void')).toEqual([])
  })

  test('is not only of tools: a policy that changed is enforced, or it is said that it is not yet', async () => {
    const client = clients.get('2026 over HTTP')
    const said = server.stderr().length

    const rules = 'policy:\n  rules:\n    - { match: note, approval: true }\n'
    await site.put('drawbridge.yaml', `${plain}${rules}`)
    const words = await eventually(() => {
      const later = server.stderr().slice(said)
      expect(later).toMatch(/reloaded|restart/i)
      return later
    })

    const answered = await client?.call('note', { order: 'after the policy changed' })
    if (!/restart/i.test(words)) expect(answered?.verdict).toBe('approval_required')
  })
})

describe('a call of somebody with a token', () => {
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
  const sendModern = (who: string, method: string, params: Record<string, unknown>) => {
    const message = aModernRequest(method, params)
    return fetch(site.url, {
      method: 'POST',
      headers: { ...toModernHeaders(message), ...asBearer(who) },
      body: JSON.stringify(message),
    })
  }

  test('without the scopes is answered with 403 and a challenge that names all of them at once', async () => {
    const response = await sendModern('bob', 'tools/call', input)

    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="orders:write audit:read"',
    )
    expect(await response.json()).toMatchObject({
      error: { code: -31403, data: { code: 'insufficient_scope', missing } },
    })
    expect(site.ran()).toEqual([])
  })

  test('without the scopes is refused the same way to the clients of both eras', async () => {
    for (const door of ['2026 over HTTP', '2025 over HTTP'] as const) {
      const client = await site.connect(door, { headers: asBearer('bob') })

      const answered = await client.call('write_order', { order: 'a' })

      expect(answered).toMatchObject({ verdict: 'insufficient_scope', details: { missing } })
    }
    expect(site.ran()).toEqual([])
  })

  test('without the scopes is never for a tool that the list had shown', async () => {
    for (const door of ['2026 over HTTP', '2025 over HTTP'] as const) {
      const [ann, bob] = await Promise.all(
        ['ann', 'bob'].map((who) => site.connect(door, { headers: asBearer(who) })),
      )
      expect((await ann?.tools())?.map(({ name }) => name)).toEqual(['pay', 'write_order'])
      expect((await bob?.tools())?.map(({ name }) => name)).toEqual(['pay'])
    }
  })

  test('without the scopes that policy wants gets no completions either', async () => {
    const response = await sendModern('bob', 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: '' },
    })

    expect(await response.text()).not.toContain('a person nobody should know of')
    expect(response.status).toBe(403)
  })

  test('runs when a wider scope covers the ones it takes', async () => {
    const client = await site.connect('2026 over HTTP', { headers: asBearer('ann') })

    expect(await client.call('write_order', { order: 'b' })).toMatchObject({ verdict: 'done' })
  })

  const onBothMounts = () =>
    Promise.all(
      ['/mcp', '/mcp/others'].map((mount) =>
        site.connect('2026 over HTTP', { headers: asBearer('ann'), mount }),
      ),
    )

  test('is another call on another mount, even under the same name, key and arguments', async () => {
    const [here, there] = await onBothMounts()

    const one = await here?.call('write_order', { order: 'c' }, key('shared'))
    const other = await there?.call('write_order', { order: 'c' }, key('shared'))

    expect(one).toMatchObject({ verdict: 'done', data: { done: 'c' } })
    expect(other).toMatchObject({ verdict: 'done', text: 'another one' })
  })

  test('is not approved on one mount by a yes to another', async () => {
    const [here, there] = await onBothMounts()
    const asked = await here?.call('pay', { order: 'd' })
    await fetch(new URL(`/approvals/${asked?.details.approval}`, site.url), {
      method: 'POST',
      headers: { ...asBearer('bob'), 'content-type': 'application/json' },
      body: '{"decision":"approve"}',
    })

    expect(await there?.call('pay', { order: 'd' })).toMatchObject({ verdict: 'approval_required' })
    expect(await here?.call('pay', { order: 'd' })).toMatchObject({ verdict: 'done' })
  })
})

async function fingerprintOf(client: DoorClient, name: string): Promise<string> {
  const tool = (await client.tools()).find((one) => one.name === name)
  return String(tool?._meta[`${prefix}fingerprint`])
}

/** Ids, times and numbers differ by nature. */
function masked(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/\d+/g, '0')
  return JSON.parse(text)
}
