import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Diagnostic } from '../../src/index.ts'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  answering,
  aWritingCapability,
  type Fields,
  type ManifestData,
  type ManifestParts,
  type ProjectParts,
  project,
  serveManifest,
  toJson,
  toolNames,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { atMost } from '../support/amount.ts'
import { drawbridge } from '../support/run-cli.ts'

const inputs = (input_schema: unknown): ManifestParts => ({ capabilities: [{ input_schema }] })
const property = (parts: Fields): ManifestParts =>
  inputs({ type: 'object', properties: { order: { type: 'string', ...parts } } })

const schemaAt = '/capabilities/0/input_schema/properties/order'

/** Serves a manifest with a handler for every capability and returns its diagnostics. */
async function diagnose(manifest: ManifestData | string, options: ProjectParts = {}) {
  const handlers = typeof manifest === 'string' ? {} : answering(manifest)
  const bridge = await serveManifest(manifest, { handlers, ...options })
  return { bridge, diagnostics: bridge.diagnostics }
}

/** Matches a complete diagnostic: code, severity, file with line and column, and JSON pointer. */
const aDiagnostic = (severity: string, code: string, pointer: string) =>
  expect.objectContaining({
    code,
    severity,
    pointer,
    source: 'agent.yaml',
    at: expect.stringMatching(/agent\.yaml:\d+:\d+$/),
    message: expect.stringMatching(/\S/),
  })

describe('problems that schema v0.1 accepts are reported', () => {
  const steps = (...refs: [id: string, ref: string][]) => ({
    composition: {
      type: 'pipeline',
      deterministic: true,
      steps: refs.map(([id, capability_ref]) => ({ id, capability_ref, on_failure: 'abort' })),
    },
  })
  const longId = 'a'.repeat(300)

  test.each<[string, string, string, string, ManifestParts]>([
    [
      'two capabilities with one id',
      'error',
      'id_duplicate',
      '/capabilities/1/id',
      { capabilities: [{ id: 'twin' }, { id: 'twin' }] },
    ],
    [
      'an id of 300 characters',
      'warning',
      'id_long',
      '/capabilities/0/id',
      { capabilities: [{ id: longId }] },
    ],
    [
      'a capability on MCP without an MCP interface',
      'warning',
      'interface_missing',
      '/capabilities/0/protocols/0',
      { interfaces: [anInternalInterface()] },
    ],
    [
      'a permission that requirements do not declare',
      'warning',
      'permission_undeclared',
      '/capabilities/0/permissions/1',
      {
        requirements: { permissions: ['orders.read'] },
        capabilities: [{ permissions: ['orders.read', 'orders.write'] }],
      },
    ],
    [
      'a step with an unknown capability_ref',
      'error',
      'step_dangling',
      '/composition/steps/1/capability_ref',
      steps(['one', 'look-up-order'], ['two', 'no-such-thing']),
    ],
    [
      'two steps with one id',
      'error',
      'step_duplicate',
      '/composition/steps/1/id',
      steps(['one', 'look-up-order'], ['one', 'look-up-order']),
    ],
    [
      'an input that is not an object',
      'warning',
      'input_not_object',
      '/capabilities/0/input_schema/type',
      inputs({ type: 'array' }),
    ],
    [
      'a nonsense type inside a schema',
      'error',
      'type_unknown',
      '/capabilities/0/input_schema/properties/a/items/type',
      inputs({ type: 'object', properties: { a: { type: 'array', items: { type: 'strnig' } } } }),
    ],
    [
      'a nonsense type in the $defs of an output',
      'error',
      'type_unknown',
      '/capabilities/0/output_schema/$defs/money/type',
      { capabilities: [{ output_schema: { type: 'object', $defs: { money: { type: 'cash' } } } }] },
    ],
    [
      'a reference out of the folder',
      'error',
      'reference_unresolved',
      '/capabilities/0/input_schema',
      inputs({ $ref_uri: '../../etc/passwd' }),
    ],
    [
      'a reference that is garbage',
      'error',
      'reference_unresolved',
      '/capabilities/0/input_schema',
      inputs({ $ref_uri: '%%%' }),
    ],
    [
      'an endpoint that is not a URL',
      'error',
      'manifest_invalid',
      '/interfaces/0/endpoint',
      { interfaces: [anInterface({ endpoint: 'not a url' }), anInternalInterface()] },
    ],
    [
      'a privileged interface without authentication',
      'error',
      'privilege_unproved',
      '/interfaces/0/auth',
      {
        interfaces: [
          anInterface({ privileged: true, permissions: ['desk.enter'], auth: 'none' }),
          anInternalInterface(),
        ],
      },
    ],
    [
      'high side effects without permissions',
      'warning',
      'effect_unguarded',
      '/capabilities/0',
      { capabilities: [aWritingCapability({ side_effect_level: 'high', permissions: [] })] },
    ],
    [
      'a reference and a schema at once',
      'error',
      'schema_ambiguous',
      '/capabilities/0/input_schema',
      inputs({ $ref_uri: 'order.json', type: 'object' }),
    ],
    [
      'a graph, which has no edges',
      'warning',
      'graph_without_edges',
      '/composition/type',
      {
        composition: {
          ...steps(['one', 'look-up-order'], ['two', 'look-up-order']).composition,
          type: 'graph',
        },
      },
    ],
  ])('%s: %s %s at %s', async (_, severity, code, pointer, parts) => {
    const { diagnostics } = await diagnose(aManifest(parts))

    expect(diagnostics).toContainEqual(aDiagnostic(severity, code, pointer))
  })

  test('a required idempotency key without side effects is reported at its path', async () => {
    const { diagnostics } = await diagnose(
      aManifest({ capabilities: [{ idempotency_key_required: true }] }),
    )

    expect(diagnostics.map(({ pointer }) => pointer)).toContain(
      '/capabilities/0/idempotency_key_required',
    )
  })

  test('an id that is too long for clients is served under a shortened name', async () => {
    const { bridge } = await diagnose(aManifest({ capabilities: [{ id: longId }] }))
    const [name = ''] = await toolNames(bridge)

    expect(name.length).toBeLessThanOrEqual(64)
    expect(await bridge.call(name)).not.toHaveProperty('isError')
  })

  test.each([
    ['two with one id', [{ id: 'twin' }, { id: 'twin' }]],
    ['one with a nonsense type', [{ input_schema: withProperty({ type: 'strnig' }) }]],
    ['one with a missing reference', [{ input_schema: { $ref_uri: 'gone.json' } }]],
    [
      'one with both a reference and a schema',
      [{ output_schema: { $ref_uri: 'a', type: 'object' } }],
    ],
    ['one without a description', [{ description: undefined }]],
  ])('only invalid capabilities are omitted: %s', async (_, invalidCapabilities) => {
    const { bridge } = await diagnose(
      aManifest({ capabilities: [...invalidCapabilities, { id: 'good' }] }),
    )

    expect(await toolNames(bridge)).toEqual(['good'])
  })
})

