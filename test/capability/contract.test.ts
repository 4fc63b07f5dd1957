import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { readContract } from '../../src/contracts/read-contract.ts'
import { aContract } from '../support/builders.ts'

describe('Zod', () => {
  test('a field with a default is not required, and its description is kept', async () => {
    const contract = aContract(
      z.object({
        city: z.string().describe('City name'),
        units: z.enum(['metric', 'imperial']).default('metric'),
      }),
    )

    expect(contract.schema).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'City name' },
        units: { type: 'string', enum: ['metric', 'imperial'], default: 'metric' },
      },
      required: ['city'],
    })
    expect(await contract.parse({ city: 'Rome' })).toEqual({
      ok: true,
      value: { city: 'Rome', units: 'metric' },
    })
  })

  test('dates are strings in JSON and are parsed to Date at any depth', async () => {
    const contract = aContract(
      z.object({ from: z.date(), stays: z.array(z.object({ until: z.date().optional() })) }),
    )

    expect(contract.schema).toMatchObject({
      properties: { from: { type: 'string', format: 'date-time' } },
    })
    expect(
      await contract.parse({ from: '2026-01-02T03:04:05Z', stays: [{ until: '2026-02-03' }, {}] }),
    ).toEqual({
      ok: true,
      value: {
        from: new Date('2026-01-02T03:04:05Z'),
        stays: [{ until: new Date('2026-02-03') }, {}],
      },
    })
    expect(await contract.parse({ from: 'soon', stays: [] })).toMatchObject({ ok: false })
  })

  test('unions and nested objects are in the schema, and issues have a JSON pointer', async () => {
    const contract = aContract(
      z.object({
        who: z.union([z.string(), z.object({ id: z.number() })]),
        deep: z.object({ n: z.int() }),
      }),
    )

    expect(contract.schema).toMatchObject({ properties: { who: { anyOf: expect.any(Array) } } })
    expect(await contract.parse({ who: 'x', deep: { n: 1.5 } })).toMatchObject({
      ok: false,
      issues: [{ pointer: '/deep/n' }],
    })
  })

  test('types without a JSON representation give a remark', () => {
    expect(readContract(z.object({ mark: z.symbol() }), 'input')).toMatchObject({
      remarks: [
        '/properties/mark: (symbol) has no JSON representation, so that no value is valid here',
      ],
    })
  })
})

describe('Standard Schema', () => {
  test('ArkType is converted to JSON Schema and enforced', async () => {
    const contract = aContract(type({ name: 'string', 'age?': 'number' }))

    expect(contract.schema).toMatchObject({ type: 'object', required: ['name'] })
    expect(await contract.parse({ name: 1 })).toMatchObject({
      ok: false,
      issues: [{ pointer: '/name' }],
    })
  })

  test('Valibot is converted to JSON Schema and enforced', async () => {
    const contract = aContract(
      toStandardJsonSchema(v.object({ name: v.string(), tags: v.array(v.string()) })),
    )

    expect(contract.schema).toMatchObject({ type: 'object', required: ['name', 'tags'] })
    expect(await contract.parse({ name: 'x', tags: ['a', 2] })).toMatchObject({
      ok: false,
      issues: [{ pointer: '/tags/1' }],
    })
  })

  test('plain Valibot is refused with a hint to use toStandardJsonSchema', () => {
    expect(readContract(v.object({}), 'input')).toMatchObject({
      fault: expect.stringContaining('toStandardJsonSchema'),
    })
  })
})

