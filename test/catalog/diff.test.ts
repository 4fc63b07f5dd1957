import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Capability } from '../../src/capability/capability.ts'
import { readOnly } from '../../src/capability/effects.ts'
import type { JsonObject } from '../../src/capability/json.ts'
import { defaultThresholds, type Rules } from '../../src/capability/rules.ts'
import type { Reading } from '../../src/capability/source.ts'
import { CatalogIndex } from '../../src/catalog/catalog-index.ts'
import { diffSnapshots } from '../../src/catalog/diff/diff-snapshots.ts'
import { type Difference, opposite } from '../../src/catalog/diff/difference.ts'
import { aCapability, aContract } from '../support/builders.ts'

const toSnapshot = (reading: Reading) => {
  const stock = new CatalogIndex('literal', (one) => one)
  stock.put('test', { reading, diagnostics: [], track: (one) => one })
  stock.applyChanges()
  return stock.toSnapshot()
}

const aSnapshot = (...capabilities: Capability[]) => toSnapshot({ capabilities })

const diff = (before: Parts, now: Parts) =>
  diffSnapshots(aSnapshot(aCapability(before)), aSnapshot(aCapability(now)))

type Parts = Parameters<typeof aCapability>[0]

/** Widening, narrowing, neutral; with `!` where it breaks. */
const told = (differences: readonly Difference[]) =>
  differences.map(({ kind, effect, breaking }) => `${kind} ${effect}${breaking ? '!' : ''}`)

const aForm = (schema: JsonObject, direction: 'input' | 'output' = 'input') => ({
  [direction]: aContract({ type: 'object', ...schema }, direction),
})

const inputs = (before: JsonObject, now: JsonObject) => told(diff(aForm(before), aForm(now)))
const outputs = (before: JsonObject, now: JsonObject) =>
  told(diff(aForm(before, 'output'), aForm(now, 'output')))

const has = (schema: JsonObject): JsonObject => ({ properties: { a: schema } })

describe('capabilities', () => {
  test('a new one widens, one that is gone breaks, and they stand in order of their names', () => {
    const before = aSnapshot(aCapability({ name: 'b' }), aCapability({ name: 'c' }))
    const now = aSnapshot(aCapability({ name: 'b' }), aCapability({ name: 'a' }))

    expect(diffSnapshots(before, now)).toMatchObject([
      { capability: 'a', kind: 'capability_added', effect: 'widening', breaking: false },
      { capability: 'c', kind: 'capability_removed', effect: 'narrowing', breaking: true },
    ])
  })

  test('views and prompts are told apart from capabilities of the same name', () => {
    const view = { ...aCapability({ name: 'x' }), uri: 'x://{y}' }
    const prompt = { ...aCapability({ name: 'x' }), parameters: [] }
    const now = toSnapshot({ capabilities: [], views: [view], prompts: [prompt] })

    expect(diffSnapshots(aSnapshot(), now)).toMatchObject([
      { noun: 'view', capability: 'x://{y}', kind: 'view_added' },
      { noun: 'prompt', capability: 'x', kind: 'prompt_added' },
    ])
  })

  test('other words are told and are neutral', () => {
    const differences = diff({ description: 'Old words.' }, { description: 'New words.' })

    expect(told(differences)).toEqual(['description_changed neutral'])
    expect(differences[0]?.message).toMatch(/Old words.*New words/)
  })

  test('where it was declared makes no difference', () => {
    expect(diff({}, { origin: { source: 'elsewhere', pointer: '/x' } })).toEqual([])
  })

  test('another protocol widens; one that is gone breaks', () => {
    const offered = (...protocols: string[]) => ({ extras: { protocols } })

    expect(told(diff(offered('HTTP', 'MCP'), offered('A2A', 'MCP')))).toEqual([
      'protocol_added widening',
      'protocol_removed narrowing!',
    ])
    expect(diff(offered('HTTP', 'MCP'), offered('MCP', 'HTTP'))).toEqual([])
  })
})