describe('fields that schema v0.1 rejects are errors with a hint', () => {
  test.each<[string, string, unknown]>([
    ['a list of types', '/capabilities/0/input_schema', { type: ['object', 'null'] }],
    ['a $ref', '/capabilities/0/input_schema', { $ref: '#/$defs/order' }],
    ['anyOf without a type', '/capabilities/0/input_schema', { anyOf: [{ type: 'object' }] }],
  ])(
    '%s at the root of a schema is rejected and $ref_uri suggested',
    async (_, pointer, schema) => {
      const { diagnostics } = await diagnose(aManifest(inputs(schema)))

      expect(diagnostics).toContainEqual(aDiagnostic('error', 'manifest_invalid', pointer))
      expect(diagnostics.map(({ message }) => message).join()).toMatch(/\$ref_uri/)
    },
  )

  test.each<[string, string, ManifestParts]>([
    ['at the top', '/x-acme', { more: { 'x-acme': 1 } }],
    ['in the identity', '/identity/x-acme', { identity: { 'x-acme': 1 } }],
    ['in a capability', '/capabilities/0/x-acme', { capabilities: [{ 'x-acme': 1 }] }],
    ['in the policy', '/trust/policy/x-acme', { policy: { 'x-acme': 1 } }],
    [
      'in an interface',
      '/interfaces/0/x-acme',
      { interfaces: [anInterface({ 'x-acme': 1 }), anInternalInterface()] },
    ],
  ])('an extension %s is rejected until its namespace is approved', async (_, pointer, parts) => {
    const manifest = aManifest(parts)
    const [strictResult, lenientResult, approvedResult] = [
      await diagnose(manifest),
      await diagnose(manifest, { strict: false }),
      await diagnose(manifest, { extensions: ['x-acme'] }),
    ]
    const unknownFields = (diagnostics: readonly Diagnostic[]) =>
      diagnostics.filter(({ code }) => code === 'field_unknown')

    expect(unknownFields(strictResult.diagnostics)).toEqual([
      aDiagnostic('error', 'field_unknown', pointer),
    ])
    expect(strictResult.diagnostics.map(({ message }) => message).join()).toContain('extensions')
    expect(unknownFields(lenientResult.diagnostics)).toEqual([
      aDiagnostic('warning', 'field_unknown', pointer),
    ])
    expect(unknownFields(approvedResult.diagnostics)).toEqual([])
    for (const { bridge } of [lenientResult, approvedResult])
      expect(await toolNames(bridge)).toEqual(['look-up-order'])
  })

  test('an approved namespace covers its own name and names with the prefix "<namespace>-", nothing else', async () => {
    const more = { 'x-acme': 1, 'x-acme-a': 1, 'x-acme2': 1, 'X-Acme': 1, 'x-': 1, acme: 1 }
    const { diagnostics } = await diagnose(aManifest({ more }), { extensions: ['x-acme'] })
    const unknownFields = diagnostics.filter(({ code }) => code === 'field_unknown')

    expect(unknownFields.map(({ pointer }) => pointer).sort()).toEqual(
      ['/X-Acme', '/acme', '/x-', '/x-acme2'].sort(),
    )
  })
})