describe('JSON Schema', () => {
  const pydantic = {
    $defs: { Units: { enum: ['metric', 'imperial'], type: 'string' } },
    properties: { units: { $ref: '#/$defs/Units', default: 'metric' } },
    title: 'GetWeatherInput',
    type: 'object',
  }

  test('is passed through unchanged, and local references are resolved', async () => {
    const contract = aContract(pydantic)

    expect(contract.schema).toBe(pydantic)
    expect(await contract.parse({ units: 'other' })).toMatchObject({
      ok: false,
      issues: [{ pointer: '/units' }],
    })
  })

  test("fills in defaults without mutating the caller's value", async () => {
    const input = {}

    expect(await aContract(pydantic).parse(input)).toEqual({ ok: true, value: { units: 'metric' } })
    expect(input).toEqual({})
  })

  test.each([
    [0.01, [19.99, 4.35, 0.07, 8.2, 0, -19.99, 1234567.89], [1.115, 0.001, 19.9900001]],
    [0.1, [0.3, 1.1], [0.35]],
    [3, [9, 3e15], [10, 3.0000001, 3e15 + 1]],
    [1e-8, [0.00000001, 12.34567891], [1.5e-9]],
  ])(
    'multipleOf %f does not count the rounding of binary fractions',
    async (multipleOf, ...values) => {
      const contract = aContract({
        type: 'object',
        properties: { a: { type: 'number', multipleOf } },
      })
      const [valid, invalid] = await Promise.all(
        values.map((list) => Promise.all(list.map((a) => contract.parse({ a })))),
      )

      expect(valid?.filter(({ ok }) => !ok)).toEqual([])
      expect(invalid?.filter(({ ok }) => ok)).toEqual([])
    },
  )

  test.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty'])(
    'a property named %s is absent unless the value has it itself',
    async (name) => {
      const properties = { [name]: { type: 'string' }, a: { type: 'number', default: 1 } }
      const optional = aContract({ type: 'object', properties, additionalProperties: false })
      const required = aContract({ type: 'object', properties, required: [name] })

      expect(await optional.parse({})).toEqual({ ok: true, value: { a: 1 } })
      expect(await optional.parse({ [name]: 5 })).toMatchObject({ ok: false })
      expect(await optional.parse({ b: 5 })).toMatchObject({ ok: false })
      expect(await required.parse({})).toMatchObject({ ok: false })
      expect(await required.parse({ [name]: 'x' })).toMatchObject({ ok: true })
    },
  )

  test('an $id that ends a comment does not inject code', async () => {
    const $id = 'a*/;globalThis.injected=true;/*'
    const contract = aContract({
      type: 'object',
      $id,
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { $id, type: 'string' } },
    })

    expect(await contract.parse({ a: 'x' })).toMatchObject({ ok: true })
    expect(globalThis).not.toHaveProperty('injected')
  })

  test('a property whose name looks like generated code is validated', async () => {
    const name = 'for(let i0=0; i0<len0; i0++){'
    const contract = aContract({ type: 'object', properties: { [name]: { type: 'string' } } })

    expect(await contract.parse({ [name]: 1 })).toMatchObject({ ok: false })
  })

  test("Ajv's own keyword $async changes nothing", async () => {
    const contract = aContract({ type: 'object', $async: true, required: ['a'] })

    expect(await contract.parse({})).toMatchObject({ ok: false })
  })

  test('$async in a part of a schema is reported, and in data it is data', async () => {
    const nested = { type: 'object', properties: { a: { type: 'object', $async: true } } }
    const data = { type: 'object', default: { $async: true } }

    expect(readContract(nested, 'input')).toEqual({
      fault: '/properties/a/$async is not supported',
    })
    expect(await aContract(data).parse({})).toMatchObject({ ok: true })
  })

  test('names that look like a comment with the source of a schema remove no check', async () => {
    const required = ['/*# sourceURL=', ' */x']
    const contract = aContract({ type: 'object', required })

    expect(await contract.parse({ '/*# sourceURL=': 1 })).toMatchObject({ ok: false })
    expect(await contract.parse({ '/*# sourceURL=': 1, ' */x': 1 })).toMatchObject({ ok: true })
  })

  test('a reference to the root is resolved', async () => {
    const contract = aContract({ type: 'object', properties: { child: { $ref: '#' } } })

    expect(await contract.parse({ child: { child: {} } })).toMatchObject({ ok: true })
    expect(await contract.parse({ child: { child: 1 } })).toMatchObject({
      issues: [{ pointer: '/child/child' }],
    })
  })
})

