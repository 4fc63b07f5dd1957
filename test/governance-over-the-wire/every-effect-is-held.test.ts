import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { type CountingTool, countingTools } from '../support/counting-tools.ts'
import { type DoorClient, type PersonsAnswer, says } from '../support/doors.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

/** Every way in which a tool can come to have side effects. */
const effectful: readonly CountingTool[] = [
  { name: 'write_it', category: 'write' },
  { name: 'delete_it', category: 'delete' },
  { name: 'cause_it', category: 'side_effect' },
  { name: 'repeat_it', more: 'effects: { repeatable: true },' },
  { name: 'say_read_but_write', category: 'read', more: 'effects: { writes: true },' },
  { name: 'analyse_and_write', category: 'analysis', more: 'effects: { writes: true },' },
  { name: 'write_quietly', more: `status: 'deprecated',` },
  { name: 'write.dotted', category: 'write' },
  { name: 'ask_for_nothing', schema: 'z.object({ order: z.string().optional() })' },
  { name: 'have_own_rules', more: `permissions: ['own:scope'], requiresConfirmation: true,` },
]

/** A source of the user's own: what it offers is held to the same. */
const ownSource = `import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { done, noRules, readContract } from 'drawbridge-mcp'

const ran = (name) =>
  appendFileSync(path.join(import.meta.dirname, 'ran.ndjson'), JSON.stringify({ name, input: {} }) + '\\n')
const base = (name, schema) => ({
  name, description: 'Writes.', input: readContract(schema, 'input').contract,
  effects: { writes: true, irreversible: false, repeatable: false, reachesOut: true },
  rules: noRules, origin: { source: 'mine', pointer: '/' + name }, extras: {},
  invoke: async () => { ran(name); return done([]) },
})
const anything = { type: 'object' }

export default {
  id: 'mine',
  read: async () => ({
    capabilities: [base('write_elsewhere', anything)],
    views: [{ ...base('read_that_writes', anything), uri: 'mine://one' },
            { ...base('template_that_writes', anything), uri: 'mine://{id}/all' }],
    prompts: [{ ...base('prompt_that_writes', anything), parameters: [] }],
  }),
}
`

const scopes = ['payments:write', 'own:scope']

let site: Site
let answer: PersonsAnswer
let registry: { readonly id: string; readonly mount: string }[]

beforeAll(async () => {
  site = await Site.open({
    'drawbridge.yaml': `name: acme
sources:
  - definitions: ./tools/*.ts
  - { definitions: ./tools/*.ts, prefix: again }
  - { definitions: ./tools/*.ts, mount: /mcp/elsewhere }
  - source: ./mine.ts
policy:
  rules:
    - { match: "*", writes: true, idempotencyKey: true, approval: true, permissions: [payments:write] }
${httpWithTokens({ subject: 'ann', scopes }, { subject: 'bob', scopes: ['payments:read'] })}`,
    'tools/all.ts': countingTools(...effectful, { name: 'look', category: 'read' }),
    'mine.ts': ownSource,
  })
  await site.serve()
  const listed: { id: string; mount: string; effects: { writes: boolean } }[] =
    await site.json('list')
  registry = listed.filter(({ effects }) => effects.writes)
  return () => site.close()
})

const input = { order: 'a' }
const key = () => ({ meta: { 'idempotency-key': crypto.randomUUID() } })

describe('every tool with side effects, of every source and mount, is refused', () => {
  test('and there are as many as were declared', () => {
    expect(registry).toHaveLength(3 * effectful.length + 1)
  })

  describe.each(['2026 over HTTP', '2025 over HTTP'] as const)('to a client of %s', (door) => {
    const clients = new Map<string, Promise<DoorClient>>()
    const client = (who: string, mount: string, canBeAsked: boolean): Promise<DoorClient> => {
      const id = `${who} ${mount} ${canBeAsked}`
      const opened =
        clients.get(id) ??
        site.connect(door, {
          mount,
          headers: asBearer(who),
          ...(canBeAsked && { person: () => answer }),
        })
      clients.set(id, opened)
      return opened
    }

    /** What each of them answered, counted. */
    async function callAll(call: (tool: { id: string; mount: string }) => Promise<string>) {
      const verdicts = await Promise.all(registry.map(call))
      const counts: Record<string, number> = {}
      for (const verdict of verdicts) counts[verdict] = (counts[verdict] ?? 0) + 1
      return counts
    }

    test('without the permission, whatever else it brings', async () => {
      answer = says.yes
      const counts = await callAll(async ({ id, mount }) => {
        const { verdict } = await (await client('bob', mount, true)).call(id, input, key())
        return verdict
      })

      expect(counts).toEqual({ insufficient_scope: registry.length })
      expect(site.ran()).toEqual([])
    })

    test('without a key, whatever else it brings', async () => {
      answer = says.yes
      const counts = await callAll(async ({ id, mount }) => {
        const { verdict } = await (await client('ann', mount, true)).call(id, input)
        return verdict
      })

      expect(counts).toEqual({ idempotency_key_required: registry.length })
      expect(site.ran()).toEqual([])
    })

    test('without an approval, whatever else it brings', async () => {
      const counts = await callAll(async ({ id, mount }) => {
        const { verdict } = await (await client('ann', mount, false)).call(id, input, key())
        return verdict
      })

      expect(counts).toEqual({ approval_required: registry.length })
      expect(site.ran()).toEqual([])
    })

    test('against the word of a person', async () => {
      answer = says.no
      const counts = await callAll(async ({ id, mount }) => {
        const asked = await client('ann', mount, true)
        return (await asked.call(id, { order: `${door} denied ${mount}` }, key())).verdict
      })

      expect(counts).toEqual({ approval_denied: registry.length })
      expect(site.ran()).toEqual([])
    })
  })
})

test('a view or a prompt that writes is held to the same', async () => {
  const ask = async (who: string, method: string, params: Record<string, unknown>) => {
    const message = aModernRequest(method, params)
    const response = await fetch(site.url, {
      method: 'POST',
      headers: { ...toModernHeaders(message), ...asBearer(who) },
      body: JSON.stringify(message),
    })
    const { error } = (await response.json()) as { error?: { data?: { code?: string } } }
    return error?.data?.code
  }
  const requests: readonly (readonly [string, Record<string, unknown>])[] = [
    ['resources/read', { uri: 'mine://one' }],
    ['resources/read', { uri: 'mine://two/all' }],
    ['prompts/get', { name: 'prompt_that_writes', arguments: {} }],
  ]

  for (const [method, params] of requests) {
    const _meta = { 'dev.drawbridge/idempotency-key': method }
    expect(await ask('bob', method, { ...params, _meta })).toBe('insufficient_scope')
    expect(await ask('ann', method, params)).toBe('idempotency_key_required')
    expect(await ask('ann', method, { ...params, _meta })).toBe('approval_required')
  }
  expect(site.ran()).toEqual([])
})

test('a read is not held to what is asked of writes', async () => {
  const reader = await site.connect('2026 over HTTP', { headers: asBearer('bob') })

  expect(await reader.call('look', input)).toMatchObject({ verdict: 'done' })
})

test('each of them runs, once, when it brings all three', async () => {
  answer = says.yes
  const before = site.ran().length
  for (const { id, mount } of registry) {
    const client = await site.connect('2026 over HTTP', {
      mount,
      headers: asBearer('ann'),
      person: () => answer,
    })
    const answered = await client.call(id, { order: `allowed ${mount}` }, key())
    expect({ id, mount, verdict: answered.verdict }).toEqual({ id, mount, verdict: 'done' })
  }
  expect(site.ran().length - before).toBe(registry.length)
})