describe('every field of v0.1 is checked', () => {
  test.each<[string, string, ManifestParts]>([
    ['schema_version as a number', '/schema_version', { more: { schema_version: 0.1 } }],
    ['an id with capitals', '/identity/id', { identity: { id: 'Order Desk' } }],
    ['a short name', '/identity/name', { identity: { name: 'ab' } }],
    ['a version with a leading zero', '/identity/version', { identity: { version: '01.0.0' } }],
    ['a short description', '/identity/description', { identity: { description: 'Too short.' } }],
    ['an owner of one letter', '/identity/owner', { identity: { owner: 'a' } }],
    ['an unknown type', '/identity/type', { identity: { type: 'robot' } }],
    ['duplicate tags', '/identity/tags', { identity: { tags: ['aa', 'aa'] } }],
    [
      'a secret_ref with an unsupported scheme',
      '/requirements/secrets/0/secret_ref',
      { requirements: { secrets: [{ id: 'ab', secret_ref: 'file:///x' }] } },
    ],
    [
      'a negative limit',
      '/requirements/budget/monthly_limit',
      { requirements: { budget: { monthly_limit: -1 } } },
    ],
    ['a currency of two letters', '/requirements/budget/currency', currency('EU')],
    [
      'an empty list of protocols',
      '/capabilities/0/protocols',
      { capabilities: [{ protocols: [] }] },
    ],
    [
      'an unknown protocol',
      '/capabilities/0/protocols/0',
      { capabilities: [{ protocols: ['SOAP'] }] },
    ],
    [
      'side effects without an idempotency key',
      '/capabilities/0/idempotency_key_required',
      { capabilities: [aWritingCapability({ idempotency_key_required: false })] },
    ],
    [
      'an interface without an endpoint',
      '/interfaces/0/endpoint',
      { interfaces: [anInterface({ endpoint: undefined })] },
    ],
    [
      'an INTERNAL interface with an endpoint',
      '/interfaces/0/endpoint',
      { interfaces: [anInternalInterface({ endpoint: 'https://a.example' })] },
    ],
    [
      'a privileged interface without permissions',
      '/interfaces/0/permissions',
      { interfaces: [anInterface({ privileged: true })] },
    ],
    [
      'a rate limit of zero',
      '/interfaces/0/rate_limit/requests_per_minute',
      { interfaces: [anInterface({ rate_limit: { requests_per_minute: 0 } })] },
    ],
    ['a score above one', '/trust/minimum_trust_score', { trust: { minimum_trust_score: 1.1 } }],
    ['no trust source', '/trust/allowed_trust_sources', { trust: { allowed_trust_sources: [] } }],
    [
      'non-standard guardrails',
      '/trust/budget_guardrails/hard_stop_pct',
      {
        trust: {
          budget_guardrails: { soft_alert_pct: 80, reauthorization_pct: 100, hard_stop_pct: 121 },
        },
      },
    ],
    [
      'credentials for longer than a day',
      '/trust/credential_policy/max_ttl_minutes',
      { trust: { credential_policy: { short_lived_credentials: true, max_ttl_minutes: 1441 } } },
    ],
    [
      'off as a boolean',
      '/trust/policy/injection_protection',
      policy('injection_protection', false),
    ],
    [
      'a fractional number of days',
      '/trust/policy/data_retention_days',
      policy('data_retention_days', 0.5),
    ],
    ['a pipeline of one step', '/composition/steps', { composition: pipeline(1) }],
    ['negative retries', '/runtime/max_retries', { runtime: { max_retries: -1 } }],
    ['a timeout of zero', '/runtime/timeout_seconds', { runtime: { timeout_seconds: 0 } }],
    ['replay_safe set to false', '/runtime/replay_safe', { runtime: { replay_safe: false } }],
    [
      'a commit that is not a hash',
      '/provenance/commit',
      { provenance: { created_at: '2026-05-04T09:00:00Z', source: 'partner', commit: 'main' } },
    ],
    [
      'a date without a time',
      '/provenance/created_at',
      { provenance: { created_at: '2026-05-04', source: 'partner' } },
    ],
  ])('%s: an error at %s', async (_, pointer, parts) => {
    const { json, diagnostics } = await project(aManifest(parts))

    expect(json).toBeUndefined()
    expect(diagnostics).toContainEqual(aDiagnostic('error', 'manifest_invalid', pointer))
  })

  test.each(['schema_version', 'identity', 'capabilities', 'interfaces', 'trust', 'runtime'])(
    '%s missing: an error at its path',
    async (section) => {
      const { json, diagnostics } = await project(aManifest({ more: { [section]: undefined } }))

      expect(json).toBeUndefined()
      expect(diagnostics).toContainEqual(aDiagnostic('error', 'manifest_invalid', `/${section}`))
    },
  )

  test.each([
    ['a prerelease', { identity: { version: '1.0.0-rc.1+b.2' } }],
    ['a timeout of 1.5 seconds', { runtime: { timeout_seconds: 1.5 } }],
    ['a composition of a single step', { composition: { ...pipeline(1), type: 'single' } }],
    [
      'a date with an offset',
      { provenance: { created_at: '2026-05-04T09:00:00+02:00', source: 'imported' } },
    ],
  ])('%s is allowed', async (_, parts) => {
    expect((await project(aManifest(parts))).json).toBeDefined()
  })

  test('a diagnostic has the line and column of the value, in YAML and in JSON', async () => {
    const yaml = toYaml(aManifest({ identity: { type: 'robot' } }))
    const json = toJson(aManifest({ identity: { type: 'robot' } }))

    for (const text of [yaml, json]) {
      const lines = text.split('\n')
      const line = lines.findIndex((one) => one.includes('robot'))
      const { diagnostics } = await project(text)
      expect(diagnostics.map(({ at }) => at?.replace(/.*agent\.yaml/, ''))).toEqual([
        `:${line + 1}:${(lines[line]?.indexOf('"robot"') ?? 0) + 1}`,
      ])
    }
  })
})

