import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  aManifest,
  type Fields,
  type ManifestParts,
  type McpProjection,
  project,
} from '../support/a-manifest.ts'
import { amount as sample } from '../support/amount.ts'

const word = fc.constantFrom('order', 'desk', 'refund', 'Grüße', '漢字', '“q”', 'a/b', 'x~y', '  ')
const words = (min: number) =>
  fc
    .array(word, { minLength: 1, maxLength: 5 })
    .map((list) => list.join(' ').padEnd(Math.max(min, 2), '.'))
const slug = fc
  .array(fc.stringMatching(/^[a-z0-9]{1,6}$/), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('-'))
const scope = fc.stringMatching(/^[a-z][a-z0-9_.:-]{0,8}$/)
const scopes = fc.uniqueArray(scope, { maxLength: 3 })
const amount = fc.integer({ min: 0, max: 100_000 }).map((value) => value / 1000)
const count = fc.integer({ min: 1, max: 500 })
const instant = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** Unknown fields: in the approved namespace, in another namespace, and without a namespace. */
const extras = fc.record(
  {
    'x-acme': fc.oneof(words(1), fc.record({ team: words(1), levels: fc.array(count) })),
    'x-acme-note': words(1),
    'x-other': words(1),
    surprise: fc.boolean(),
  },
  { requiredKeys: [] },
)
const withExtraFields = (base: fc.Arbitrary<Fields>): fc.Arbitrary<Fields> =>
  fc
    .tuple(
      base,
      fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: extras }),
    )
    .map(([fields, extraFields]) => ({ ...fields, ...extraFields }))

const { schema: innerSchema } = fc.letrec<{ schema: Fields }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.record({ type: fc.constantFrom('string', 'number', 'boolean', 'null') }),
    fc.record({ type: fc.constant('string'), enum: fc.uniqueArray(words(1), { minLength: 1 }) }),
    fc.record({ type: fc.constant('integer'), minimum: count, default: count }),
    fc.record({ description: words(1), const: words(1), 'x-ui': fc.record({ at: count }) }),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(slug, tie('schema'), { maxKeys: 3 }),
      additionalProperties: fc.boolean(),
    }),
  ),
}))
const objectSchema = fc.record(
  {
    type: fc.constant('object'),
    title: words(1),
    properties: fc.dictionary(slug, innerSchema, { maxKeys: 3 }),
    required: fc.uniqueArray(slug, { maxLength: 2 }),
    additionalProperties: fc.oneof(fc.boolean(), innerSchema),
    $defs: fc.dictionary(slug, innerSchema, { maxKeys: 2 }),
  },
  { requiredKeys: ['type'] },
)
const schema: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 4, arbitrary: objectSchema },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom('string', 'integer', 'null'), title: words(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ $ref_uri: slug.map((name) => `schemas/${name}.json#/$defs/a`) }),
  },
)

const capability = withExtraFields(
  fc
    .record(
      {
        name: words(3),
        description: words(12),
        category: fc.constantFrom('reasoning', 'retrieval', 'communication', 'action'),
        input_schema: schema,
        output_schema: schema,
        protocols: fc.uniqueArray(fc.constantFrom('MCP', 'A2A', 'HTTP', 'INTERNAL'), {
          minLength: 1,
        }),
        permissions: scopes,
        idempotency_key_required: fc.boolean(),
        idempotent: fc.boolean(),
        side_effect_level: fc.constantFrom('none', 'low', 'high'),
        cost: fc.record(
          {
            mode: fc.constantFrom('fixed', 'token', 'usage'),
            estimated_cost: amount,
            unit: words(1),
          },
          { requiredKeys: [] },
        ),
      },
      {
        requiredKeys: [
          'name',
          'description',
          'category',
          'input_schema',
          'output_schema',
          'protocols',
          'idempotency_key_required',
          'side_effect_level',
        ],
      },
    )
    .map((base) => ({
      ...base,
      idempotency_key_required: base.idempotency_key_required || base.side_effect_level !== 'none',
    })),
)

const anyInterface = withExtraFields(
  fc
    .record(
      {
        name: words(1),
        protocol: fc.constantFrom('MCP', 'A2A', 'HTTP', 'CLI', 'INTERNAL'),
        auth: fc.constantFrom('api_key', 'oauth2', 'mTLS', 'signed_jwt'),
        privileged: fc.boolean(),
        permissions: fc.array(scope, { minLength: 1, maxLength: 3 }),
        rate_limit: fc.record({ requests_per_minute: count }),
        schema_ref: words(1),
      },
      { requiredKeys: ['name', 'protocol', 'auth', 'privileged', 'permissions'] },
    )
    .map((base) => ({
      ...base,
      ...(base.protocol !== 'INTERNAL' && { endpoint: `https://a.example/${base.protocol}` }),
    })),
)

