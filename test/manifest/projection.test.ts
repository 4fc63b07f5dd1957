import { describe, expect, test } from 'vitest'
import { manifestSource } from '../../src/index.ts'
import { dropUndefined } from '../../src/json/drop-undefined.ts'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  answering,
  aWritingCapability,
  type Fields,
  type ManifestData,
  type ManifestParts,
  type ProjectedTool,
  type ProjectParts,
  project,
  serveManifest,
  toJson,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { drawbridge } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'

async function projectMcp(parts: ManifestParts, options: ProjectParts = {}) {
  const { mcp, diagnostics } = await project(aManifest(parts), options)
  if (!mcp) throw new Error(`not projected: ${JSON.stringify(diagnostics)}`)
  return mcp
}

async function projectedTool(capability: Fields, parts: ManifestParts = {}) {
  const { tools } = await projectMcp({ ...parts, capabilities: [capability] })
  if (!tools[0]) throw new Error('no tool')
  return tools[0]
}

/** The same tool as listed by a server of the manifest. */
async function servedTool(capability: Fields, parts: ManifestParts = {}) {
  const manifest = aManifest({ ...parts, capabilities: [capability] })
  const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
  const [tool] = (await bridge.list()).tools as unknown as ProjectedTool[]
  if (!tool) throw new Error(`not served: ${JSON.stringify(bridge.diagnostics)}`)
  return tool
}

const toolReaders = [
  ['projected', projectedTool],
  ['served', servedTool],
] as const

describe('the projection', () => {
  test('is byte-identical for the same manifest [M1]', async () => {
    const manifest = aManifest({ capabilities: [{}, aWritingCapability()] })

    const [first, second] = [await project(manifest), await project(manifest)]

    expect(JSON.stringify(first.mcp)).toBe(JSON.stringify(second.mcp))
  })

  test('is the same from YAML and from JSON [M1]', async () => {
    const manifest = aManifest({ capabilities: [{}, aWritingCapability()] })

    const [yaml, json] = [await project(toYaml(manifest)), await project(toJson(manifest))]

    expect(json.mcp).toEqual(yaml.mcp)
  })

  test('has the keys server, endpoint, tools, extensions and warnings', async () => {
    expect(Object.keys(await projectMcp({})).sort()).toEqual(
      ['server', 'endpoint', 'tools', 'extensions', 'warnings'].sort(),
    )
  })

  test('sorts the tools by name [M1]', async () => {
    const ids = ['b', 'a.b', 'c', 'a', 'a-b']
    const { tools } = await projectMcp({ capabilities: ids.map((id) => ({ id })) })

    expect(tools.map(({ name }) => name)).toEqual([...ids].sort())
  })
})

describe('identity', () => {
  test.each([
    ['id', 'name', 'acme.order-desk_2'],
    ['version', 'version', '1.0.0-rc.1+build.5'],
    ['description', 'description', 'Two lines,\n  and “quotes” ü 漢字   kept. '],
    ['name', 'title', 'The order desk'],
  ])('%s is copied unchanged to server.%s [M2, M3, M4]', async (field, serverField, value) => {
    const { server } = await projectMcp({ identity: { [field]: value } })

    expect(server[serverField]).toBe(value)
  })

  test('is the identity of the served MCP server [M2, M3, M4]', async () => {
    const manifest = aManifest()
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(bridge.identity).toEqual({
      name: 'order-desk',
      title: 'Order desk',
      version: '1.2.0',
      description: 'Looks up orders and refunds them.',
    })
  })
})

describe('the endpoint', () => {
  test('is that of the first MCP interface [M5]', async () => {
    const { endpoint } = await projectMcp({
      interfaces: [
        anInterface({ protocol: 'HTTP', endpoint: 'https://a.example/http' }),
        anInterface({ endpoint: 'https://b.example/first' }),
        anInterface({ endpoint: 'https://c.example/second' }),
      ],
    })

    expect(endpoint).toBe('https://b.example/first')
  })

  test('is null without an MCP interface, with a warning [M5]', async () => {
    const mcp = await projectMcp({ interfaces: [anInternalInterface()] })

    expect(mcp.endpoint).toBeNull()
    expect(mcp.warnings).toContainEqual(
      expect.objectContaining({ code: 'interface_missing', path: '/capabilities/0/protocols/0' }),
    )
  })
})