describe('sections that govern effects', () => {
  const manifest = (parts: ManifestParts) =>
    aManifest({ capabilities: [{}, aWritingCapability()], ...parts })

  test.each<[string, ManifestParts]>([
    ['trust', { trust: { minimum_trust_score: 2 } }],
    ['trust (missing)', { more: { trust: undefined } }],
    ['runtime', { runtime: { max_retries: -1 } }],
    ['requirements', { requirements: { permissions: ['NOT A SCOPE'] } }],
    ['trust (unknown field)', { trust: { extra: 1 } }],
  ])(
    'invalid %s: read-only capabilities are served, those with effects are not',
    async (_, parts) => {
      const { bridge, diagnostics } = await diagnose(manifest(parts))

      expect(await toolNames(bridge)).toEqual(['look-up-order'])
      expect(diagnostics).toContainEqual(
        aDiagnostic('error', 'effect_ungoverned', '/capabilities/1'),
      )
    },
  )

  test.each<[string, ManifestParts]>([
    ['identity', { identity: { id: 'NO' } }],
    ['schema_version', { more: { schema_version: '0.2' } }],
  ])('invalid %s: nothing is served', async (_, parts) => {
    const { bridge } = await diagnose(manifest(parts))

    expect(await toolNames(bridge)).toEqual([])
  })
})