describe('rules and effects', () => {
  const rules = (before: Partial<Rules>, now: Partial<Rules>) =>
    told(diff({ rules: before }, { rules: now }))
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
      'a scope less',
      { permissions: ['a', 'b'] },
      { permissions: ['b'] },
      ['permission_removed widening'],
    ],
    ['a scope more', { permissions: [] }, { permissions: ['a'] }, ['permission_added narrowing!']],
    ['newly unapproved', { approval: true }, { approval: false }, ['newly_unapproved widening']],
    ['newly approved', {}, { approval: true }, ['newly_approved narrowing!']],
    [
      'fewer who may approve',
      { approval: true },
      { approval: true, approvers: ['ann'] },
      ['approvers_changed narrowing'],
    ],
    [
      'more who may approve',
      { approval: true, approvers: ['ann'] },
      { approval: true, approvers: ['bob', 'ann'] },
      ['approvers_changed widening'],
    ],
    ['a key is needed', {}, { idempotencyKey: true }, ['key_required narrowing!']],
    ['no key is needed', { idempotencyKey: true }, {}, ['key_optional widening']],
    ['a budget less', { budgets: [aBudget()] }, {}, ['budget_removed widening']],
    ['a budget more', {}, { budgets: [aBudget()] }, ['budget_added narrowing']],
    [
      'a higher budget',
      { budgets: [aBudget()] },
      { budgets: [aBudget({ limit: 200 })] },
      ['budget_raised widening'],
    ],
    [
      'a budget that lasts for longer',
      { budgets: [aBudget({ id: 'per day' })] },
      { budgets: [aBudget({ id: 'per month', window: 'month' })] },
      ['budget_lowered narrowing'],
    ],
    [
      'a budget that stops later',
      { budgets: [aBudget()] },
      { budgets: [aBudget({ thresholds: { ...defaultThresholds, stop: 200 } })] },
      ['budget_raised widening'],
    ],
    [
      'a budget of something else',
      { budgets: [aBudget()] },
      { budgets: [aBudget({ unit: 'USD' })] },
      ['budget_changed neutral!'],
    ],
    [
      'a faster rate',
      { rates: [{ id: '1/1', calls: 1, seconds: 1 }] },
      { rates: [{ id: '2/1', calls: 2, seconds: 1 }] },
      ['rate_raised widening'],
    ],
    ['no rate', { rates: [{ id: 'r', calls: 1, seconds: 1 }] }, {}, ['rate_removed widening']],
    ['more time', { timeout: 1 }, { timeout: 2 }, ['timeout_changed widening']],
    ['less time', { timeout: 2 }, { timeout: 1 }, ['timeout_changed narrowing']],
    [
      'cheaper calls',
      { cost: { amount: 2, unit: 'EUR' } },
      { cost: { amount: 1, unit: 'EUR' } },
      ['cost_changed widening'],
    ],
    ['arguments not kept', { recordArguments: true }, {}, ['arguments_unrecorded widening']],
  ])('%s', (_, before, now, expected) => {
    expect(rules(before, now)).toEqual(expected)
  })

  test('newly writing and newly irreversible widen', () => {
    const deletes = { ...readOnly, writes: true, irreversible: true }

    expect(told(diff({ effects: readOnly }, { effects: deletes }))).toEqual([
      'newly_irreversible widening',
      'newly_writing widening',
    ])
  })

  test('what can no longer be repeated breaks those who repeat it', () => {
    const once = { ...readOnly, repeatable: false }

    expect(told(diff({ effects: readOnly }, { effects: once }))).toEqual([
      'no_longer_repeatable neutral!',
    ])
  })
})