describe('an unusable schema', () => {
  const nested = (depth: number): object =>
    depth === 0 ? { type: 'string' } : { anyOf: [nested(depth - 1)] }

  test.each([
    ['a non-object root', { type: 'array' }, 'root'],
    ['a union without objects', { anyOf: [{ type: 'string' }, { type: 'array' }] }, 'root'],
    ['an enum without objects', { enum: ['a'] }, 'root'],
    [
      'a remote reference',
      { type: 'object', properties: { a: { $ref: 'https://x.example/y' } } },
      '$ref',
    ],
    [
      'a dangling reference',
      { type: 'object', properties: { a: { $ref: '#/$defs/none' } } },
      '$ref',
    ],
    [
      'a broken escape in a reference',
      { type: 'object', properties: { a: { $ref: '#/%zz' } } },
      '$ref',
    ],
    ['an unknown dialect', { $schema: 'https://x.example/dialect', type: 'object' }, 'dialect'],
    ['a wrong keyword', { type: 'object', properties: 5 }, 'not valid'],
    [
      'types in upper case',
      { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
      '/type is "OBJECT"; the types of JSON Schema are lower case',
    ],
    ['a broken pattern', { type: 'object', properties: { a: { pattern: '(' } } }, 'pattern'],
    [
      '__proto__',
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
      '__proto__',
    ],
    ['3,000 levels', { type: 'object', properties: { a: nested(3000) } }, ''],
    ['100 levels', { type: 'object', properties: { a: nested(100) } }, 'deeper'],
    [
      '50,000 properties',
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`p${i}`, {}])),
      },
      'longer',
    ],
    ['undefined', undefined, 'neither'],
  ])('is refused with the reason: %s', (_, schema, reason) => {
    expect(readContract(schema, 'input')).toEqual({ fault: expect.stringContaining(reason) })
  })
})

describe('a schema that is not JSON Schema is a fault', () => {
  test.each<[string, object, string]>([
    [
      'a map of properties',
      { city: { type: 'string' }, days: { type: 'number', optional: true } },
      '"properties": { "city": … }',
    ],
    ['a shape of Valibot', { city: v.string() }, '/city is a schema of valibot'],
    ['a shape of Zod 3 and 4', { a: z.string(), b: z3.string() }, '/a is a schema of Zod 4'],
    [
      'a shape of Zod and JSON',
      { a: { type: 'string' }, b: z.string() },
      '/b is a schema of Zod 4',
    ],
    [
      'Zod 3 as a property',
      { type: 'object', properties: { a: z3.string() } },
      '/properties/a is a schema of Zod 3',
    ],
    ['ArkType as a property', { properties: { a: type('string') } }, 'a schema of arktype'],
  ])('%s', (_, schema, message) => {
    expect(readContract(schema, 'input')).toEqual({ fault: expect.stringContaining(message) })
  })

  test.each([[{}], [{ type: 'object' }], [{ properties: { _def: { type: 'string' } } }]])(
    'but not %j',
    (schema) => {
      expect(readContract(schema, 'input')).not.toHaveProperty('fault')
    },
  )
})

describe('a value that overflows the stack or has odd members is invalid', () => {
  const tree: z.ZodType = z.lazy(() => z.union([z.array(tree), z.date()]))

  test.each<[string, z.ZodType, unknown]>([
    ['toString', z.literal(1n), { toString: 1, valueOf: 1 }],
    ['nesting', tree, JSON.parse('['.repeat(20_000) + ']'.repeat(20_000))],
    ['nesting for a literal', z.literal(1n), JSON.parse('['.repeat(20_000) + ']'.repeat(20_000))],
  ])('%s', async (_, schema, k) => {
    expect(await aContract(z.object({ k: schema })).parse({ k })).toMatchObject({ ok: false })
  })
})

test('a converter that writes an older draft is shown in 2020-12, and validates itself', async () => {
  const validate = (value: unknown) =>
    Array.isArray((value as { p?: unknown }).p) ? { value } : { issues: [{ message: 'no p' }] }
  const body = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { p: { type: 'array', items: [{ type: 'string' }], additionalItems: false } },
  }
  const jsonSchema = { input: () => body, output: () => body }
  const contract = aContract({ '~standard': { vendor: 'test', validate, jsonSchema } })

  expect(contract.schema).toEqual({
    type: 'object',
    properties: { p: { type: 'array', prefixItems: [{ type: 'string' }], items: false } },
  })
  expect(await contract.parse({ p: [1] })).toMatchObject({ ok: true })
  expect(await contract.parse({})).toMatchObject({ ok: false, issues: [{ message: 'no p' }] })
})

test('a converter that writes an invalid schema is a fault', () => {
  const jsonSchema = { input: () => ({ type: 'objekt' }), output: () => ({}) }
  const schema = { '~standard': { vendor: 'test', validate: () => ({ value: 1 }), jsonSchema } }
  expect(readContract(schema, 'input')).toHaveProperty('fault')
})