describe('YAML pitfalls', () => {
  const yaml = toYaml(aManifest({ policy: { injection_protection: 'off' } }))

  test('unquoted off is read as a string, with a warning that YAML 1.1 reads a boolean', async () => {
    const text = yaml.replace('injection_protection: "off"', 'injection_protection: off')
    const line = text.split('\n').findIndex((one) => one.includes('injection_protection')) + 1
    const { mcp, diagnostics } = await project(text)

    expect(mcp.extensions['dev.drawbridge/manifest']).toMatchObject({
      trust: { policy: { injection_protection: 'off' } },
    })
    expect(diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'yaml_ambiguous',
        severity: 'warning',
        pointer: '/trust/policy/injection_protection',
        at: expect.stringMatching(new RegExp(`agent\\.yaml:${line}:\\d+$`)),
        message: expect.stringContaining('"off"'),
      }),
    )
  })

  test('a quoted off gives no warning', async () => {
    const { diagnostics } = await project(yaml)

    expect(diagnostics.map(({ code }) => code)).not.toContain('yaml_ambiguous')
  })

  test('an unquoted timestamp is read as a string, with a warning that other parsers read a date', async () => {
    const provenance = { created_at: '2026-05-04T09:00:00Z', source: 'first_party' }
    const text = toYaml(aManifest({ provenance })).replace(
      '"2026-05-04T09:00:00Z"',
      '2026-05-04T09:00:00Z',
    )
    const { mcp, diagnostics } = await project(text)

    expect(mcp.extensions['dev.drawbridge/manifest']).toMatchObject({ provenance })
    expect(diagnostics.map(({ code }) => code)).toContain('yaml_ambiguous')
  })

  test('a duplicate key is an error at the second occurrence', async () => {
    const text = `${yaml}identity: {}\n`
    const { json, diagnostics } = await project(text)

    expect(json).toBeUndefined()
    expect(diagnostics).toMatchObject([
      {
        code: 'manifest_unreadable',
        severity: 'error',
        at: expect.stringMatching(new RegExp(`:${text.split('\n').length - 1}:1$`)),
        message: expect.stringMatching(/unique/),
      },
    ])
  })

  test('a duplicate key in JSON is an error', async () => {
    const text = toJson(aManifest()).replace('{', '{ "schema_version": "0.1",')

    expect((await project(text)).diagnostics).toMatchObject([{ code: 'manifest_unreadable' }])
  })

  test('an anchor is accepted, and an alias bomb (billion laughs) is refused within 2 s', async () => {
    const withAnchor = yaml.replace('sandbox: "container"', 'sandbox: &box "container"')
    const bomb = Array.from({ length: 30 }, (_, index) =>
      index === 0 ? 'a0: &a0 [x, x]' : `a${index}: &a${index} [*a${index - 1}, *a${index - 1}]`,
    ).join('\n')
    const startMs = performance.now()

    expect((await project(withAnchor)).json).toBeDefined()
    const { json, diagnostics } = await project(`${yaml}${bomb}\n`)

    expect(json).toBeUndefined()
    expect(diagnostics).toMatchObject([{ code: 'manifest_unreadable', severity: 'error' }])
    expect(performance.now() - startMs).toBeLessThan(atMost(2000))
  })

  test('a self-referential alias is refused', async () => {
    const { json, diagnostics } = await project(`${yaml}x-acme: &me { me: *me }\n`)

    expect(json).toBeUndefined()
    expect(diagnostics.some(({ severity }) => severity === 'error')).toBe(true)
  })

  test.each([
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['CRLF line endings', (text: string) => text.replaceAll('\n', '\r\n')],
    ['both', (text: string) => `\uFEFF${text.replaceAll('\n', '\r\n')}`],
    ['comments and a document start', (text: string) => `# an agent\n---\n${text}# end\n`],
  ])('%s does not change the projection', async (_, change) => {
    const [original, changed] = [await project(yaml), await project(change(yaml))]

    expect(changed.mcp).toEqual(original.mcp)
  })

  test('__proto__ as a key does not pollute Object.prototype', async () => {
    const text = `${yaml}__proto__: { polluted: true }\n`
    await project(text, { strict: false })

    expect({}).not.toHaveProperty('polluted')
  })
})