describe('what goes in', () => {
  test.each<[string, JsonObject, JsonObject, string[]]>([
    ['required', has({}), { ...has({}), required: ['a'] }, ['required_added narrowing!']],
    ['no longer required', { required: ['a'] }, {}, ['required_removed widening']],
    ['an optional property', {}, has({ type: 'string' }), ['property_added neutral']],
    ['a property less', has({ type: 'string' }), {}, ['property_removed neutral!']],
    [
      'a narrower type',
      has({ type: ['string', 'null'] }),
      has({ type: 'string' }),
      ['type_narrowed narrowing!'],
    ],
    [
      'whole numbers only',
      has({ type: 'number' }),
      has({ type: 'integer' }),
      ['type_narrowed narrowing!'],
    ],
    ['a wider type', has({ type: 'integer' }), has({ type: 'number' }), ['type_widened widening']],
    ['another type', has({ type: 'string' }), has({ type: 'number' }), ['type_changed neutral!']],
    ['a value less', has({ enum: ['x', 'y'] }), has({ enum: ['y'] }), ['value_removed narrowing!']],
    ['a value more', has({ const: 'x' }), has({ enum: ['x', 'y'] }), ['value_added widening']],
    ['closed', {}, { additionalProperties: false }, ['properties_closed narrowing!']],
    ['opened', { additionalProperties: false }, {}, ['properties_opened widening']],
    ['a lower maximum', has({ maximum: 9 }), has({ maximum: 5 }), ['limit_changed narrowing!']],
    ['no minimum', has({ minimum: 1 }), has({}), ['limit_changed widening']],
    ['a pattern', has({}), has({ pattern: '^a' }), ['constraint_changed narrowing!']],
    [
      'another pattern',
      has({ pattern: '^b' }),
      has({ pattern: '^a' }),
      ['constraint_changed neutral!'],
    ],
    [
      'other words',
      has({ title: 'x' }),
      has({ description: 'y' }),
      ['words_changed neutral', 'words_changed neutral'],
    ],
    [
      'inside a list',
      has({ items: { type: 'string' } }),
      has({ items: { type: 'string', maxLength: 3 } }),
      ['limit_changed narrowing!'],
    ],
    [
      'an alternative less',
      has({ anyOf: [{ type: 'string' }, { type: 'null' }] }),
      has({ anyOf: [{ type: 'string' }] }),
      ['schema_changed narrowing!'],
    ],
    [
      'inside an alternative',
      has({ anyOf: [{ type: 'string' }, { type: 'null' }] }),
      has({ anyOf: [{ type: 'null' }, { type: 'string', maxLength: 3 }] }),
      ['limit_changed narrowing!'],
    ],
    [
      'one more condition',
      has({ allOf: [{ minLength: 1 }] }),
      has({ allOf: [{ minLength: 1 }, { maxLength: 3 }] }),
      ['schema_changed narrowing!'],
    ],
    [
      'the order of lists that are sets',
      { required: ['a', 'b'], ...has({ enum: [1, 2], type: ['string', 'null'] }) },
      { required: ['b', 'a'], ...has({ enum: [2, 1], type: ['null', 'string'] }) },
      [],
    ],
  ])('%s', (_, before, now, expected) => {
    expect(inputs(before, now)).toEqual(expected)
  })

  test('a change is told where a reader finds it, also behind a reference', () => {
    const before = { ...has({ $ref: '#/$defs/x' }), $defs: { x: has({ type: 'string' }) } }
    const now = { ...has({ $ref: '#/$defs/y' }), $defs: { y: has({ type: 'number' }), z: {} } }

    expect(diff(aForm(before), aForm(now))).toMatchObject([
      { pointer: '/input/properties/a/properties/a/type', kind: 'type_changed' },
    ])
  })

  test('schemas that hold themselves are compared once', () => {
    const tree = (leaf: string) => ({
      ...has({ $ref: '#/$defs/tree' }),
      $defs: { tree: { properties: { left: { $ref: '#/$defs/tree' }, leaf: { type: leaf } } } },
    })

    expect(inputs(tree('string'), tree('string'))).toEqual([])
    expect(inputs(tree('string'), tree('number'))).toEqual(['type_changed neutral!'])
  })

  test('nothing hides behind what stands beside a reference, or in a negation', () => {
    const beside = (type: string) => ({
      ...has({ $ref: '#/$defs/x', properties: { more: {} } }),
      $defs: { x: has({ type }) },
    })
    const negated = (type: string) => ({
      ...has({ not: { $ref: '#/$defs/x' } }),
      $defs: { x: { type } },
    })

    expect(inputs(beside('string'), beside('number'))).toEqual(['type_changed neutral!'])
    expect(inputs(negated('string'), negated('number'))).toEqual(['schema_changed neutral!'])
  })
})

describe('what comes out', () => {
  test.each<[string, JsonObject, JsonObject, string[]]>([
    [
      'a promised property less',
      { ...has({}), required: ['a'] },
      {},
      ['property_removed neutral!', 'required_removed widening!'],
    ],
    ['a property less that was never promised', has({}), {}, ['property_removed neutral']],
    ['a property more', {}, has({}), ['property_added neutral']],
    ['a promise more', has({}), { ...has({}), required: ['a'] }, ['required_added narrowing']],
    ['a wider type', has({ type: 'integer' }), has({ type: 'number' }), ['type_widened widening!']],
    [
      'a narrower type',
      has({ type: 'number' }),
      has({ type: 'integer' }),
      ['type_narrowed narrowing'],
    ],
    ['a value more', has({ enum: ['x'] }), has({ enum: ['x', 'y'] }), ['value_added widening!']],
    ['a value less', has({ enum: ['x', 'y'] }), has({ enum: ['x'] }), ['value_removed narrowing']],
  ])('%s', (_, before, now, expected) => {
    expect(outputs(before, now)).toEqual(expected)
  })

  test('answers whose form is no longer promised break; a new promise does not', () => {
    const promised = aForm({}, 'output')

    expect(told(diff(promised, {}))).toEqual(['output_removed widening!'])
    expect(told(diff({}, promised))).toEqual(['output_added narrowing'])
  })
})

describe('whatever is compared', () => {
  test('with itself, nothing changed', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        expect(diffSnapshots(snapshot, structuredSnapshot(snapshot))).toEqual([])
      }),
    )
  })

  test('the other way round, what widened narrows', () => {
    fc.assert(
      fc.property(snapshots, snapshots, (before, now) => {
        const there = diffSnapshots(before, now).map(toSide)
        const back = diffSnapshots(now, before).map(toSide)
        const turned = back.map(({ place, effect }) => ({ place, effect: opposite[effect] }))

        expect(there.map((one) => JSON.stringify(one)).sort()).toEqual(
          turned.map((one) => JSON.stringify(one)).sort(),
        )
      }),
    )
  })

  const toSide = ({ capability, pointer, effect }: Difference) => ({
    // Alternatives have no order, so each side counts them its own way.
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
