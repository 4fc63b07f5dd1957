import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { modernizeSchema } from '../../src/contracts/modernize/modernize-schema.ts'
import { readContract } from '../../src/contracts/read-contract.ts'

function read(schema: object) {
  const reading = readContract(schema, 'input')
  if ('fault' in reading) throw new Error(reading.fault)
  return reading
}

const accepts = async (schema: object, value: unknown) =>
  (await read(schema).contract.parse(value)).ok

/** One property `a`, and what is shown of it. */
const shownOf = (a: object, draft?: string) =>
  (
    read({ ...(draft && { $schema: draft }), type: 'object', properties: { a } }).contract.schema
      .properties as Record<string, unknown>
  ).a

const draft4 = 'http://json-schema.org/draft-04/schema#'
const draft7 = 'http://json-schema.org/draft-07/schema#'

describe('an idiom of an older draft', () => {
  test.each<[string, object, object, unknown, unknown]>([
    [
      'a list of items',
      { items: [{ type: 'string' }], additionalItems: false },
      { prefixItems: [{ type: 'string' }], items: false },
      ['x'],
      ['x', 1],
    ],
    [
      'a list of items and a schema for the rest',
      { items: [{ type: 'string' }], additionalItems: { type: 'number' } },
      { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      ['x', 1],
      ['x', 'y'],
    ],
    [
      'boolean exclusive bounds',
      { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      { type: 'number', exclusiveMinimum: 1, maximum: 9 },
      9,
      1,
    ],
    [
      'dependencies',
      { dependencies: { b: ['c'], d: { required: ['e'] }, f: 'g' } },
      { dependentRequired: { b: ['c'], f: ['g'] }, dependentSchemas: { d: { required: ['e'] } } },
      { b: 1, c: 1, d: 1, e: 1 },
      { d: 1 },
    ],
    ['divisibleBy', { divisibleBy: 3 }, { multipleOf: 3 }, 9, 10],
    ['any', { type: 'any', minLength: 2 }, { minLength: 2 }, 5, 'x'],
    [
      'a list of types with schemas',
      { type: ['string', { type: 'array' }] },
      { allOf: [{ anyOf: [{ type: 'string' }, { type: 'array' }] }] },
      [],
      1,
    ],
    [
      'extends',
      { extends: { required: ['b'] }, required: ['c'] },
      { allOf: [{ required: ['b'] }], required: ['c'] },
      { b: 1, c: 1 },
      { c: 1 },
    ],
    [
      'disallow',
      { disallow: ['string', 'null'] },
      { allOf: [{ not: { anyOf: [{ type: 'string' }, { type: 'null' }] } }] },
      1,
      null,
    ],
    [
      'required in a property',
      { properties: { b: { type: 'string', required: true }, c: { required: false } } },
      { properties: { b: { type: 'string' }, c: {} }, required: ['b'] },
      { b: '' },
      {},
    ],
    [
      'nullable of OpenAPI 3.0',
      { type: 'string', enum: ['x'], nullable: true },
      { type: ['string', 'null'], enum: ['x', null] },
      null,
      'y',
    ],
    [
      'nullable without a type',
      { anyOf: [{ type: 'string' }], nullable: true, description: 'text' },
      { description: 'text', anyOf: [{ anyOf: [{ type: 'string' }] }, { type: 'null' }] },
      null,
      1,
    ],
  ])('%s is read as what it means and shown as 2020-12', async (_, idiom, shown, good, bad) => {
    expect(shownOf(idiom)).toEqual(shown)
    const schema = { type: 'object', properties: { a: idiom } }
    expect([await accepts(schema, { a: good }), await accepts(schema, { a: bad })]).toEqual([
      true,
      false,
    ])
    expect(read(schema).contract.schema).not.toHaveProperty('$schema')
    expect(new Ajv2020({ strict: false }).validateSchema(read(schema).contract.schema)).toBe(true)
  })

  test('formats of OpenAPI 3.0 become annotations of the content', () => {
    expect(shownOf({ type: 'string', format: 'binary' })).toEqual({
      type: 'string',
      contentMediaType: 'application/octet-stream',
    })
    expect(shownOf({ type: 'string', format: 'byte' })).toEqual({
      type: 'string',
      contentEncoding: 'base64',
    })
  })

  test('references follow what moves', async () => {
    const schema = {
      $schema: draft4,
      id: 'http://x.example/root',
      type: 'object',
      properties: {
        list: { items: [{ type: 'string' }, { $ref: '#/definitions/a~1b%20c' }] },
        second: { $ref: '#/properties/list/items/1' },
        third: { $ref: '#named' },
      },
      definitions: { 'a/b c': { type: 'number' }, other: { id: '#named', type: 'boolean' } },
    }

    expect(read(schema).contract.schema).toMatchObject({
      $id: 'http://x.example/root',
      properties: {
        list: { prefixItems: [{ type: 'string' }, { $ref: '#/$defs/a~1b%20c' }] },
        second: { $ref: '#/properties/list/prefixItems/1' },
      },
      $defs: { 'a/b c': { type: 'number' }, other: { $anchor: 'named' } },
    })
    expect(await accepts(schema, { list: ['x', 1], second: 2, third: true })).toBe(true)
    for (const wrong of [{ list: ['x', 'y'] }, { second: 'x' }, { third: 1 }])
      expect(await accepts(schema, wrong)).toBe(false)
  })

  test('a property, a default and an enum named like a keyword stay', () => {
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'string' },
        items: { type: 'array', items: [{ type: 'string' }] },
        definitions: { default: { nullable: true, items: [1], definitions: {} } },
      },
    }

    expect(read(schema).contract.schema).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        items: { type: 'array', prefixItems: [{ type: 'string' }] },
        definitions: { default: { nullable: true, items: [1], definitions: {} } },
      },
    })
  })
})