describe('files that are not manifests', () => {
  const depth = 10_000
  const files: Record<string, string> = {
    'an empty file': '',
    'a comment': '# nothing\n',
    'a word': 'hello',
    'a list': '- a\n- b\n',
    null: 'null',
    'two documents': 'schema_version: "0.1"\n---\nschema_version: "0.1"\n',
    'binary garbage': String.fromCharCode(
      ...Array.from({ length: 512 }, (_, at) => (at * 7) % 256),
    ),
    '10,000 open brackets': '['.repeat(depth),
    '10,000 lists inside each other': `a: ${'['.repeat(depth)}${']'.repeat(depth)}`,
    '10,000 mappings inside each other': `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
  }

  test.each(Object.entries(files))(
    '%s: manifest_unreadable with line and column, within 2 s',
    async (_, text) => {
      const startMs = performance.now()
      const { bridge, diagnostics } = await diagnose(text)

      expect(await toolNames(bridge)).toEqual([])
      expect(diagnostics).toContainEqual(aDiagnostic('error', 'manifest_unreadable', ''))
      expect(performance.now() - startMs).toBeLessThan(atMost(2000))
    },
  )

  test('deep nesting inside one schema omits only that tool', async () => {
    let schema: Fields = { type: 'string' }
    for (let depth = 0; depth < 200; depth++) schema = { type: 'object', properties: { a: schema } }
    const { bridge, diagnostics } = await diagnose(
      aManifest({ capabilities: [{ id: 'deep', input_schema: schema }, { id: 'good' }] }),
    )

    expect(await toolNames(bridge)).toEqual(['good'])
    expect(diagnostics.map(({ pointer }) => pointer)).toContain('/capabilities/0/input_schema')
  })

  test('a 16 MB file gives a result or an error within 5 s', async () => {
    const line = `# ${'x'.repeat(1022)}\n`
    const startMs = performance.now()

    const { json, diagnostics } = await project(toYaml(aManifest()) + line.repeat(16 * 1024))

    expect(json !== undefined || diagnostics.length > 0).toBe(true)
    expect(performance.now() - startMs).toBeLessThan(atMost(5000))
  })

  test('a missing file is reported as an error of its source', async () => {
    const { manifestSource, createDrawbridge } = await import('../../src/index.ts')
    const bridge = createDrawbridge({ sources: [manifestSource('/no/such/agent.yaml')] })
    await bridge.ready

    expect((await bridge.list()).tools).toEqual([])
    expect(bridge.diagnostics).toMatchObject([{ severity: 'error', source: 'agent.yaml' }])
    await bridge.close()
  })
})

