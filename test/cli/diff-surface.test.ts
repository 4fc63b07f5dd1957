import { describe, expect, test } from 'vitest'
import { aManifest, type Fields, type ManifestData, toYaml } from '../support/a-manifest.ts'
import { aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

/** A single change of the trust surface, and what `diff` must say about it. */
interface Change {
  readonly title: string
  /** The files of the new state that differ from the old one. */
  readonly files: Readonly<Record<string, string>>
  readonly expected: Expected
}

interface Expected {
  readonly pointer: string
  readonly effect: 'widening' | 'narrowing' | 'neutral'
  readonly breaking: boolean
  readonly review?: true
}

const manifest = (): ManifestData =>
  aManifest({
    requirements: {
      permissions: ['orders.read'],
      secrets: [
        { id: 'agents', secret_ref: 'env://AGENTS_TOKEN' },
        { id: 'spare', secret_ref: 'env://SPARE_TOKEN' },
      ],
      budget: { currency: 'EUR', per_task_limit: 5, monthly_limit: 100 },
    },
    capabilities: [
      { id: 'look-up-order', permissions: ['orders.read'] },
      {
        id: 'refund-order',
        name: 'Refund an order',
        description: 'Pays the whole amount back.',
        idempotency_key_required: true,
        side_effect_level: 'low',
        cost: { mode: 'fixed', estimated_cost: 2, unit: 'EUR' },
      },
    ],
    interfaces: [
      {
        name: 'agents',
        protocol: 'MCP',
        endpoint: 'https://agents.acme.example/mcp',
        auth: 'oauth2',
        privileged: false,
        rate_limit: { requests_per_minute: 60 },
      },
      {
        name: 'web',
        protocol: 'HTTP',
        endpoint: 'https://web.acme.example',
        auth: 'none',
        privileged: false,
      },
    ],
    policy: { human_approval_actions: ['orders.write'] },
    composition: {
      type: 'pipeline',
      deterministic: true,
      steps: [
        { id: 'find', capability_ref: 'look-up-order', on_failure: 'abort' },
        { id: 'pay', capability_ref: 'refund-order', on_failure: 'abort' },
      ],
    },
    provenance: { created_at: '2026-05-04T09:00:00Z', source: 'first_party' },
  })

const config = `name: acme
sources:
  - manifest: ./agent.yaml
    handlers: ./handlers.mjs
    strict: true
    secrets: { agents: { id: agents, host: agents.acme.example } }
    schemas: { "https://schemas.acme.example/a.json": "sha256:${'a'.repeat(64)}" }
  - definitions: ./tools/*.ts
    prefix: billing
  - service: ./lamp.mjs
    states: none
    depth: 5
    mount: /mcp/lamp
  - intents:
      agents: ./agents.mjs
      remote:
        - name: warehouse
          url: https://warehouse.acme.example/intents
          token: env://WAREHOUSE_TOKEN
          seal: { key: k1 }
          capabilities: [{ intent: quote, effects: read_only }]
      strategy: fallback
      retries: 1
      keys: { k1: env://INTENT_KEY }
    mount: /mcp/intents
  - records: ./personal.db
    mount: /mcp/records
  - openapi: ./api.yaml
    secrets: { key: { host: pets.acme.example, value: env://PETS_KEY } }
    mount: /mcp/pets
mounts: { /mcp: { names: portable } }
store: ./ledger.db
policy:
  mode: enforce
  rules:
    - match: billing_*
      permissions: [billing]
      approval: true
      budgets: [{ limit: 10, unit: calls }]
      rates: [{ calls: 5, seconds: 60 }]
  text: strip
  keys: { window: 86400 }
  duplicates: { window: 60 }
  executions: { keep: 1000 }
  approvals: { asked: 600, pending: 3600 }
  egress: { allow: [agents.acme.example, warehouse.acme.example, pets.acme.example, value-of-pets-url.example, audit.acme.example], deny: [bad.example] }
  limits: { timeout: 30000, resultSize: 1000000, concurrentCalls: 10 }
audit: { checkpoints: { every: 60, to: { url: https://audit.acme.example/checkpoints } } }
http:
  host: 127.0.0.1
  port: 4747
  hosts: [mcp.acme.example]
  origins: [https://app.acme.example]
  bodyLimit: 1000000
  tokens:
    - { hash: "sha256:${'1'.repeat(64)}", subject: ann, scopes: [billing] }
    - { hash: "sha256:${'2'.repeat(64)}", subject: bob }
`

const agents = `export default [{
  name: 'clerk',
  capabilities: [{ intent: 'quote', effects: 'read_only', fallbackAgents: ['warehouse'] }],
  handle: () => ({ cents: 1 }),
}]
`

const api = `openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
servers: [{ url: https://pets.acme.example }]
components: { securitySchemes: { key: { type: apiKey, in: header, name: X-Key } } }
security: [{ key: [] }]
paths:
  /pets:
    get:
      operationId: listPets
      parameters: [{ name: tag, in: query, schema: { type: string } }]
      responses: { "200": { description: The pets. } }
  /pets/{id}:
    delete:
      operationId: deletePet
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { "204": { description: Deleted. } }
`

const base: Readonly<Record<string, string>> = {
  'drawbridge.yaml': config,
  'agent.yaml': toYaml(manifest()),
  'handlers.mjs': 'export const other = () => ({})\n',
  'tools/invoice.ts': aToolModule({ name: 'invoice' }),
  'lamp.mjs': `const toggle = { description: 'Toggles.', schema: false, execute: () => {} }
export default { serviceName: 'lamp', actions: (notify) => (notify({ toggle }), () => {}) }
`,
  'agents.mjs': agents,
  'api.yaml': api,
}

const inConfig = (title: string, from: string, to: string, expected: Expected): Change => {
  if (!config.includes(from)) throw new Error(`The configuration does not contain ${from}`)
  return { title, files: { 'drawbridge.yaml': config.replace(from, to) }, expected }
}

const inManifest = (
  title: string,
  change: (parts: ManifestData) => void,
  expected: Expected,
): Change => {
  const changed = manifest()
  change(changed)
  return { title, files: { 'agent.yaml': toYaml(changed) }, expected }
}

const inFile = (title: string, name: string, text: string, expected: Expected): Change => ({
  title,
  files: { [name]: text },
  expected,
})

const at = (parts: Fields, ...path: (string | number)[]): Fields =>
  path.reduce<Fields>((value, key) => value[key] as Fields, parts)

const wider = (pointer: string): Expected => ({ pointer, effect: 'widening', breaking: false })
const narrower = (pointer: string, breaking = false): Expected => ({
  pointer,
  effect: 'narrowing',
  breaking,
})
const toReview = (pointer: string, breaking = false): Expected => ({
  pointer,
  effect: 'neutral',
  breaking,
  review: true,
})

// biome-ignore format: table
const changes: readonly Change[] = [
  // Endpoints, authentication and secrets
  inManifest('an endpoint at another host', (m) => { at(m, 'interfaces', 0).endpoint = 'https://evil.example/mcp' }, wider('/interfaces/0/endpoint')),
  inManifest('the same, seen at the capability', (m) => { at(m, 'interfaces', 0).endpoint = 'https://evil.example/mcp' }, wider('/destination/endpoint')),
  inManifest('an endpoint without encryption', (m) => { at(m, 'interfaces', 0).endpoint = 'http://agents.acme.example/mcp' }, wider('/interfaces/0/endpoint')),
  inManifest('an endpoint with another path', (m) => { at(m, 'interfaces', 0).endpoint = 'https://agents.acme.example/v2' }, toReview('/destination/endpoint')),
  inManifest('no authentication any more', (m) => { at(m, 'interfaces', 0).auth = 'none' }, wider('/destination/auth')),
  inManifest('another kind of authentication', (m) => { at(m, 'interfaces', 0).auth = 'api_key' }, toReview('/destination/auth')),
  inManifest('another secret behind the same id', (m) => { at(m, 'requirements', 'secrets', 0).secret_ref = 'env://OTHER_TOKEN' }, toReview('/destination/secret')),
  inManifest('a secret that is asked for', (m) => { (m.requirements as { secrets: Fields[] }).secrets.push({ id: 'new', secret_ref: 'env://NEW_TOKEN' }) }, wider('/requirements/secrets/2')),
  inManifest('another interface', (m) => { at(m, 'capabilities', 0).protocols = ['HTTP', 'MCP'] ; at(m, 'interfaces', 0).protocol = 'A2A' }, toReview('/destination/interface')),
  inManifest('an added interface', (m) => { m.interfaces.push({ name: 'more', protocol: 'A2A', endpoint: 'https://more.example', auth: 'none', privileged: false }) }, wider('/interfaces/2')),
  inManifest('a removed interface', (m) => { m.interfaces.pop() }, narrower('/interfaces/1')),
  inManifest('interfaces in another order', (m) => { m.interfaces.reverse() }, toReview('/interfaces')),
  inManifest('a privileged interface', (m) => { Object.assign(at(m, 'interfaces', 0), { privileged: true, permissions: ['admin'] }) }, narrower('/interfaces/0/privileged')),
  inManifest('a higher rate limit of an interface', (m) => { at(m, 'interfaces', 0, 'rate_limit').requests_per_minute = 600 }, wider('/interfaces/0/rate_limit/requests_per_minute')),
  inConfig('a secret bound to another host', 'host: agents.acme.example', 'host: evil.example', wider('/sources/0/secrets/agents/host')),
  inConfig('another secret bound to an interface', '{ id: agents,', '{ id: spare,', toReview('/sources/0/secrets/agents/id')),
  inConfig('a secret that follows its endpoint', '    secrets: { agents: { id: agents, host: agents.acme.example } }\n', '', wider('/destination/secretHost')),
  inConfig('a binding that is removed', '    secrets: { agents: { id: agents, host: agents.acme.example } }\n', '', narrower('/sources/0/secrets/agents')),
  inFile('a handler instead of the interface', 'handlers.mjs', 'export const refundOrder = () => ({})\n', narrower('/destination')),

  // Trust, safety and runtime of a manifest
  inManifest('injection protection off', (m) => { at(m, 'trust', 'policy').injection_protection = 'off' }, wider('/trust/policy/injection_protection')),
  inManifest('personal data is denied', (m) => { at(m, 'trust', 'policy').pii_handling = 'deny' }, narrower('/trust/policy/pii_handling')),
  inManifest('data is kept longer', (m) => { at(m, 'trust', 'policy').data_retention_days = 365 }, wider('/trust/policy/data_retention_days')),
  inManifest('no approval of high risk', (m) => { at(m, 'trust', 'policy').high_risk_approval_required = false }, wider('/trust/policy/high_risk_approval_required')),
  inManifest('an action that needs no approval', (m) => { at(m, 'trust', 'policy').human_approval_actions = [] }, wider('/trust/policy/human_approval_actions')),
  inManifest('an action that needs approval', (m) => { at(m, 'trust', 'policy').human_approval_actions = ['orders.write', 'refund-order'] }, narrower('/rules/approval', true)),
  inManifest('a lower trust score', (m) => { m.trust.minimum_trust_score = 0.1 }, wider('/trust/minimum_trust_score')),
  inManifest('a further trust source', (m) => { m.trust.allowed_trust_sources = ['first_party', 'marketplace'] }, wider('/trust/allowed_trust_sources')),
  inManifest('a longer lifetime of credentials', (m) => { at(m, 'trust', 'credential_policy').max_ttl_minutes = 1440 }, wider('/trust/credential_policy/max_ttl_minutes')),
  inManifest('an autonomous loop', (m) => { m.runtime.execution_mode = 'autonomous_loop' }, wider('/runtime/execution_mode')),
  inManifest('a stronger sandbox', (m) => { m.runtime.sandbox = 'firecracker' }, narrower('/runtime/sandbox')),
  inManifest('more retries', (m) => { m.runtime.max_retries = 3 }, wider('/runtime/max_retries')),
  inManifest('a shorter time limit', (m) => { m.runtime.timeout_seconds = 5 }, narrower('/runtime/timeout_seconds')),
  inManifest('a higher budget', (m) => { at(m, 'requirements', 'budget').monthly_limit = 1000 }, wider('/requirements/budget/monthly_limit')),
  inManifest('a budget in another currency', (m) => { at(m, 'requirements', 'budget').currency = 'USD' }, toReview('/requirements/budget/currency', true)),
  inManifest('a further permission of the agent', (m) => { at(m, 'requirements').permissions = ['orders.read', 'orders.write'] }, wider('/requirements/permissions')),
  inManifest('a step that runs something else', (m) => { at(m, 'composition', 'steps', 1).capability_ref = 'look-up-order' }, toReview('/composition/steps/1/capability_ref')),
  inManifest('a step that continues after a failure', (m) => { at(m, 'composition', 'steps', 0).on_failure = 'continue' }, wider('/composition/steps/0/on_failure')),
  inManifest('steps in another order', (m) => { (m.composition as { steps: Fields[] }).steps.reverse() }, toReview('/composition/steps')),
  inManifest('no composition', (m) => { delete m.composition }, narrower('/composition')),
  inManifest('another origin', (m) => { at(m, 'provenance').source = 'marketplace' }, wider('/provenance/source')),
  inManifest('another owner', (m) => { m.identity.owner = 'someone-else' }, toReview('/identity/owner')),
  inManifest('a removed capability', (m) => { m.capabilities.pop() }, { pointer: '', effect: 'narrowing', breaking: true }),
  inManifest('higher side effects', (m) => { at(m, 'capabilities', 0).side_effect_level = 'low' ; at(m, 'capabilities', 0).idempotency_key_required = true }, wider('/effects/writes')),

  // Code
  inFile('other code of a tool', 'tools/invoice.ts', aToolModule({ name: 'invoice', body: 'return 2' }), toReview('/code')),
  inFile('other code of an agent', 'agents.mjs', agents.replace('cents: 1', 'cents: 2'), toReview('/destination/agents/0/code')),

  // Documents
  inFile('an API at another host', 'api.yaml', api.replace('pets.acme.example', 'evil.example'), wider('/destination/endpoint')),
  inFile('an API without encryption', 'api.yaml', api.replace('https://', 'http://'), wider('/destination/endpoint')),
  inFile('an API without authentication', 'api.yaml', api.replace('security: [{ key: [] }]', 'security: []'), wider('/destination/auth')),
  inFile('an operation with another path', 'api.yaml', api.replace('/pets:', '/animals:'), toReview('/destination/path')),
  inFile('an operation that deletes', 'api.yaml', api.replace('get:', 'delete:'), wider('/destination/method')),
  inFile('a parameter at another place', 'api.yaml', api.replace('in: query', 'in: header'), toReview('/destination/request')),
  inConfig('an API without its secret', 'secrets: { key: { host: pets.acme.example, value: env://PETS_KEY } }', 'secrets: {}', narrower('/destination/secretMissing', true)),
  inConfig('a write that is declared as a read', 'openapi: ./api.yaml', 'openapi: ./api.yaml\n    effects: { deletePet: { writes: false } }', wider('/effects/writes')),
  inConfig('the same, seen in the configuration', 'openapi: ./api.yaml', 'openapi: ./api.yaml\n    effects: { deletePet: { writes: false } }', wider('/sources/5/effects/deletePet/writes')),
  inConfig('a write that is declared as reversible', 'openapi: ./api.yaml', 'openapi: ./api.yaml\n    effects: { deletePet: { irreversible: false } }', wider('/effects/irreversible')),
  inConfig('a server from a variable', 'openapi: ./api.yaml', 'openapi: ./api.yaml\n    server: env://PETS_URL', wider('/destination/endpoint')),
  inFile('another document', 'api.yaml', `${api}# changed\n`, toReview('/extension/digest')),
  inConfig('a secret of an API for another host', 'host: pets.acme.example', 'host: evil.example', wider('/sources/5/secrets/key/host')),
  inConfig('another secret of an API', 'env://PETS_KEY', 'env://OTHER_TOKEN', toReview('/sources/5/secrets/key/value')),
  inConfig('operations that are chosen', 'openapi: ./api.yaml', 'openapi: ./api.yaml\n    include: [listPets]', toReview('/sources/5/include')),

  // Sources
  inConfig('an added source', '  - records:', '  - definitions: ./more/*.ts\n    mount: /mcp/more\n  - records:', wider('/sources/4')),
  inConfig('a removed source', '  - records: ./personal.db\n    mount: /mcp/records\n', '', narrower('/sources/4')),
  inConfig('another module of handlers', 'handlers: ./handlers.mjs', 'handlers: ./agents.mjs', toReview('/sources/0/handlers')),
  inConfig('a manifest that is read leniently', 'strict: true', 'strict: false', wider('/sources/0/strict')),
  inConfig('capabilities for other protocols', 'strict: true', 'all: true', wider('/sources/0/all')),
  inConfig('a composition that is served', 'strict: true', 'compose: true', wider('/sources/0/compose')),
  inConfig('another hash of a pinned schema', `sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`, toReview('/sources/0/schemas/https:~1~1schemas.acme.example~1a.json')),
  inConfig('another prefix', 'prefix: billing', 'prefix: bills', { pointer: '/sources/1/prefix', effect: 'neutral', breaking: true }),
  inConfig('states of a service as resources', 'states: none', 'states: resources', wider('/sources/2/states')),
  inConfig('a remote agent at another host', 'https://warehouse.acme.example', 'https://evil.example', wider('/sources/3/intents/remote/0/url')),
  inConfig('the same, seen at the capability', 'https://warehouse.acme.example', 'https://evil.example', wider('/destination/agents/1/url')),
  inConfig('another token of a remote agent', 'env://WAREHOUSE_TOKEN', 'env://OTHER_TOKEN', toReview('/sources/3/intents/remote/0/token')),
  inConfig('messages without a seal', '          seal: { key: k1 }\n', '', wider('/sources/3/intents/remote/0/seal')),
  inConfig('a further remote agent', '      strategy: fallback', '        - { name: more, url: https://more.example, capabilities: [{ intent: quote, effects: read_only }] }\n      strategy: fallback', wider('/sources/3/intents/remote/1')),
  inConfig('another priority', '          seal: { key: k1 }', '          seal: { key: k1 }\n          priority: 1', toReview('/sources/3/intents/remote/0/priority')),
  inConfig('another strategy', 'strategy: fallback', 'strategy: broadcast', wider('/sources/3/intents/strategy')),
  inConfig('retries of an attempt', 'retries: 1', 'retries: 0', narrower('/sources/3/intents/retries')),
  inConfig('another key', 'env://INTENT_KEY', 'env://INTENT_KEY_2', toReview('/sources/3/intents/keys/k1')),
  inFile('another fallback order', 'agents.mjs', agents.replace("['warehouse']", '[]'), toReview('/destination/agents/0/fallbackAgents')),
  inConfig('another records store', './personal.db', './other.db', toReview('/sources/4/from')),
  inConfig('a records server instead of a store', 'records: ./personal.db', 'records: { server: https://records.example, token: env://RECORDS_TOKEN }', wider('/sources/4/records/server')),
  inConfig('names as they are written', 'names: portable', 'names: literal', { pointer: '/mounts/~1mcp/names', effect: 'neutral', breaking: true }),
  inConfig('another mount', 'mount: /mcp/lamp', 'mount: /mcp/light', toReview('/sources/2/mount', true)),
  inConfig('another ledger', 'store: ./ledger.db', 'store: ./new.db', toReview('/store')),

  // Policy
  inConfig('rules that are only observed', 'mode: enforce', 'mode: observe', wider('/policy/mode')),
  inConfig('a rule that is removed', / {2}rules:\n(?: {4}.*\n)+/.exec(config)?.[0] ?? '', '', wider('/policy/rules/0')),
  inConfig('a rule for other names', 'match: billing_*', 'match: billing_invoice', wider('/policy/rules/0/match')),
  inConfig('a rule for writes only', 'match: billing_*', 'match: billing_*\n      writes: true', wider('/policy/rules/0/writes')),
  inConfig('a rule without its permission', 'permissions: [billing]', 'permissions: []', wider('/policy/rules/0/permissions')),
  inConfig('a rule without approval', 'approval: true', 'approval: false', wider('/policy/rules/0/approval')),
  inConfig('other approvers', 'approval: true', 'approval: true\n      approvers: [ann]', narrower('/policy/rules/0/approvers')),
  inConfig('a higher budget of a rule', 'limit: 10', 'limit: 20', wider('/policy/rules/0/budgets/0/limit')),
  inConfig('a higher rate', 'calls: 5', 'calls: 50', wider('/policy/rules/0/rates/0/calls')),
  inConfig('hidden text that is kept', 'text: strip', 'text: keep', wider('/policy/text')),
  inConfig('keys that are forgotten earlier', 'window: 86400', 'window: 60', wider('/policy/keys/window')),
  inConfig('duplicates that are not detected', 'duplicates: { window: 60 }', 'duplicates: { window: 0 }', wider('/policy/duplicates/window')),
  inConfig('a log that is kept for less time', 'keep: 1000', 'keep: 10', wider('/policy/executions/keep')),
  inConfig('approvals that are valid longer', 'pending: 3600', 'pending: 7200', wider('/policy/approvals/pending')),
  inConfig('a further destination', 'allow: [agents', 'allow: [evil.example, agents', wider('/policy/egress/allow')),
  inConfig('every destination', 'allow: [agents.acme.example, warehouse.acme.example, pets.acme.example, value-of-pets-url.example, audit.acme.example], ', '', wider('/policy/egress/allow')),
  inConfig('a destination that is no longer denied', 'deny: [bad.example]', 'deny: []', wider('/policy/egress/deny')),
  inConfig('a denied destination', 'deny: [bad.example]', 'deny: [bad.example, web.acme.example]', narrower('/policy/egress/deny', true)),
  inConfig('a longer timeout', 'timeout: 30000', 'timeout: 60000', wider('/policy/limits/timeout')),
  inConfig('smaller results', 'resultSize: 1000000', 'resultSize: 1000', narrower('/policy/limits/resultSize')),
  inConfig('more calls at once', 'concurrentCalls: 10', 'concurrentCalls: 100', wider('/policy/limits/concurrentCalls')),

  // Server
  inConfig('a public address', 'host: 127.0.0.1', 'host: 0.0.0.0', wider('/http/host')),
  inConfig('a service with deeper links', 'depth: 5', 'depth: 50', wider('/sources/2/depth')),
  inConfig('a further Host name', 'hosts: [mcp.acme.example]', 'hosts: [mcp.acme.example, evil.example]', wider('/http/hosts')),
  inConfig('a further web page', 'origins: [https://app.acme.example]', 'origins: [https://app.acme.example, https://evil.example]', wider('/http/origins')),
  inConfig('another port', 'port: 4747', 'port: 4748', { pointer: '/http/port', effect: 'neutral', breaking: true }),
  inConfig('larger requests', 'bodyLimit: 1000000', 'bodyLimit: 2000000', wider('/http/bodyLimit')),
  inConfig('a further scope of a token', 'scopes: [billing]', 'scopes: [billing, "*"]', wider('/http/tokens/0/scopes')),
  inConfig('a token that is replaced', `sha256:${'1'.repeat(64)}`, `sha256:${'3'.repeat(64)}`, toReview('/http/tokens/0/hash', true)),
  inConfig('a token that is removed', `    - { hash: "sha256:${'2'.repeat(64)}", subject: bob }\n`, '', narrower('/http/tokens/1', true)),
  inConfig('no tokens at all', / {2}tokens:\n(?: {4}.*\n)+/.exec(config)?.[0] ?? '', '', wider('/http/tokens')),
  inConfig('no checkpoints of the audit', /audit: .*\n/.exec(config)?.[0] ?? '', '', wider('/audit/checkpoints')),
  inConfig('another receiver of checkpoints', 'https://audit.acme.example', 'https://evil.example', wider('/audit/checkpoints/to/url')),
]

const env = {
  AGENTS_TOKEN: 'value-of-agents-token',
  SPARE_TOKEN: 'value-of-spare-token',
  WAREHOUSE_TOKEN: 'value-of-warehouse-token',
  OTHER_TOKEN: 'value-of-other-token',
  PETS_KEY: 'value-of-pets-key',
  PETS_URL: 'https://value-of-pets-url.example/v1',
  INTENT_KEY: 'value-of-intent-key-0123456789abcdef',
  INTENT_KEY_2: 'value-of-second-key-0123456789abcdef',
}

const cwd = await aSharedProject(
  Object.fromEntries(
    [{ files: {} }, ...changes].flatMap(({ files }, index) =>
      Object.entries({ ...base, ...files }).map(([name, text]) => [`${index}/${name}`, text]),
    ),
  ),
)

const diff = (index: number) =>
  drawbridge(['diff', '0', String(index), '--json', '--env-optional'], { cwd, env })

describe('one change of the trust surface', () => {
  test('there are at least 40, and the state without a change is the same as itself', async () => {
    expect(changes.length).toBeGreaterThanOrEqual(40)
    expect(JSON.parse((await diff(0)).stdout)).toEqual([])
  })

  test.each(changes.map((change, index) => ({ ...change, index: index + 1 })))(
    '$title',
    async ({ index, expected }) => {
      const { code, stdout } = await diff(index)
      const found = JSON.parse(stdout) as (Expected & { message: string; at: string })[]

      expect(found).toContainEqual(expect.objectContaining(expected))
      const serious = found.some(({ effect, breaking }) => effect === 'widening' || breaking)
      expect(code).toBe(serious ? 1 : 0)
      for (const { message, pointer, review, at } of found) {
        // Only what a source says about itself has no rules.
        if (!pointer.startsWith('/extension/')) expect(message).not.toContain('the setting ')
        expect(message).not.toMatch(/value-of-/)
        expect(message.includes('Review it:')).toBe(review === true)
        expect(at).toMatch(/^\d+\/[\w./-]+\.(?:yaml|ts|mjs)(?::\d+:\d+)?$/)
      }
    },
  )
})
