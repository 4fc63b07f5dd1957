import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Capability } from '../../src/capability/capability.ts'
import { readOnly } from '../../src/capability/effects.ts'
import type { JsonObject } from '../../src/capability/json.ts'
import { defaultThresholds, type Rules } from '../../src/capability/rules.ts'
import type { Reading } from '../../src/capability/source.ts'
import type { SettingRule } from '../../src/capability/trust-surface.ts'
import { CatalogIndex } from '../../src/catalog/catalog-index.ts'
import { diffSnapshots } from '../../src/catalog/diff/diff-snapshots.ts'
import { type Difference, opposite } from '../../src/catalog/diff/difference.ts'
import { aCapability, aContract } from '../support/builders.ts'

const toSnapshot = (reading: Reading) => {
  const index = new CatalogIndex({ naming: 'literal', refine: (one) => one, text: 'keep' })
  index.put('test', { source: 'test', reading, diagnostics: [], track: (one) => one })
  index.applyChanges()
  return index.toSnapshot()
}

const aSnapshot = (...capabilities: Capability[]) => toSnapshot({ capabilities })

const diff = (before: Parts, after: Parts) =>
  diffSnapshots(aSnapshot(aCapability(before)), aSnapshot(aCapability(after)))

type Parts = Parameters<typeof aCapability>[0]

/** Formats each difference as `kind effect`, with `!` if it is breaking. */
const summarize = (differences: readonly Difference[]) =>
  differences.map(({ kind, effect, breaking }) => `${kind} ${effect}${breaking ? '!' : ''}`)

const aContractPart = (schema: JsonObject, direction: 'input' | 'output' = 'input') => ({
  [direction]: aContract({ type: 'object', ...schema }, direction),
})

const diffInputs = (before: JsonObject, after: JsonObject) =>
  summarize(diff(aContractPart(before), aContractPart(after)))
const diffOutputs = (before: JsonObject, after: JsonObject) =>
  summarize(diff(aContractPart(before, 'output'), aContractPart(after, 'output')))

const withPropertyA = (schema: JsonObject): JsonObject => ({ properties: { a: schema } })

describe('capabilities', () => {
  test('an added one is widening, a removed one is breaking, sorted by name', () => {
    const before = aSnapshot(aCapability({ name: 'b' }), aCapability({ name: 'c' }))
    const after = aSnapshot(aCapability({ name: 'b' }), aCapability({ name: 'a' }))

    expect(diffSnapshots(before, after)).toMatchObject([
      { capability: 'a', kind: 'capability_added', effect: 'widening', breaking: false },
      { capability: 'c', kind: 'capability_removed', effect: 'narrowing', breaking: true },
    ])
  })

  test('views and prompts are distinct from capabilities of the same name', () => {
    const view = { ...aCapability({ name: 'x' }), uri: 'x://{y}' }
    const prompt = { ...aCapability({ name: 'x' }), parameters: [] }
    const after = toSnapshot({ capabilities: [], views: [view], prompts: [prompt] })

    expect(diffSnapshots(aSnapshot(), after)).toMatchObject([
      { noun: 'view', capability: 'x://{y}', kind: 'view_added' },
      { noun: 'prompt', capability: 'x', kind: 'prompt_added' },
    ])
  })

  test('a changed description is a neutral difference', () => {
    const differences = diff({ description: 'Old words.' }, { description: 'New words.' })

    expect(summarize(differences)).toEqual(['description_changed neutral'])
    expect(differences[0]?.message).toMatch(/Old words.*New words/)
  })

  test('a changed origin is not a difference', () => {
    expect(diff({}, { origin: { source: 'elsewhere', pointer: '/x' } })).toEqual([])
  })

  test('an added protocol is widening; a removed one is breaking', () => {
    const withProtocols = (...protocols: string[]) => ({ extras: { protocols } })

    expect(summarize(diff(withProtocols('HTTP', 'MCP'), withProtocols('A2A', 'MCP')))).toEqual([
      'protocol_added widening',
      'protocol_removed narrowing!',
    ])
    expect(diff(withProtocols('HTTP', 'MCP'), withProtocols('MCP', 'HTTP'))).toEqual([])
  })
})