const secret = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${'dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P'}`

describe('secrets', () => {
  /** Places of a secret: label, expected pointer, secret, manifest. */
  const places: [string, string, string, ManifestParts][] = [
    [
      'a description',
      '/capabilities/0/description',
      secret,
      { capabilities: [{ description: `Use ${secret} for it.` }] },
    ],
    ['a title in a schema', `${schemaAt}/title`, secret, property({ title: secret })],
    ['a default', `${schemaAt}/default`, secret, property({ default: secret })],
    ['a const', `${schemaAt}/const`, jwt, property({ const: jwt })],
    ['an enum', `${schemaAt}/enum/1`, secret, property({ enum: ['a', secret] })],
    ['an example', `${schemaAt}/examples/0/key`, secret, property({ examples: [{ key: secret }] })],
    ['a pattern', `${schemaAt}/pattern`, secret, property({ pattern: `^${secret}$` })],
    [
      'nested $defs',
      '/capabilities/0/input_schema/$defs/a/$defs/b/const',
      secret,
      inputs({ type: 'object', $defs: { a: { $defs: { b: { const: secret } } } } }),
    ],
    [
      'an output',
      '/capabilities/0/output_schema/description',
      secret,
      { capabilities: [{ output_schema: { type: 'object', description: secret } }] },
    ],
    [
      'the userinfo of an endpoint',
      '/interfaces/0/endpoint',
      'hunter2x',
      {
        interfaces: [
          anInterface({ endpoint: 'https://bob:hunter2x@a.example/mcp' }),
          anInternalInterface(),
        ],
      },
    ],
    [
      'an AWS key in a tag',
      '/identity/tags/0',
      'AKIAIOSFODNN7EXAMPLE',
      { identity: { tags: ['AKIAIOSFODNN7EXAMPLE'] } },
    ],
    [
      'a private key',
      '/capabilities/0/name',
      'MIIEvQIBADANBg',
      { capabilities: [{ name: '-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg' }] },
    ],
    [
      'a GitHub token',
      '/provenance/source_repo',
      'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
      {
        provenance: {
          created_at: '2026-05-04T09:00:00Z',
          source: 'partner',
          source_repo: 'https://a.example/ghp_16C7e42F292c6912E7710c838347Ae178B4a',
        },
      },
    ],
    [
      'a value under the key password',
      `${schemaAt}/default/password`,
      'correct horse',
      property({ type: 'object', default: { password: 'correct horse' } }),
    ],
    [
      'the default of a property named api_key',
      '/capabilities/0/input_schema/properties/api_key/default',
      'correct horse',
      inputs({
        type: 'object',
        properties: { api_key: { type: 'string', default: 'correct horse' } },
      }),
    ],
    [
      'a list under a key ending in _token',
      `${schemaAt}/default/tokens_token/1`,
      'second one',
      property({ default: { tokens_token: ['', 'second one'] } }),
    ],
    [
      'a raw secret under secret_ref',
      '/requirements/secrets/0/secret_ref',
      secret,
      { requirements: { secrets: [{ id: 'ab', secret_ref: secret }] } },
    ],
    [
      'a raw secret after an env:// reference',
      `${schemaAt}/default`,
      secret,
      property({ default: `env://HOME or ${secret}` }),
    ],
    ['an unknown field', '/color', secret, { more: { color: secret } }],
    [
      'an approved extension',
      '/x-acme/deep/0/er',
      secret,
      { more: { 'x-acme': { deep: [{ er: secret }] } } },
    ],
    [
      'an approved extension of a capability',
      '/capabilities/0/x-acme-key',
      secret,
      { capabilities: [{ 'x-acme-key': secret }] },
    ],
    [
      'a number under the key password',
      '/x-acme/password',
      '48392017',
      { more: { 'x-acme': { password: 48392017 } } },
    ],
  ]

  test.each(places)(
    'in %s: an error at %s, and the value is never shown',
    async (_, pointer, value, parts) => {
      const manifest = aManifest({
        ...parts,
        capabilities: [...(parts.capabilities ?? []), { id: 'good' }],
      })
      const options = { extensions: ['x-acme'], strict: false }
      const projection = await project(manifest, options)
      const { bridge, diagnostics } = await diagnose(manifest, options)

      expect(projection.json).toBeUndefined()
      for (const list of [projection.diagnostics, diagnostics])
        expect(list).toContainEqual(aDiagnostic('error', 'secret_inside', pointer))
      const publicOutput = [
        projection,
        diagnostics,
        await bridge.list(),
        bridge.identity,
        bridge.mounts,
      ]
      expect(JSON.stringify(publicOutput)).not.toContain(value)
    },
  )

  test.each<[string, string, ManifestParts]>([
    [
      'a property of a schema',
      '/capabilities/0/input_schema/properties',
      inputs({ type: 'object', properties: { [secret]: { type: 'string' } } }),
    ],
    [
      'a property whose value is also a secret',
      '/capabilities/0/input_schema/properties',
      inputs({ type: 'object', properties: { [secret]: { default: secret } } }),
    ],
    ['an approved extension', '/x-acme', { more: { 'x-acme': { [secret]: 1 } } }],
    ['a section', '', { more: { [secret]: 1 } }],
    ['a field of the identity', '/identity', { identity: { [secret]: 1 } }],
  ])(
    'as the name of %s: an error at the parent, and the name is never shown',
    async (_, pointer, parts) => {
      const manifest = aManifest(parts)
      const options = { extensions: ['x-acme'], strict: false }
      const projection = await project(manifest, options)
      const { bridge, diagnostics } = await diagnose(manifest, options)

      expect(projection.json).toBeUndefined()
      expect(diagnostics).toContainEqual(aDiagnostic('error', 'secret_inside', pointer))
      const publicOutput = [projection, diagnostics, await bridge.list()]
      expect(JSON.stringify(publicOutput)).not.toContain(secret)
      expect(diagnostics.map(({ pointer }) => pointer)).not.toContain('/undefined')
    },
  )

  test.each([
    ['as an alias', `x-acme: *${secret}\n`],
    ['as a block scalar header', `x-acme: |${secret}\n`],
    ['in an unterminated quoted string', `x-acme: "${secret}\n`],
    ['before an unexpected token', `x-acme: "${secret}" ]\n`],
  ])('in a file that does not parse, %s, are not printed', async (_, line) => {
    const { diagnostics } = await diagnose(`${toYaml(aManifest())}${line}`)

    expect(diagnostics).toMatchObject([{ code: 'manifest_unreadable' }])
    expect(JSON.stringify(diagnostics)).not.toContain(secret)
  })

  test.each<[string, ManifestParts]>([
    ['maxTokens: 100', { more: { 'x-acme': { maxTokens: 100, max_token: 5 } } }],
    [
      'a property called token, with a boolean schema',
      inputs({ type: 'object', properties: { token: true } }),
    ],
    [
      'properties named like secrets, without values',
      inputs({
        type: 'object',
        properties: {
          token: { type: 'string', description: 'The token of the caller.' },
          password: { type: 'string', minLength: 8, examples: [''] },
        },
        required: ['token', 'password'],
      }),
    ],
    [
      'dependentRequired on api_key',
      inputs({
        type: 'object',
        properties: { api_key: { type: 'string' }, region: { type: 'string' } },
        dependentRequired: { api_key: ['region'] },
      }),
    ],
    [
      'a $defs entry named secret',
      inputs({
        type: 'object',
        $defs: { secret: { type: 'string' } },
        properties: { secret: { $ref: '#/$defs/secret' } },
      }),
    ],
    [
      'a secret_ref',
      { requirements: { secrets: [{ id: 'api_key', secret_ref: 'vault://team/api-key' }] } },
    ],
    [
      'prose about secrets',
      {
        capabilities: [
          { description: 'Exchanges a bearer token for an API key, and forgets the password.' },
        ],
      },
    ],
    [
      'an address with a port and an @',
      {
        capabilities: [
          { description: 'Mails to ann@acme.example, see https://acme.example:8443/docs.' },
        ],
      },
    ],
    [
      'permissions about secrets',
      { capabilities: [{ permissions: ['secrets.read', 'api_key.rotate'] }] },
    ],
    ['an id about secrets', { capabilities: [{ id: 'rotate-api-key', name: 'Rotate API key' }] }],
    [
      'a cost in tokens',
      { capabilities: [{ cost: { mode: 'token', estimated_cost: 0.01, unit: 'token' } }] },
    ],
  ])('have no false positive for %s', async (_, parts) => {
    const { json, diagnostics } = await project(aManifest(parts), { extensions: ['x-acme'] })

    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(json).toBeDefined()
  })

  test('omit only the capability that contains one', async () => {
    const { bridge } = await diagnose(
      aManifest({
        capabilities: [
          { id: 'leaky', description: `Use ${secret} for it.` },
          { id: 'good' },
          aWritingCapability(),
        ],
      }),
    )

    expect(await toolNames(bridge)).toEqual(['good', 'refund-order'])
  })

  test('are neither printed by any command nor logged', async () => {
    const manifest = aManifest({
      identity: { tags: [secret] },
      capabilities: [
        { description: `Use ${secret} for it.` },
        { id: 'good', input_schema: withProperty({ default: secret }) },
      ],
    })
    const cwd = await aProject({ 'agent.yaml': toYaml(manifest) })
    const commands = [
      ['project'],
      ['project', '--to', 'a2a'],
      ['check'],
      ['check', '--json'],
      ['list', '--tools'],
    ]

    for (const [command = '', ...flags] of commands) {
      const { stdout, stderr } = await drawbridge(
        [command, path.join(cwd, 'agent.yaml'), ...flags],
        {
          cwd,
          env: { LOG_LEVEL: 'trace' },
        },
      )
      expect(stdout + stderr).not.toContain(secret)
      expect(stdout + stderr).not.toBe('')
    }
  })
})

function withProperty(parts: Fields): Fields {
  return { type: 'object', properties: { order: { type: 'string', ...parts } } }
}

function policy(key: string, value: unknown): ManifestParts {
  return { policy: { [key]: value } }
}

function currency(value: string): ManifestParts {
  return { requirements: { budget: { currency: value } } }
}

function pipeline(count: number): Fields {
  const step = { capability_ref: 'look-up-order', on_failure: 'abort' }
  const steps = Array.from({ length: count }, (_, index) => ({ id: `step-${index}`, ...step }))
  return { type: 'pipeline', deterministic: true, steps }
}