describe('beside $ref', () => {
  const properties = { a: { $ref: '#/$defs/x', minLength: 3, description: 'text' } }
  const schema = { type: 'object', properties, $defs: { x: { type: 'string' } } }

  test('keywords count in 2020-12', async () => {
    expect(await accepts(schema, { a: 'x' })).toBe(false)
  })

  test('they do not count up to draft-07: they are not shown either, with a remark', async () => {
    const old = { ...schema, $schema: draft7 }

    expect(await accepts(old, { a: 'x' })).toBe(true)
    expect(read(old)).toMatchObject({
      contract: {
        schema: { properties: { a: { $ref: '#/$defs/x', description: 'text' } } },
      },
      remarks: [expect.stringContaining('/properties/a/minLength is left out')],
    })
    expect(JSON.stringify(read(old).contract.schema)).not.toContain('minLength')
  })

  test('a root that is a reference to a definition is served', async () => {
    const old = {
      $schema: draft7,
      $ref: '#/definitions/Input',
      definitions: { Input: { type: 'object', required: ['a'] } },
    }

    expect(read(old).contract.schema).toEqual({
      type: 'object',
      $ref: '#/$defs/Input',
      $defs: { Input: { type: 'object', required: ['a'] } },
    })
    expect([await accepts(old, { a: 1 }), await accepts(old, {})]).toEqual([true, false])
  })
})

test('2019-09 is read: $recursiveRef, unevaluatedProperties and siblings of $ref', async () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    $recursiveAnchor: true,
    type: 'object',
    properties: { child: { $recursiveRef: '#' }, name: { $ref: '#/$defs/name', minLength: 2 } },
    unevaluatedProperties: false,
    $defs: { name: { type: 'string' } },
  }

  expect(await accepts(schema, { child: { name: 'xy' } })).toBe(true)
  expect(await accepts(schema, { child: { name: 'x' } })).toBe(false)
  expect(await accepts(schema, { child: { other: 1 } })).toBe(false)
})