describe('destinations and code', () => {
  const diffDestinations = (before: JsonObject, after: JsonObject) =>
    diff({ destination: before }, { destination: after })

  test.each<[string, JsonObject, JsonObject, string[]]>([
    [
      'another host',
      { endpoint: 'https://a.example/x' },
      { endpoint: 'https://b.example/x' },
      ['host_changed widening'],
    ],
    [
      'another port',
      { url: 'https://a.example' },
      { url: 'https://a.example:8443' },
      ['host_changed widening'],
    ],
    ['a host alone', { host: 'a.example' }, { host: 'b.example' }, ['host_changed widening']],
    [
      'no encryption',
      { endpoint: 'https://a.example' },
      { endpoint: 'http://a.example' },
      ['scheme_changed widening'],
    ],
    [
      'encryption',
      { endpoint: 'http://a.example' },
      { endpoint: 'https://a.example' },
      ['scheme_changed narrowing'],
    ],
    [
      'no encryption on this machine',
      { endpoint: 'https://127.0.0.1:1' },
      { endpoint: 'http://127.0.0.1:1' },
      ['scheme_changed neutral'],
    ],
    [
      'another path',
      { endpoint: 'https://a.example/v1' },
      { endpoint: 'https://a.example/v2' },
      ['path_changed neutral'],
    ],
    [
      'another query',
      { endpoint: 'https://a.example/?k=1' },
      { endpoint: 'https://a.example/?k=2' },
      ['address_changed neutral'],
    ],
    [
      'a relative endpoint',
      { endpoint: '/v1' },
      { endpoint: 'https://a.example/v1' },
      ['address_changed neutral'],
    ],
    ['a safer method', { method: 'POST' }, { method: 'GET' }, ['method_changed narrowing']],
    [
      'a method that deletes',
      { method: 'POST' },
      { method: 'DELETE' },
      ['method_changed widening'],
    ],
    [
      'a method of the same kind',
      { method: 'PUT' },
      { method: 'PATCH' },
      ['method_changed neutral'],
    ],
    ['a path', { path: '/a' }, { path: '/b' }, ['path_changed neutral']],
    ['no authentication', { auth: 'oauth2' }, { auth: 'none' }, ['auth_changed widening']],
    ['authentication', { auth: 'none' }, { auth: 'custom' }, ['auth_changed narrowing']],
    ['another secret', { secret: 'env://A' }, { secret: 'env://B' }, ['secret_changed neutral']],
    ['a secret', {}, { secret: 'env://A' }, ['secret_added widening']],
    ['no secret', { secret: 'env://A' }, {}, ['secret_removed narrowing']],
    ['a field that nobody knows', { region: 'eu' }, { region: 'us' }, ['setting_changed neutral']],
    [
      'another order of agents',
      { agents: [{ name: 'a' }, { name: 'b' }] },
      { agents: [{ name: 'b' }, { name: 'a' }] },
      ['order_changed neutral'],
    ],
    [
      'a step at another host',
      { steps: [{ id: 'a', destination: { endpoint: 'https://a.example' } }] },
      { steps: [{ id: 'a', destination: { endpoint: 'https://b.example' } }] },
      ['host_changed widening'],
    ],
  ])('%s', (_, before, after, expected) => {
    const differences = diffDestinations(before, after)

    expect(summarize(differences)).toEqual(expected)
    for (const { effect, review, message } of differences)
      expect([review, message.includes('Review it')]).toEqual(
        effect === 'neutral' ? [true, true] : [undefined, false],
      )
  })

  test('no query, user or password of an address is printed', () => {
    const [before, after] = [
      'https://u:pass1@a.example/?k=pass2',
      'https://u:pass3@a.example/?k=pass4',
    ]

    for (const pair of [
      [{ url: before }, { url: after }],
      [{ url: before }, {}],
      [{}, { url: after }],
      [{ url: before }, { url: 'not a url: pass5?' }],
    ] as const)
      expect(JSON.stringify(diffDestinations(pair[0], pair[1]))).not.toMatch(/pass\d/)
  })

  test('a handler instead of a server, and the reverse', () => {
    const upstream = { destination: { endpoint: 'https://a.example' } }

    expect(summarize(diff(upstream, { code: 'digest' }))).toEqual([
      'code_changed neutral',
      'destination_removed narrowing',
    ])
    expect(summarize(diff({ code: 'digest' }, upstream))).toEqual([
      'code_changed neutral',
      'destination_added widening',
    ])
  })

  test('other code is to be reviewed', () => {
    expect(diff({ code: 'a' }, { code: 'b' })).toMatchObject([
      {
        kind: 'code_changed',
        effect: 'neutral',
        review: true,
        message: expect.stringMatching(/Review/),
      },
    ])
  })
})

