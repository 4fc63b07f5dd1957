import { expect, test } from 'vitest'
import { createDrawbridge, defineTool, definitionSource } from '../../src/index.ts'
import { aContract } from '../support/builders.ts'
import { postModern } from '../support/modern-request.ts'
import { serveHere } from '../support/serve-here.ts'

/** Takes longer than one slice on any machine: three passes over 2 MB. */
const longText = `${'abc-'.repeat(500_000)}x`
const slowPattern = '^(?=[a-z-]*$)(?=[^A-Z]*$)(?:[a-z]+-)*[a-z]+$'

/** A schema, and values of which some are valid. */
const cases: readonly (readonly [schema: object, values: readonly unknown[]])[] = [
  [{ pattern: '^a+$' }, ['aa', 'ab']],
  [{ $ref: '#' }, [{}, { text: 'A' }, 1]],
  [{ $ref: '#/$defs/tree' }, treeValues()],
  [{ propertyNames: { $ref: '#/$defs/name' } }, [{ a: 1 }, { A: 1 }]],
  [{ patternProperties: { '^x': { type: 'string' } }, additionalProperties: false }, objects()],
  [{ dependentRequired: { a: ['b'] }, dependentSchemas: { b: { required: ['x1'] } } }, objects()],
  [{ if: { required: ['a'] }, else: false }, objects()],
  [{ not: { properties: { a: { pattern: 'o' } }, required: ['a'] } }, objects()],
  [{ allOf: [{ properties: { a: {} } }], unevaluatedProperties: { pattern: '^o' } }, objects()],
  [{ contains: { pattern: 'b' }, minContains: 2, maxContains: 3 }, arrays()],
  [{ prefixItems: [{ pattern: 'a' }], items: false }, arrays()],
  [{ prefixItems: [{ pattern: 'a' }], unevaluatedItems: { pattern: 'b' } }, arrays()],
  [{ uniqueItems: true }, arrays()],
  [{ oneOf: [{ pattern: 'a' }, { pattern: 'b' }] }, ['a', 'b', 'ab', 'c']],
  [{ enum: Array.from({ length: 300 }, (_, at) => (at % 2 ? at : { at })) }, [1, 2, { at: 2 }]],
  [
    { const: { 'pattern0.test(data0)': '"validate1(' } },
    [{ 'pattern0.test(data0)': '"validate1(' }],
  ],
  [
    { properties: { 'validate1(': { pattern: 'a' } } },
    [{ 'validate1(': 'a' }, { 'validate1(': 'b' }],
  ],
  [{ minLength: 2, maxLength: 3 }, ['a', '😀😀', 'abcd']],
  [{ multipleOf: 0.01 }, [19.99, 1.115]],
  [{ required: ['toString'], additionalProperties: { pattern: 'a' } }, [{ toString: 'a' }, {}]],
]

const $defs = {
  name: { pattern: '^a' },
  tree: {
    type: 'object',
    properties: { name: { pattern: 'a' }, children: { items: { $ref: '#/$defs/tree' } } },
  },
}

function treeValues(): unknown[] {
  return [
    { children: [{ children: [{ name: 'a' }] }] },
    { children: [{ children: [{ name: 'b' }] }] },
  ]
}

function objects(): unknown[] {
  return [{}, { a: 'o' }, { a: 1, b: 'o' }, { x1: 'o' }, { x1: 1 }, { b: 'o', x1: 'p' }]
}

function arrays(): unknown[] {
  return [[], ['a'], ['a', 'b'], ['b', 'b'], ['a', 'b', 'b', 'c'], [{ a: 1 }, { a: 1 }], ['c']]
}

test.each(cases)('%j gives the same result at once and in slices', async (schema, values) => {
  const contract = aContract({
    type: 'object',
    $defs,
    properties: { text: { pattern: slowPattern }, value: schema },
  })

  for (const value of values) {
    const atOnce = contract.parse({ text: 'a', value })
    const inSlices = contract.parse({ text: longText, value })

    expect(atOnce).not.toBeInstanceOf(Promise)
    expect(inSlices).toBeInstanceOf(Promise)
    expect(toComparable(await inSlices)).toEqual(toComparable(await atOnce))
  }
})

test('a long text of characters outside the Basic Multilingual Plane is matched in slices', async () => {
  const contract = aContract({
    type: 'object',
    properties: {
      text: { allOf: ['^[^A-Z]*$', '^[^0-9]*$', '^[^-]*$'].map((one) => ({ pattern: one })) },
    },
  })
  const inSlices = contract.parse({ text: `a${'😀'.repeat(2_000_000)}` })

  expect(inSlices).toBeInstanceOf(Promise)
  expect(await inSlices).toMatchObject({ ok: true })
})

const toComparable = (parsed: object): unknown =>
  'issues' in parsed ? parsed : (parsed as { value: { value: unknown } }).value.value

const aTool = (input: object, output: object = { type: 'object' }) =>
  defineTool({
    name: 'measure',
    description: 'Measures a text.',
    category: 'read',
    schema: { type: 'object', properties: { text: { type: 'string' } }, ...input },
    outputSchema: { type: 'object', ...output },
    execute: ({ text }) => ({ length: String(text).length, echo: text }),
  })

test('a call with a large valid argument and a large valid result succeeds', async () => {
  const properties = { text: { pattern: slowPattern }, echo: { pattern: slowPattern } }
  const { url } = await serveHere({
    sources: [definitionSource([aTool({ properties }, { properties })])],
  })

  const params = { name: 'measure', arguments: { text: longText } }
  const { answer } = await postModern(url, 'tools/call', params)

  expect(answer.result).toMatchObject({ structuredContent: { length: longText.length } })
})

test('other calls are answered while a hostile argument is checked, and it is refused', async () => {
  const hostile = { text: { pattern: '[ab]*a[ab]{2000}[cd]' } }
  const bridge = createDrawbridge({ sources: [definitionSource([aTool({ properties: hostile })])] })
  let isRefused = false
  let answered = 0

  const refusal = bridge.call('measure', { text: toText(1_000_000) }).finally(() => {
    isRefused = true
  })
  while (!isRefused) {
    await bridge.call('measure', { text: 'c' })
    await new Promise(setImmediate)
    answered++
  }

  expect(JSON.stringify(await refusal)).toMatch(/takes too long/)
  expect(answered).toBeGreaterThan(50)
  await bridge.close()
})

/** A text without a period: each character leads to a state that was not seen before. */
function toText(length: number): string {
  let seed = 1
  return Array.from({ length }, () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return seed & 0x10000 ? 'a' : 'b'
  }).join('')
}
