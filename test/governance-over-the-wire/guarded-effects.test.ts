import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { type OfficialClient, type PersonAnswer, personAnswers } from '../support/client-kinds.ts'
import { type CountingTool, countingTools } from '../support/counting-tools.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

/** Every way in which a tool can have side effects. */
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

/** A custom source, which the same policy applies to. */
const customSource = `import { appendFileSync } from 'node:fs'
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
let answer: PersonAnswer
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
    'mine.ts': customSource,
  })
  await site.serve()
  const allTools: { id: string; mount: string; effects: { writes: boolean } }[] =
    await site.json('list')
  registry = allTools.filter(({ effects }) => effects.writes)
  return () => site.close()
})

const input = { order: 'a' }
const withNewKey = () => ({ meta: { 'idempotency-key': crypto.randomUUID() } })

describe('every tool with side effects, from every source and mount, is refused', () => {
  test('all declared tools are in the registry', () => {
    expect(registry).toHaveLength(3 * effectful.length + 1)
  })

  describe.each(['2026 over HTTP', '2025 over HTTP'] as const)(
    'for a client of %s',
    (clientKind) => {
      const clients = new Map<string, Promise<OfficialClient>>()
      const client = (
        subject: string,
        mount: string,
        supportsElicitation: boolean,
      ): Promise<OfficialClient> => {
        const id = `${subject} ${mount} ${supportsElicitation}`
        const connection =
          clients.get(id) ??
          site.connect(clientKind, {
            mount,
            headers: asBearer(subject),
            ...(supportsElicitation && { person: () => answer }),
          })
        clients.set(id, connection)
        return connection
      }

      /** Calls every tool and counts the verdicts. */
      async function callAll(call: (tool: { id: string; mount: string }) => Promise<string>) {
        const verdicts = await Promise.all(registry.map(call))
        const counts: Record<string, number> = {}
        for (const verdict of verdicts) counts[verdict] = (counts[verdict] ?? 0) + 1
        return counts
      }

      test('without the permission', async () => {
        answer = personAnswers.yes
        const counts = await callAll(async ({ id, mount }) => {
          const { verdict } = await (await client('bob', mount, true)).call(id, input, withNewKey())
          return verdict
        })

        expect(counts).toEqual({ insufficient_scope: registry.length })
        expect(site.runsOf()).toEqual([])
      })

      test('without an idempotency key', async () => {
        answer = personAnswers.yes
        const counts = await callAll(async ({ id, mount }) => {
          const { verdict } = await (await client('ann', mount, true)).call(id, input)
          return verdict
        })

        expect(counts).toEqual({ idempotency_key_required: registry.length })
        expect(site.runsOf()).toEqual([])
      })

      test('without an approval', async () => {
        const counts = await callAll(async ({ id, mount }) => {
          const { verdict } = await (await client('ann', mount, false)).call(
            id,
            input,
            withNewKey(),
          )
          return verdict
        })

        expect(counts).toEqual({ approval_required: registry.length })
        expect(site.runsOf()).toEqual([])
      })

      test('after a denial by the user', async () => {
        answer = personAnswers.no
        const counts = await callAll(async ({ id, mount }) => {
          const clientWithUser = await client('ann', mount, true)
          return (
            await clientWithUser.call(id, { order: `${clientKind} denied ${mount}` }, withNewKey())
          ).verdict
        })

        expect(counts).toEqual({ approval_denied: registry.length })
        expect(site.runsOf()).toEqual([])
      })
    },
  )
})

test('views and prompts with side effects need permission, key and approval too', async () => {
  const ask = async (subject: string, method: string, params: Record<string, unknown>) => {
    const message = aModernRequest(method, params)
    const response = await fetch(site.url, {
      method: 'POST',
      headers: { ...toModernHeaders(message), ...asBearer(subject) },
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
  expect(site.runsOf()).toEqual([])
})

test('a read needs none of them', async () => {
  const reader = await site.connect('2026 over HTTP', { headers: asBearer('bob') })

  expect(await reader.call('look', input)).toMatchObject({ verdict: 'done' })
})

test('each tool runs once with permission, key and approval', async () => {
  answer = personAnswers.yes
  const runsBefore = site.runsOf().length
  for (const { id, mount } of registry) {
    const client = await site.connect('2026 over HTTP', {
      mount,
      headers: asBearer('ann'),
      person: () => answer,
    })
    const outcome = await client.call(id, { order: `allowed ${mount}` }, withNewKey())
    expect({ id, mount, verdict: outcome.verdict }).toEqual({ id, mount, verdict: 'done' })
  }
  expect(site.runsOf().length - runsBefore).toBe(registry.length)
})