describe('sources as a whole', () => {
  const about = (extension: JsonObject, version = '1.0.0') =>
    toSnapshot({ capabilities: [], about: { name: 'pets', version, extension } })
  const surface = (settings: JsonObject, rules: readonly SettingRule[]) =>
    toSnapshot({ capabilities: [], surface: { settings, rules } })

  test('what a source says about itself is compared, and to be reviewed', () => {
    const differences = diffSnapshots(about({ digest: 'a' }), about({ digest: 'b' }, '1.1.0'))

    expect(differences).toMatchObject([
      { noun: 'source', capability: 'test', pointer: '/extension/digest', review: true },
      { noun: 'source', pointer: '/version', effect: 'neutral' },
    ])
  })

  test('settings are judged by the rules of their source', () => {
    const rules: SettingRule[] = [
      { at: '/retries', label: 'the number of retries', judgement: 'more', absent: 0 },
      {
        at: '/hosts',
        label: 'the hosts',
        judgement: 'review',
        items: { noun: 'host', name: 'id', identity: ['id'] },
      },
      { at: '/hosts/*', label: '', judgement: 'presence', kind: 'host' },
      { at: '/hosts/*/url', label: 'the address', judgement: 'address' },
      { at: '/token', label: 'the token', judgement: 'secret' },
    ]
    const before = surface(
      { hosts: [{ id: 'a', url: 'https://a.example' }], token: 'hidden-1' },
      rules,
    )
    const after = surface(
      {
        retries: 1,
        hosts: [{ id: 'b' }, { id: 'a', url: 'https://b.example' }],
        token: 'hidden-2',
      },
      rules,
    )
    const differences = diffSnapshots(before, after)

    expect(differences.map(({ pointer, kind, effect }) => [pointer, kind, effect])).toEqual([
      ['/hosts/0', 'host_added', 'widening'],
      ['/hosts/1/url', 'host_changed', 'widening'],
      ['/retries', 'setting_added', 'widening'],
      ['/token', 'secret_changed', 'neutral'],
    ])
    expect(JSON.stringify(differences)).not.toContain('hidden-')
  })

  test('a default that is written out is no change', () => {
    const rules: SettingRule[] = [
      { at: '/retries', label: 'the number of retries', judgement: 'more', absent: 0 },
      { at: '/strict', label: 'strict', judgement: 'off' },
    ]

    expect(
      diffSnapshots(surface({}, rules), surface({ retries: 0, strict: false }, rules)),
    ).toEqual([])
  })

  test('a mapping that is added is not printed, and names of prototypes are ordinary keys', () => {
    const rules: SettingRule[] = [{ at: '/serve', label: 'serving', judgement: 'presence' }]
    const settings = JSON.parse('{ "serve": { "token": "hidden" }, "__proto__": { "a": 1 } }')
    const differences = diffSnapshots(surface({}, rules), surface(settings, rules))

    expect(differences.map(({ pointer }) => pointer)).toEqual(['/__proto__/a', '/serve'])
    expect(JSON.stringify(differences)).not.toContain('hidden')
  })
})