describe.each(toolReaders)('a capability, %s', (_, toolOf) => {
  test('has its id as the tool name [M6]', async () => {
    expect((await toolOf({ id: 'look_up-order2' })).name).toBe('look_up-order2')
  })

  test('keeps its description unchanged at any length [M7]', async () => {
    const description = `First line.\n\n  - “second” ${'long '.repeat(2000)}`

    expect((await toolOf({ description })).description).toBe(description)
  })

  test.each([
    ['none', false],
    ['none', true],
    ['low', true],
    ['high', true],
  ])(
    'has the annotations sideEffects %s and idempotency.required %s [M11, M12, M26]',
    async (level, required) => {
      const { annotations } = await toolOf(
        aWritingCapability({ side_effect_level: level, idempotency_key_required: required }),
      )

      expect(annotations).toMatchObject({ sideEffects: level, idempotency: { required } })
    },
  )

  test('keeps exactly its permissions, in order [M10]', async () => {
    const permissions = ['orders.write', 'a:b', 'payments.refund']

    expect((await toolOf({ permissions })).annotations).toMatchObject({ permissions })
    expect((await toolOf({})).annotations).toMatchObject({ permissions: [] })
  })

  test('carries the budget guardrails [M14]', async () => {
    expect((await toolOf({})).annotations).toMatchObject({
      budgetGuardrails: { soft_alert_pct: 80, reauthorization_pct: 100, hard_stop_pct: 120 },
    })
  })

  test('repeats the literal annotations in _meta, which official clients preserve', async () => {
    const { annotations, _meta } = await toolOf(aWritingCapability({ side_effect_level: 'high' }))
    const literalAnnotations = _meta['dev.drawbridge/extras']?.annotations as Fields

    expect(Object.keys(literalAnnotations).sort()).toEqual(
      ['permissions', 'idempotency', 'sideEffects', 'requiresApproval', 'budgetGuardrails'].sort(),
    )
    expect(annotations).toMatchObject(literalAnnotations)
    expect(_meta['dev.drawbridge/rules']).toMatchObject({
      permissions: ['orders.write'],
      approval: true,
      idempotencyKey: true,
    })
  })

  test.each([
    ['none', undefined, { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
    ['low', undefined, { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    ['low', true, { readOnlyHint: false, destructiveHint: false, idempotentHint: true }],
    ['high', undefined, { readOnlyHint: false, destructiveHint: true, idempotentHint: false }],
    ['high', true, { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
  ])(
    'with side effects %s, idempotent %s also has the standard hints [M12]',
    async (level, idempotent, hints) => {
      const { annotations } = await toolOf(
        aWritingCapability({
          side_effect_level: level,
          ...dropUndefined({ idempotent }),
        }),
      )

      expect(annotations).toMatchObject(hints)
    },
  )
})

describe('requiresApproval', () => {
  const privileged = anInterface({ privileged: true, permissions: ['desk.enter'] })
  const requiresApproval = async (capability: Fields, parts: ManifestParts = {}) =>
    (await projectedTool(capability, parts)).annotations.requiresApproval

  test.each([
    ['false for a read, even with high_risk_approval_required', {}, {}, false],
    ['false for low side effects', aWritingCapability(), {}, false],
    ['true for high side effects', aWritingCapability({ side_effect_level: 'high' }), {}, true],
    [
      'false for high side effects without high_risk_approval_required',
      aWritingCapability({ side_effect_level: 'high' }),
      { policy: { high_risk_approval_required: false } },
      false,
    ],
    ['true for a privileged interface', {}, { interfaces: [privileged] }, true],
    [
      'false for a privileged interface without high_risk_approval_required',
      {},
      { interfaces: [privileged], policy: { high_risk_approval_required: false } },
      false,
    ],
    [
      'true for a permission in human_approval_actions',
      { permissions: ['payments.execute'] },
      { policy: { human_approval_actions: ['payments.execute'] } },
      true,
    ],
    [
      'false for a permission that is not in human_approval_actions',
      { permissions: ['payments.read'] },
      { policy: { human_approval_actions: ['payments.execute', 'payments.rea'] } },
      false,
    ],
  ] as const)('%s [M13]', async (_, capability, parts, expected) => {
    expect(await requiresApproval(capability, parts)).toBe(expected)
  })

  test('is enforced as an approval rule when the manifest is served [M13]', async () => {
    const capability = {}
    const parts = { interfaces: [privileged, anInternalInterface()] }
    const projectedValue = await requiresApproval(capability, parts)
    const tool = await servedTool(capability, parts)

    expect(projectedValue).toBe(true)
    expect(tool.annotations.requiresApproval).toBe(projectedValue)
    expect(tool._meta['dev.drawbridge/rules']).toMatchObject({ approval: true })
  })
})

describe('schemas', () => {
  const inlineSchema = {
    type: 'object',
    title: 'Order',
    properties: {
      order: { type: 'string', pattern: '^A-[0-9]{4}$', 'x-ui': { order: 1 } },
      lines: { type: 'array', prefixItems: [{ type: 'integer' }], minItems: 1 },
      state: { anyOf: [{ const: 'open' }, { type: ['string', 'null'] }] },
      nested: { $ref: '#/$defs/nested' },
      empty: {},
    },
    required: ['order', 'lines'],
    $defs: { nested: { type: 'object', additionalProperties: { type: 'number' } } },
    if: { properties: { state: { const: 'open' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['nested'] },
  }

  test('that are inline are projected unchanged, input and output [M8, M9, M15]', async () => {
    const tool = await projectedTool({ input_schema: inlineSchema, output_schema: inlineSchema })

    expect(tool.inputSchema).toEqual(inlineSchema)
    expect(tool.outputSchema).toEqual(inlineSchema)
  })

  test('that are inline are served unchanged but for references, which are replaced [M8, M9, M15]', async () => {
    const tool = await servedTool({ input_schema: inlineSchema, output_schema: inlineSchema })

    const { $defs, properties, ...others } = inlineSchema
    const portable = { ...others, properties: { ...properties, nested: $defs.nested } }
    expect(tool.inputSchema).toEqual(portable)
    expect(tool.outputSchema).toEqual(portable)
  })

  test('that are references become a $ref in the object root that clients require [M16]', async () => {
    const uri = 'https://schemas.agenthub.dev/onboarding/policy-input.json'
    const tool = await projectedTool({
      input_schema: { $ref_uri: uri },
      output_schema: { $ref_uri: 'schemas/order.json#/$defs/order' },
    })

    expect(tool.inputSchema).toEqual({ type: 'object', $ref: uri })
    expect(tool.outputSchema).toEqual({ type: 'object', $ref: 'schemas/order.json#/$defs/order' })
  })

  test.each([[[]], [['order']], [['order', 'lines', 'no-such-property']]])(
    'required %j is preserved [M17]',
    async (required) => {
      const schema = { ...inlineSchema, required }
      const tool = await projectedTool({ input_schema: schema, output_schema: schema })

      expect(tool.inputSchema.required).toEqual(required)
      expect(tool.outputSchema.required).toEqual(required)
    },
  )

  test('without required are projected without required [M17]', async () => {
    const { inputSchema } = await projectedTool({ input_schema: { type: 'object' } })

    expect(inputSchema).not.toHaveProperty('required')
  })

  test.each([[false], [true], [{ type: 'number' }]])(
    'additionalProperties %j is kept [M18]',
    async (additionalProperties) => {
      const input_schema = { type: 'object', additionalProperties }

      expect((await projectedTool({ input_schema })).inputSchema).toEqual(input_schema)
      expect((await servedTool({ input_schema })).inputSchema).toEqual(input_schema)
    },
  )

  test('without additionalProperties stay open: extra properties are accepted [M18]', async () => {
    const input_schema = { type: 'object', properties: { order: { type: 'string' } } }
    const manifest = aManifest({ capabilities: [{ input_schema }] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    const [tool] = (await bridge.list()).tools
    expect(tool?.inputSchema).not.toHaveProperty('additionalProperties')
    expect(await bridge.call('look-up-order', { order: 'a', more: 1 })).not.toHaveProperty(
      'isError',
    )
  })

  test('with additionalProperties: false reject extra properties in calls [M18]', async () => {
    const input_schema = { type: 'object', additionalProperties: false }
    const manifest = aManifest({ capabilities: [{ input_schema }] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await bridge.call('look-up-order', { more: 1 })).toMatchObject({ isError: true })
  })

  test.each(['array', 'string', 'number', 'integer', 'boolean', 'null'])(
    'of an input of type %s are wrapped in an object root, with a warning [M19]',
    async (type) => {
      const { tools, warnings } = await projectMcp({ capabilities: [{ input_schema: { type } }] })

      expect(tools[0]?.inputSchema).toMatchObject({
        type: 'object',
        properties: { value: { type } },
        required: ['value'],
      })
      expect(warnings).toContainEqual(
        expect.objectContaining({
          code: 'input_not_object',
          path: '/capabilities/0/input_schema/type',
        }),
      )
    },
  )

  test('of a non-object input: the handler receives the property value [M19]', async () => {
    const receivedInputs: unknown[] = []
    const manifest = aManifest({
      capabilities: [{ input_schema: { type: 'array', items: { type: 'integer' } } }],
    })
    const handlers = answering(manifest, {
      'look-up-order': (input) => ({ count: receivedInputs.push(input) }),
    })
    const bridge = await serveManifest(manifest, { handlers })

    await bridge.call('look-up-order', { value: [1, 2] })
    const invalidCall = await bridge.call('look-up-order', { value: ['a'] })

    expect(receivedInputs).toEqual([[1, 2]])
    expect(invalidCall).toMatchObject({ isError: true })
  })

  test('of an output may be of any type without a warning [M19]', async () => {
    const { warnings } = await projectMcp({ capabilities: [{ output_schema: { type: 'array' } }] })

    expect(warnings.map(({ code }) => code)).not.toContain('input_not_object')
  })
})

describe('sections without an MCP field', () => {
  const composition = {
    type: 'pipeline',
    deterministic: true,
    steps: [
      { id: 'one', capability_ref: 'look-up-order', on_failure: 'abort' },
      { id: 'two', capability_ref: 'look-up-order', on_failure: 'retry' },
    ],
  }
  const provenance = { created_at: '2026-05-04T09:00:00Z', source: 'first_party' }

  test('composition is projected to agenthub.composition, if there is one [M20]', async () => {
    expect((await projectMcp({ composition })).extensions['agenthub.composition']).toEqual(
      composition,
    )
    expect((await projectMcp({})).extensions).not.toHaveProperty(['agenthub.composition'])
  })

  test('runtime, trust, provenance and other sections are in the server extension [M20, M21]', async () => {
    const parts = {
      provenance,
      requirements: { permissions: ['orders.read'], budget: { currency: 'EUR' } },
      identity: { tags: ['orders'] },
    }
    const { runtime, trust } = aManifest(parts)

    const { extensions } = await projectMcp(parts)

    expect(extensions['dev.drawbridge/manifest']).toMatchObject({
      schema_version: '0.1',
      identity: { owner: 'acme-fulfilment', type: 'service', tags: ['orders'] },
      requirements: parts.requirements,
      runtime,
      trust,
      provenance,
    })
  })

  test('no field of runtime is in any tool [M21]', async () => {
    const { tools } = await projectMcp({ capabilities: [{}, aWritingCapability()] })
    const serialized = JSON.stringify(tools)

    for (const field of [...Object.keys(aManifest().runtime), 'log_privileged_actions'])
      expect(serialized).not.toContain(field)
  })

  test.each<[string, (url: string) => Promise<{ getServerCapabilities(): unknown }>]>([
    ['2026', aModernClient],
    ['2025', aClientOf2025],
  ])(
    'the extensions reach the official client of %s as they are projected [M20, M21]',
    async (_, connect) => {
      const manifest = aManifest({ composition, provenance })
      const { mcp } = await project(manifest)
      const sourceOf = async (data: ManifestData) => {
        const folder = await aProject({ 'agent.yaml': toYaml(data) })
        const handlers = answering(data)
        return manifestSource(`${folder}/agent.yaml`, { id: String(data.identity.id), handlers })
      }
      const other = aManifest({ identity: { id: 'plain' }, capabilities: [{ id: 'other' }] })
      const third = aManifest({
        identity: { id: 'third' },
        capabilities: [{ id: 'third-one' }],
        composition: { type: 'single', deterministic: false },
      })
      const extensionsOf = async (...manifests: ManifestData[]) => {
        const { url } = await serveHere({ sources: await Promise.all(manifests.map(sourceOf)) })
        const client = await connect(url)
        return (client.getServerCapabilities() as { extensions: Record<string, Fields> }).extensions
      }

      const extensions = await extensionsOf(manifest, other)

      expect(extensions['agenthub.composition']).toEqual(mcp.extensions['agenthub.composition'])
      expect(extensions['agenthub.composition']).toEqual(composition)
      expect(extensions['dev.drawbridge/manifest']?.['order-desk']).toEqual(
        mcp.extensions['dev.drawbridge/manifest'],
      )
      expect((await extensionsOf(manifest, third))['agenthub.composition']).toEqual({
        'order-desk': composition,
        third: { type: 'single', deterministic: false },
      })
      expect(await extensionsOf(other)).not.toHaveProperty(['agenthub.composition'])
    },
  )
})

describe('unknown fields', () => {
  const unknownFields: ManifestParts = {
    more: { 'x-acme': { team: 'orders' }, 'x-acme-level': 3, 'x-other': 'lost', color: 'lost' },
    identity: { 'x-acme-color': 'green', nickname: 'lost' },
    capabilities: [{ 'x-acme-owner': 'ann', 'x-acmexyz': 'lost', retries: 'lost' }],
    runtime: { 'x-acme-zone': 'eu', zone: 'lost' },
  }
  const options = { extensions: ['x-acme'], strict: false }

  test('are projected only if their namespace is approved [M22]', async () => {
    const { tools, extensions } = await projectMcp(unknownFields, options)
    const server = extensions['dev.drawbridge/manifest']

    expect(tools[0]?._meta['dev.drawbridge/extras']).toMatchObject({ 'x-acme-owner': 'ann' })
    expect(server).toMatchObject({
      'x-acme': { team: 'orders' },
      'x-acme-level': 3,
      extensions: {
        '/identity': { 'x-acme-color': 'green' },
        '/runtime': { 'x-acme-zone': 'eu' },
      },
    })
    expect(JSON.stringify({ tools, extensions })).not.toContain('lost')
  })

  test('outside an approved namespace each give a warning with their path [M22, M23]', async () => {
    const { warnings } = await projectMcp(unknownFields, options)
    const paths = warnings.filter(({ code }) => code === 'field_unknown').map(({ path }) => path)

    expect(paths.sort()).toEqual(
      [
        '/x-other',
        '/color',
        '/identity/nickname',
        '/capabilities/0/x-acmexyz',
        '/capabilities/0/retries',
        '/runtime/zone',
      ].sort(),
    )
  })

  test('are errors in strict mode, and nothing is projected [M22]', async () => {
    const { json, diagnostics } = await project(aManifest({ more: { color: 'red' } }))

    expect(json).toBeUndefined()
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ code: 'field_unknown', severity: 'error', pointer: '/color' }),
    )
  })
})

describe('dropped fields', () => {
  test('are listed with their paths: capabilities, interfaces, secrets [M23]', async () => {
    const { tools, warnings } = await projectMcp({
      requirements: { secrets: [{ id: 'desk', secret_ref: 'env://DESK' }] },
      capabilities: [{}, { id: 'only-http', protocols: ['HTTP'] }],
      interfaces: [
        anInterface({ protocol: 'HTTP', endpoint: 'https://a.example' }),
        anInterface(),
        anInterface({ endpoint: 'https://c.example/second' }),
      ],
    })

    expect(tools.map(({ name }) => name)).toEqual(['look-up-order'])
    expect(warnings.filter(({ code }) => code === 'field_dropped').map(({ path }) => path)).toEqual(
      ['/capabilities/1', '/interfaces/0', '/interfaces/2', '/requirements/secrets'],
    )
    for (const { message } of warnings) expect(message).toMatch(/\S/)
  })

  test('do not include capabilities of other protocols with all: true, which are projected [M23]', async () => {
    const parts = {
      capabilities: [{}, { id: 'only-http', protocols: ['HTTP'] }],
      interfaces: [anInterface(), anInterface({ protocol: 'HTTP' })],
    }
    const { tools, warnings } = await projectMcp(parts, { all: true })

    expect(tools.map(({ name }) => name)).toEqual(['look-up-order', 'only-http'])
    expect(warnings.map(({ path }) => path)).not.toContain('/capabilities/1')
  })

  test('are sorted by path [M1, M23]', async () => {
    const { warnings } = await projectMcp({
      capabilities: [
        { id: 'b', permissions: ['z.z', 'a.a'] },
        { id: 'a', protocols: ['HTTP'] },
      ],
    })
    const paths = warnings.map(({ path }) => path)

    expect(paths).toEqual([...paths].sort())
  })

  test('are diagnostics when the manifest is served [M23]', async () => {
    const manifest = aManifest({ capabilities: [{}, { id: 'only-http', protocols: ['HTTP'] }] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'field_dropped',
        severity: 'warning',
        pointer: '/capabilities/1',
        at: expect.stringMatching(/agent\.yaml:\d+:\d+$/),
      }),
    )
  })
})

describe('safety', () => {
  const secret = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'

  test.each<[string, ManifestParts]>([
    ['a description', { capabilities: [{ description: `Call with ${secret} please.` }] }],
    ['a default', { capabilities: [{ input_schema: withProperty({ default: secret }) }] }],
    ['an enum', { capabilities: [{ output_schema: withProperty({ enum: ['a', secret] }) }] }],
    ['the identity', { identity: { description: `The key is ${secret}.` } }],
  ])('%s with a secret is neither projected nor served [M24]', async (_, parts) => {
    const manifest = aManifest(parts)
    const { json } = await project(manifest)
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(json).toBeUndefined()
    expect(JSON.stringify(await bridge.list())).not.toContain(secret)
  })

  test('a secret_ref is not in any metadata [M24]', async () => {
    const mcp = await projectMcp({
      requirements: { secrets: [{ id: 'desk', secret_ref: 'vault://team/desk-key' }] },
    })

    expect(JSON.stringify(mcp)).not.toContain('vault://')
  })

  test('permissions of a capability on a privileged interface are preserved exactly [M25]', async () => {
    const permissions = ['payments.refund', 'orders:write', 'a_b-c.d']
    const tool = await projectedTool(aWritingCapability({ permissions }), {
      interfaces: [anInterface({ privileged: true, permissions: ['desk.enter', 'a_b-c.d'] })],
    })

    expect(tool.annotations.permissions).toEqual(permissions)
    // A call also requires the permissions of the privileged interface.
    expect(tool._meta['dev.drawbridge/rules']?.permissions).toEqual([...permissions, 'desk.enter'])
  })

  test('permissions are compared exactly, case-sensitive and without prefix matching [M25]', async () => {
    const manifest = aManifest({ capabilities: [{ permissions: ['orders.read', 'orders.all'] }] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const callWithScopes = (...scopes: string[]) =>
      bridge.call('look-up-order', {}, { caller: { subject: 'ann', scopes: new Set(scopes) } })

    expect(await callWithScopes('orders.read', 'orders.all')).not.toHaveProperty('isError')
    for (const scopes of [[], ['orders.read'], ['orders'], ['orders.read', 'ORDERS.ALL']])
      await expect(callWithScopes(...scopes)).rejects.toMatchObject({
        data: { code: 'insufficient_scope' },
      })
  })

  test.each(['low', 'high'])(
    'a tool with side effects %s has the idempotency annotation and must require a key [M26]',
    async (side_effect_level) => {
      const tool = await projectedTool(aWritingCapability({ side_effect_level }))
      const { json, diagnostics } = await project(
        aManifest({
          capabilities: [
            aWritingCapability({ side_effect_level, idempotency_key_required: false }),
          ],
        }),
      )

      expect(tool.annotations.idempotency).toEqual({ required: true })
      expect(json).toBeUndefined()
      expect(diagnostics).toContainEqual(
        expect.objectContaining({ pointer: '/capabilities/0/idempotency_key_required' }),
      )
    },
  )
})

test('the example manifest is projected with the annotations of its three side effect levels', async () => {
  const { code, stdout } = await drawbridge(['project', 'examples/manifest/orders/agent.yaml'], {
    cwd: process.cwd(),
  })
  const { tools } = JSON.parse(stdout) as { tools: ProjectedTool[] }

  expect(code).toBe(0)
  expect(
    tools.map(({ name, annotations }) => [
      name,
      annotations.sideEffects,
      annotations.idempotency,
      annotations.requiresApproval,
      annotations.permissions,
    ]),
  ).toEqual([
    ['add_order_note', 'low', { required: true }, false, ['orders.write']],
    ['look_up_order', 'none', { required: false }, false, ['orders.read']],
    ['refund_order', 'high', { required: true }, true, ['orders.write', 'payments.refund']],
  ])
})

function withProperty(property: Fields): Fields {
  return { type: 'object', properties: { order: { type: 'string', ...property } } }
}