describe('a root without a type', () => {
  test.each<[string, object, object, object]>([
    [
      'anyOf',
      { anyOf: [{ required: ['a'] }, { properties: { b: { type: 'string' } }, required: ['b'] }] },
      { b: 'x' },
      {},
    ],
    [
      'oneOf',
      {
        oneOf: [
          { type: 'object', properties: { k: { const: 'a' }, n: { type: 'number' } } },
          { type: 'object', properties: { k: { const: 'b' } }, required: ['k'] },
        ],
      },
      { k: 'b' },
      { k: 'c' },
    ],
    ['allOf', { allOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1, b: 1 }, { a: 1 }],
    ['properties', { properties: { a: { type: 'string' } } }, { a: 'x' }, { a: 1 }],
    ['type with null', { type: ['object', 'null'], required: ['a'] }, { a: 1 }, {}],
  ])('is shown as an object, and enforced as written: %s', async (_, schema, good, bad) => {
    expect(read(schema).contract.schema).toMatchObject({ type: 'object' })
    expect([await accepts(schema, good), await accepts(schema, bad)]).toEqual([true, false])
  })
})

describe('references', () => {
  test.each<[string, object, string]>([
    ['to itself', { $ref: '#' }, '/$ref "#"'],
    [
      'a → b → a',
      {
        type: 'object',
        properties: { p: { $ref: '#/$defs/a' } },
        $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      },
      '/$defs/b/$ref "#/$defs/a"',
    ],
    [
      'through allOf',
      { type: 'object', properties: { p: { allOf: [{ $ref: '#/properties/p' }] } } },
      '/properties/p/allOf/0/$ref',
    ],
    [
      'through anyOf with a way out',
      { type: 'object', $defs: { a: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/a' }] } } },
      '/$defs/a/anyOf/1/$ref',
    ],
  ])('that never reach a schema are found, with the pointer: %s', (_, schema, place) => {
    expect(readContract(schema, 'input')).toEqual({
      fault: expect.stringMatching(/part of a loop of references/),
    })
    expect(readContract(schema, 'input')).toMatchObject({ fault: expect.stringContaining(place) })
  })

  test('that end with the value are recursion', async () => {
    const schema = {
      type: 'object',
      properties: {
        a: { $ref: '#/$defs/tree' },
        b: { $ref: '#flag' },
        c: { $ref: 'https://x.example/dir/part.json#/$defs/n' },
        d: { $ref: '#/components/schemas/unusual' },
      },
      components: { schemas: { unusual: { $ref: '#/$defs/tree' } } },
      $defs: {
        flag: { $anchor: 'flag', type: 'boolean' },
        tree: { anyOf: [{ type: 'null' }, { type: 'array', items: { $ref: '#/$defs/tree' } }] },
        part: {
          $id: 'https://x.example/dir/part.json',
          $ref: 'other.json',
          $defs: { n: { type: 'number' }, other: { $id: 'other.json', type: 'integer' } },
        },
      },
    }

    expect(await accepts(schema, { a: [[null, []]], b: true, c: 1.5, d: [] })).toBe(true)
    for (const wrong of [{ a: [1] }, { b: 1 }, { c: 'x' }, { d: 1 }])
      expect(await accepts(schema, wrong)).toBe(false)
  })

  test('a chain of 1,000 references is followed', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [
        `d${index}`,
        index === 999 ? { type: 'string' } : { $ref: `#/$defs/d${index + 1}` },
      ]),
    )
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }

    expect(await accepts(schema, { a: 'x' })).toBe(true)
  })

  test('that the validator cannot resolve are found at load', () => {
    const schema = { type: 'object', $anchor: 'root', properties: { a: { $ref: '#root' } } }

    expect(readContract(schema, 'input')).toEqual({
      fault: expect.stringContaining("can't resolve reference #root"),
    })
  })

  test('a schema object that contains itself is refused', () => {
    const schema: Record<string, unknown> = { type: 'object' }
    schema.properties = { a: schema }

    expect(readContract(schema, 'input')).toEqual({ fault: expect.stringContaining('deeper') })
  })
})

test('a schema with thousands of moved references is converted in linear time', () => {
  const names = Array.from({ length: 2000 }, (_, index) => `d${index}`)
  const startedAt = performance.now()
  const original = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: `#/definitions/${name}` }])),
    definitions: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  }
  const { schema } = modernizeSchema(original, 'up-to-07', JSON.stringify(original))

  expect(schema).toMatchObject({ properties: { d7: { $ref: '#/$defs/d7' } } })
  // Quadratic, it took 15 seconds.
  expect(performance.now() - startedAt).toBeLessThan(5000)
})