describe('rules and effects', () => {
  const diffRules = (before: Partial<Rules>, after: Partial<Rules>) =>
    summarize(diff({ rules: before }, { rules: after }))
  const aBudget = (parts = {}) => ({
    id: 'b',
    unit: 'EUR',
    limit: 100,
    per: 'caller' as const,
    window: 'day' as const,
    thresholds: defaultThresholds,
    ...parts,
  })

  test.each<[string, Partial<Rules>, Partial<Rules>, string[]]>([
    [
      'a permission removed',
      { permissions: ['a', 'b'] },
      { permissions: ['b'] },
      ['permission_removed widening'],
    ],
    [
      'a permission added',
      { permissions: [] },
      { permissions: ['a'] },
      ['permission_added narrowing!'],
    ],
    [
      'approval no longer required',
      { approval: true },
      { approval: false },
      ['newly_unapproved widening'],
    ],
    ['approval required', {}, { approval: true }, ['newly_approved narrowing!']],
    [
      'fewer approvers',
      { approval: true },
      { approval: true, approvers: ['ann'] },
      ['approvers_changed narrowing'],
    ],
    [
      'callers that may decide themselves',
      { approval: true },
      { approval: true, approvers: 'self' },
      ['approvers_changed widening'],
    ],
    [
      'more approvers',
      { approval: true, approvers: ['ann'] },
      { approval: true, approvers: ['bob', 'ann'] },
      ['approvers_changed widening'],
    ],
    ['an idempotency key required', {}, { idempotencyKey: true }, ['key_required narrowing!']],
    [
      'an idempotency key no longer required',
      { idempotencyKey: true },
      {},
      ['key_optional widening'],
    ],
    ['a budget removed', { budgets: [aBudget()] }, {}, ['budget_removed widening']],
    ['a budget added', {}, { budgets: [aBudget()] }, ['budget_added narrowing']],
    [
      'a higher budget',
      { budgets: [aBudget()] },
      { budgets: [aBudget({ limit: 200 })] },
      ['budget_raised widening'],
    ],
    [
      'a budget with a longer window',
      { budgets: [aBudget({ id: 'per day' })] },
      { budgets: [aBudget({ id: 'per month', window: 'month' })] },
      ['budget_lowered narrowing'],
    ],
    [
      'a budget with a higher stop threshold',
      { budgets: [aBudget()] },
      { budgets: [aBudget({ thresholds: { ...defaultThresholds, stop: 200 } })] },
      ['budget_raised widening'],
    ],
    [
      'a budget in another unit',
      { budgets: [aBudget()] },
      { budgets: [aBudget({ unit: 'USD' })] },
      ['budget_changed neutral!'],
    ],
    [
      'a higher rate limit',
      { rates: [{ id: '1/1', calls: 1, seconds: 1 }] },
      { rates: [{ id: '2/1', calls: 2, seconds: 1 }] },
      ['rate_raised widening'],
    ],
    [
      'a rate limit removed',
      { rates: [{ id: 'r', calls: 1, seconds: 1 }] },
      {},
      ['rate_removed widening'],
    ],
    ['a longer timeout', { timeout: 1 }, { timeout: 2 }, ['timeout_changed widening']],
    ['a shorter timeout', { timeout: 2 }, { timeout: 1 }, ['timeout_changed narrowing']],
    [
      'a lower cost',
      { cost: { amount: 2, unit: 'EUR' } },
      { cost: { amount: 1, unit: 'EUR' } },
      ['cost_changed widening'],
    ],
    [
      'duplicates that are no longer detected',
      {},
      { repeatsAreMeant: true },
      ['duplicates_allowed widening'],
    ],
    [
      'a rate for each caller instead of all',
      { rates: [{ id: 'r', calls: 1, seconds: 1, shared: true }] },
      { rates: [{ id: 'r', calls: 1, seconds: 1 }] },
      ['rate_raised widening'],
    ],
    [
      'arguments no longer recorded',
      { recordArguments: true },
      {},
      ['arguments_unrecorded widening'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(diffRules(before, after)).toEqual(expected)
  })

  test('becoming a write or irreversible is widening', () => {
    const destructive = { ...readOnly, writes: true, irreversible: true }

    expect(summarize(diff({ effects: readOnly }, { effects: destructive }))).toEqual([
      'newly_irreversible widening',
      'newly_writing widening',
    ])
  })

  test('losing repeatable is breaking', () => {
    const notRepeatable = { ...readOnly, repeatable: false }

    expect(summarize(diff({ effects: readOnly }, { effects: notRepeatable }))).toEqual([
      'no_longer_repeatable neutral!',
    ])
  })
})

describe('input schemas', () => {
  test.each<[string, JsonObject, JsonObject, string[]]>([
    [
      'a property becomes required',
      withPropertyA({}),
      { ...withPropertyA({}), required: ['a'] },
      ['required_added narrowing!'],
    ],
    ['a property is no longer required', { required: ['a'] }, {}, ['required_removed widening']],
    [
      'an optional property added',
      {},
      withPropertyA({ type: 'string' }),
      ['property_added neutral'],
    ],
    ['a property removed', withPropertyA({ type: 'string' }), {}, ['property_removed neutral!']],
    [
      'a narrower type',
      withPropertyA({ type: ['string', 'null'] }),
      withPropertyA({ type: 'string' }),
      ['type_narrowed narrowing!'],
    ],
    [
      'number to integer',
      withPropertyA({ type: 'number' }),
      withPropertyA({ type: 'integer' }),
      ['type_narrowed narrowing!'],
    ],
    [
      'a wider type',
      withPropertyA({ type: 'integer' }),
      withPropertyA({ type: 'number' }),
      ['type_widened widening'],
    ],
    [
      'another type',
      withPropertyA({ type: 'string' }),
      withPropertyA({ type: 'number' }),
      ['type_changed neutral!'],
    ],
    [
      'const removed beside an enum',
      withPropertyA({ enum: ['x', 'y'], const: 'x' }),
      withPropertyA({ enum: ['x', 'y'] }),
      ['value_added widening'],
    ],
    [
      'const null removed',
      withPropertyA({ const: null }),
      withPropertyA({}),
      ['constraint_changed widening'],
    ],
    [
      'an enum value removed',
      withPropertyA({ enum: ['x', 'y'] }),
      withPropertyA({ enum: ['y'] }),
      ['value_removed narrowing!'],
    ],
    [
      'an enum value added',
      withPropertyA({ const: 'x' }),
      withPropertyA({ enum: ['x', 'y'] }),
      ['value_added widening'],
    ],
    [
      'additionalProperties forbidden',
      {},
      { additionalProperties: false },
      ['properties_closed narrowing!'],
    ],
    [
      'additionalProperties allowed',
      { additionalProperties: false },
      {},
      ['properties_opened widening'],
    ],
    [
      'a lower maximum',
      withPropertyA({ maximum: 9 }),
      withPropertyA({ maximum: 5 }),
      ['limit_changed narrowing!'],
    ],
    [
      'a minimum removed',
      withPropertyA({ minimum: 1 }),
      withPropertyA({}),
      ['limit_changed widening'],
    ],
    [
      'a pattern added',
      withPropertyA({}),
      withPropertyA({ pattern: '^a' }),
      ['constraint_changed narrowing!'],
    ],
    [
      'another pattern',
      withPropertyA({ pattern: '^b' }),
      withPropertyA({ pattern: '^a' }),
      ['constraint_changed neutral!'],
    ],
    [
      'a changed title and description',
      withPropertyA({ title: 'x' }),
      withPropertyA({ description: 'y' }),
      ['words_changed neutral', 'words_changed neutral'],
    ],
    [
      'a change inside items',
      withPropertyA({ items: { type: 'string' } }),
      withPropertyA({ items: { type: 'string', maxLength: 3 } }),
      ['limit_changed narrowing!'],
    ],
    [
      'an anyOf alternative removed',
      withPropertyA({ anyOf: [{ type: 'string' }, { type: 'null' }] }),
      withPropertyA({ anyOf: [{ type: 'string' }] }),
      ['schema_changed narrowing!'],
    ],
    [
      'a change inside an anyOf alternative',
      withPropertyA({ anyOf: [{ type: 'string' }, { type: 'null' }] }),
      withPropertyA({ anyOf: [{ type: 'null' }, { type: 'string', maxLength: 3 }] }),
      ['limit_changed narrowing!'],
    ],
    [
      'an allOf condition added',
      withPropertyA({ allOf: [{ minLength: 1 }] }),
      withPropertyA({ allOf: [{ minLength: 1 }, { maxLength: 3 }] }),
      ['schema_changed narrowing!'],
    ],
    [
      'reordered required, enum and type lists',
      { required: ['a', 'b'], ...withPropertyA({ enum: [1, 2], type: ['string', 'null'] }) },
      { required: ['b', 'a'], ...withPropertyA({ enum: [2, 1], type: ['null', 'string'] }) },
      [],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(diffInputs(before, after)).toEqual(expected)
  })

  test('the pointer of a change behind a $ref is that of the referring property', () => {
    const before = {
      ...withPropertyA({ $ref: '#/$defs/x' }),
      $defs: { x: withPropertyA({ type: 'string' }) },
    }
    const after = {
      ...withPropertyA({ $ref: '#/$defs/y' }),
      $defs: { y: withPropertyA({ type: 'number' }), z: {} },
    }

    expect(diff(aContractPart(before), aContractPart(after))).toMatchObject([
      { pointer: '/input/properties/a/properties/a/type', kind: 'type_changed' },
    ])
  })

  test('recursive schemas are compared once', () => {
    const tree = (leaf: string) => ({
      ...withPropertyA({ $ref: '#/$defs/tree' }),
      $defs: { tree: { properties: { left: { $ref: '#/$defs/tree' }, leaf: { type: leaf } } } },
    })

    expect(diffInputs(tree('string'), tree('string'))).toEqual([])
    expect(diffInputs(tree('string'), tree('number'))).toEqual(['type_changed neutral!'])
  })

  test('changes behind a $ref with sibling keywords or inside not are found', () => {
    const withSibling = (type: string) => ({
      ...withPropertyA({ $ref: '#/$defs/x', properties: { more: {} } }),
      $defs: { x: withPropertyA({ type }) },
    })
    const negated = (type: string) => ({
      ...withPropertyA({ not: { $ref: '#/$defs/x' } }),
      $defs: { x: { type } },
    })

    expect(diffInputs(withSibling('string'), withSibling('number'))).toEqual([
      'type_changed neutral!',
    ])
    expect(diffInputs(negated('string'), negated('number'))).toEqual(['schema_changed neutral!'])
  })
})

describe('output schemas', () => {
  test.each<[string, JsonObject, JsonObject, string[]]>([
    [
      'a required property removed',
      { ...withPropertyA({}), required: ['a'] },
      {},
      ['property_removed neutral!', 'required_removed widening!'],
    ],
    ['an optional property removed', withPropertyA({}), {}, ['property_removed neutral']],
    ['a property added', {}, withPropertyA({}), ['property_added neutral']],
    [
      'a property becomes required',
      withPropertyA({}),
      { ...withPropertyA({}), required: ['a'] },
      ['required_added narrowing'],
    ],
    [
      'a wider type',
      withPropertyA({ type: 'integer' }),
      withPropertyA({ type: 'number' }),
      ['type_widened widening!'],
    ],
    [
      'a narrower type',
      withPropertyA({ type: 'number' }),
      withPropertyA({ type: 'integer' }),
      ['type_narrowed narrowing'],
    ],
    [
      'an enum value added',
      withPropertyA({ enum: ['x'] }),
      withPropertyA({ enum: ['x', 'y'] }),
      ['value_added widening!'],
    ],
    [
      'an enum value removed',
      withPropertyA({ enum: ['x', 'y'] }),
      withPropertyA({ enum: ['x'] }),
      ['value_removed narrowing'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(diffOutputs(before, after)).toEqual(expected)
  })

  test('a removed output schema is breaking; an added one is not', () => {
    const withOutput = aContractPart({}, 'output')

    expect(summarize(diff(withOutput, {}))).toEqual(['output_removed widening!'])
    expect(summarize(diff({}, withOutput))).toEqual(['output_added narrowing'])
  })
})

describe('any two snapshots', () => {
  test('a snapshot has no differences from its copy', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        expect(diffSnapshots(snapshot, structuredSnapshot(snapshot))).toEqual([])
      }),
    )
  })

  test('the reverse diff has the opposite effects, except of declared effects', () => {
    fc.assert(
      fc.property(snapshots, snapshots, (before, after) => {
        const forward = diffSnapshots(before, after).filter(isReversible).map(toSide)
        const backward = diffSnapshots(after, before).filter(isReversible).map(toSide)
        const reversed = backward.map(({ place, effect }) => ({ place, effect: opposite[effect] }))

        expect(forward.map((one) => JSON.stringify(one)).sort()).toEqual(
          reversed.map((one) => JSON.stringify(one)).sort(),
        )
      }),
    )
  })

  /** More effects are widening, and so is a declaration of fewer, which takes oversight away. */
  const isReversible = ({ pointer }: Difference) => pointer !== '/effects/writes'

  const toSide = ({ capability, pointer, effect }: Difference) => ({
    // Alternatives are unordered, so their indexes differ between the two directions.
    place: `${capability}${pointer.replaceAll(/\/\d+/g, '/*')}`,
    effect,
  })

  const structuredSnapshot = (snapshot: ReturnType<typeof aSnapshot>) =>
    aSnapshot(
      ...[...snapshot.capabilities.values()].map(({ capability }) => ({
        ...capability,
        input: { ...capability.input, schema: structuredClone(capability.input.schema) },
      })),
    )

  const leaf = fc.oneof(
    fc.record({ type: fc.constantFrom('string', 'number', 'integer') }, { requiredKeys: [] }),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1 }) }),
    fc.record({ maximum: fc.nat(3), description: fc.constantFrom('x', 'y') }, { requiredKeys: [] }),
    fc.constant({ $ref: '#/$defs/shared' }),
  )
  const form = fc
    .record(
      {
        properties: fc.dictionary(fc.constantFrom('p', 'q'), leaf),
        required: fc.uniqueArray(fc.constantFrom('p', 'q')),
        additionalProperties: fc.boolean(),
        anyOf: fc.array(leaf, { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    .map((schema) =>
      aContract({
        type: 'object',
        ...schema,
        $defs: { shared: { properties: { again: { $ref: '#/$defs/shared' } } } },
      }),
    )
  const rules = fc.record(
    {
      permissions: fc.uniqueArray(fc.constantFrom('a', 'b')),
      approval: fc.boolean(),
      idempotencyKey: fc.boolean(),
      rates: fc.array(
        fc.record({ id: fc.constant('r'), calls: fc.nat(2), seconds: fc.constant(1) }),
      ),
      timeout: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: [] },
  )
  const capability = fc
    .record({ input: form, rules, writes: fc.boolean(), protocol: fc.constantFrom('MCP', 'A2A') })
    .map(({ input, rules, writes, protocol }) => ({
      input,
      rules,
      effects: { ...readOnly, writes },
      extras: { protocols: [protocol] },
    }))
  const snapshots = fc
    .dictionary(fc.constantFrom('a', 'b', 'c'), capability)
    .map((byName) =>
      aSnapshot(...Object.entries(byName).map(([name, parts]) => aCapability({ name, ...parts }))),
    )
})