const identity = withExtraFields(
  fc.record(
    {
      id: slug,
      name: words(3),
      version: fc.constantFrom('0.0.1', '1.2.3-rc.1+b.5', '10.20.30'),
      description: words(12),
      owner: words(2),
      type: fc.constantFrom('tool', 'service', 'orchestrator', 'pipeline', 'assistant'),
      tags: fc.uniqueArray(words(2), { maxLength: 3 }),
    },
    { requiredKeys: ['id', 'name', 'version', 'description', 'owner', 'type'] },
  ),
)

const requirements = fc.record(
  {
    dependencies: fc.uniqueArray(
      fc.record({ name: words(1), version_constraint: words(1), optional: fc.boolean() }),
      { maxLength: 2, selector: (dependency) => JSON.stringify(dependency) },
    ),
    permissions: scopes,
    secrets: fc.array(
      fc.record({ id: words(2), secret_ref: slug.map((name) => `env://${name}`) }),
      {
        maxLength: 2,
      },
    ),
    budget: fc.record(
      { currency: fc.constantFrom('USD', 'EUR'), per_task_limit: amount, monthly_limit: amount },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
)

const provenance = fc.record(
  {
    created_at: instant,
    updated_at: instant,
    source: fc.constantFrom('first_party', 'partner', 'marketplace', 'imported'),
    source_repo: slug.map((name) => `https://github.com/acme/${name}`),
    commit: fc.stringMatching(/^[0-9a-f]{7,40}$/),
    maintainer_contact: fc.constant('ann@acme.example'),
  },
  { requiredKeys: ['created_at', 'source'] },
)

const manifest = fc
  .record(
    {
      identity,
      capabilities: fc.array(capability, { minLength: 1, maxLength: 4 }),
      interfaces: fc.array(anyInterface, { minLength: 1, maxLength: 4 }),
      policy: withExtraFields(
        fc.record(
          {
            injection_protection: fc.constantFrom('strict', 'moderate', 'off'),
            pii_handling: fc.constantFrom('deny', 'mask', 'allow_with_approval'),
            data_retention_days: count,
            high_risk_approval_required: fc.boolean(),
            human_approval_actions: scopes,
          },
          { requiredKeys: [] },
        ),
      ),
      runtime: withExtraFields(
        fc.record(
          {
            execution_mode: fc.constantFrom('deterministic_workflow', 'autonomous_loop'),
            sandbox: fc.constantFrom('container', 'vm', 'firecracker'),
            max_retries: count,
            timeout_seconds: count,
          },
          { requiredKeys: [] },
        ),
      ),
      requirements,
      provenance,
      compositionType: fc.constantFrom('single', 'pipeline', 'graph'),
      more: extras,
    },
    {
      requiredKeys: ['identity', 'capabilities', 'interfaces', 'policy', 'runtime', 'more'],
    },
  )
  .map(({ compositionType, capabilities, ...parts }) => {
    const withIds = capabilities.map((base, index) => ({ ...base, id: `capability-${index}` }))
    return aManifest({
      ...(parts as ManifestParts),
      capabilities: withIds,
      ...(compositionType && { composition: toComposition(compositionType, withIds) }),
    })
  })

const toComposition = (type: string, capabilities: readonly { id: string }[]): Fields => ({
  type,
  deterministic: capabilities.length % 2 === 0,
  steps: [...capabilities, ...capabilities].map(({ id }, index) => ({
    id: `step-${index}`,
    capability_ref: id,
    on_failure: ['abort', 'continue', 'retry'][index % 3],
  })),
})

/** Maps each leaf pointer of a manifest to its projected value; the first matching row wins. */
const targets: readonly (readonly [
  pattern: RegExp,
  find: (projection: Projection, ...parts: string[]) => unknown,
])[] = [
  [/^\/identity\/id$/, ({ mcp }) => mcp.server.name],
  [/^\/identity\/name$/, ({ mcp }) => mcp.server.title],
  [/^\/identity\/(version|description)$/, ({ mcp }, key) => mcp.server[key]],
  [/^((?:\/x-acme).*)$/, ({ extension }, rest) => at(extension, rest)],
  [
    /^\/capabilities\/(\d+)(\/x-acme.*)$/,
    ({ tool }, index, rest) => at(tool(index)._meta['dev.drawbridge/extras'], rest),
  ],
  [
    /^((?:\/[^/]+)+?)(\/x-acme.*)$/,
    ({ extension }, section, rest) => at((extension.extensions as Fields)?.[section], rest),
  ],
  [/^\/capabilities\/(\d+)\/id$/, ({ tool }, index) => tool(index).name],
  [/^\/capabilities\/(\d+)\/name$/, ({ tool }, index) => at(tool(index), '/title')],
  [/^\/capabilities\/(\d+)\/description$/, ({ tool }, index) => tool(index).description],
  [
    /^\/capabilities\/(\d+)\/(input|output)_schema\/\$ref_uri$/,
    ({ tool }, index, side) => at(tool(index), `/${side}Schema/$ref`),
  ],
  [
    /^\/capabilities\/(\d+)\/input_schema(\/.*)$/,
    ({ tool, manifest }, index, rest) =>
      at(manifest, `/capabilities/${index}/input_schema/type`) === 'object'
        ? at(tool(index).inputSchema, rest)
        : at(tool(index).inputSchema, `/properties/value${rest}`),
  ],
  [
    /^\/capabilities\/(\d+)\/output_schema(\/.*)$/,
    ({ tool }, index, rest) => at(tool(index).outputSchema, rest),
  ],
  [
    /^\/capabilities\/(\d+)(\/permissions.*)$/,
    ({ tool }, index, rest) => at(tool(index).annotations, rest),
  ],
  [
    /^\/capabilities\/(\d+)\/idempotency_key_required$/,
    ({ tool }, index) => at(tool(index).annotations, '/idempotency/required'),
  ],
  [
    /^\/capabilities\/(\d+)\/side_effect_level$/,
    ({ tool }, index) => tool(index).annotations.sideEffects,
  ],
  [
    /^\/capabilities\/(\d+)(\/(?:category|protocols|idempotent|cost).*)$/,
    ({ tool }, index, rest) => at(tool(index)._meta['dev.drawbridge/extras'], rest),
  ],
  [/^\/interfaces\/\d+\/endpoint$/, ({ mcp }) => mcp.endpoint],
  [/^\/interfaces\/\d+(\/.*)$/, ({ extension }, rest) => at(extension.interface, rest)],
  [/^\/composition(\/.*)$/, ({ mcp }, rest) => at(mcp.extensions['agenthub.composition'], rest)],
  [
    /^(\/(?:schema_version|identity|requirements|trust|runtime|provenance)(?:\/.*)?)$/,
    ({ extension }, rest) => at(extension, rest),
  ],
]

/** Leaves that are enforced but not projected; currently none. */
const enforcedOnly: readonly RegExp[] = []

interface Projection {
  readonly manifest: unknown
  readonly mcp: McpProjection
  readonly extension: Fields
  readonly tool: (index: string) => McpProjection['tools'][number]
}

test('every leaf of a manifest is projected, enforced, or reported by a warning with its path [M23]', async () => {
  let [leafCount, droppedCount] = [0, 0]
  await fc.assert(
    fc.asyncProperty(manifest, async (data) => {
      const { mcp, diagnostics } = await project(data, { extensions: ['x-acme'], strict: false })
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
      const projection: Projection = {
        manifest: data,
        mcp,
        extension: mcp.extensions['dev.drawbridge/manifest'] ?? {},
        tool: (index) => {
          const tool = mcp.tools.find(({ name }) => name === data.capabilities[Number(index)]?.id)
          if (!tool) throw new Error(`no tool for /capabilities/${index}`)
          return tool
        },
      }
      const reportedPaths = mcp.warnings
        .filter(({ code }) => code === 'field_dropped' || code === 'field_unknown')
        .map(({ path }) => path)
      for (const [pointer, value] of toLeaves(data, '')) {
        leafCount++
        if (reportedPaths.some((path) => pointer === path || pointer.startsWith(`${path}/`)))
          droppedCount++
        else if (!enforcedOnly.some((pattern) => pattern.test(pointer)))
          expect({ [pointer]: findLeaf(projection, pointer) }).toEqual({ [pointer]: value })
      }
    }),
    { seed: 20260728, numRuns: sample(40, 150) },
  )
  console.info(
    `${leafCount} leaves: ${leafCount - droppedCount} projected, ${droppedCount} reported as dropped`,
  )
  expect(droppedCount).toBeGreaterThan(1000)
  expect(leafCount).toBeGreaterThan(5 * 1000)
})

test('with all: true every capability is projected and none is reported as dropped [M23]', async () => {
  await fc.assert(
    fc.asyncProperty(manifest, async (data) => {
      const { mcp } = await project(data, { extensions: ['x-acme'], strict: false, all: true })

      expect(mcp.tools.map(({ name }) => name)).toEqual(
        data.capabilities.map(({ id }) => id).sort(),
      )
      const droppedFields = mcp.warnings.filter(({ code }) => code === 'field_dropped')
      expect(droppedFields.filter(({ path }) => path.startsWith('/capabilities'))).toEqual([])
    }),
    { seed: 20260728, numRuns: sample(15, 50) },
  )
})

function findLeaf(projection: Projection, pointer: string): unknown {
  for (const [pattern, find] of targets) {
    const match = pattern.exec(pointer)
    if (match) return find(projection, ...match.slice(1))
  }
  return 'no row matches this pointer'
}

/** Leaves are scalars, empty objects and empty lists. */
function toLeaves(value: unknown, pointer: string): [pointer: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[pointer, value]]
  const entries = Object.entries(value)
  if (entries.length === 0 && pointer !== '/requirements') return [[pointer, value]]
  return entries.flatMap(([key, item]) =>
    toLeaves(item, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
}

function at(value: unknown, pointer: string): unknown {
  let current = value
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key))
      return undefined
    current = (current as Fields)[key]
  }
  return current
}
