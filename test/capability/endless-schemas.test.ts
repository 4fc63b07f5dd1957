import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readContract } from '../../src/contracts/read-contract.ts'

const endless = (pointer: string) =>
  `${pointer} requires itself again, so that only a value without an end would be valid; make it optional or nullable`

const self = { $ref: '#' }
const toNode = () => ({ $ref: '#/$defs/node' })
const object = (properties: object, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})

const Chain: z.ZodType = z.object({
  get next() {
    return Chain
  },
})
const Lazy: z.ZodType = z.object({ children: z.array(z.lazy(() => Lazy)).min(1) })

describe('a schema that only a value without an end satisfies is a fault', () => {
  test.each<[string, unknown, string]>([
    [
      'a required property without a type around it',
      { properties: { c: self }, required: ['c'] },
      '/properties/c',
    ],
    ['a getter of Zod', Chain, '/properties/next'],
    ['z.lazy() in a list with a minimum', Lazy, '/properties/children/items'],
    [
      'a tuple',
      object({ a: { type: 'array', prefixItems: [self], minItems: 1 } }),
      '/properties/a/prefixItems/0',
    ],
    [
      'the rest of a tuple',
      object({ a: { type: 'array', prefixItems: [{}], items: self, minItems: 2 } }),
      '/properties/a/items',
    ],
    [
      'a union in which all members do',
      object({ a: { anyOf: [self, object({ b: self })] } }),
      '/properties/a/anyOf/0',
    ],
    [
      'two schemas that require each other',
      {
        ...object({ a: { $ref: '#/$defs/one' } }),
        $defs: {
          one: object({ two: { $ref: '#/$defs/two' } }),
          two: { allOf: [object({ one: { $ref: '#/$defs/one' } })] },
        },
      },
      '/$defs/two/allOf/0/properties/one',
    ],
  ])('%s', (_, schema, pointer) => {
    expect(readContract(schema, 'input')).toEqual({ fault: endless(pointer) })
  })
})

describe('recursion that can end is served', () => {
  test.each<[string, object]>([
    ['an optional property', object({ c: self }, [])],
    ['a nullable property', object({ c: { anyOf: [self, { type: 'null' }] } })],
    ['a list that may be empty', object({ c: { type: 'array', items: self } })],
    [
      'a tuple that may be short',
      object({ c: { type: 'array', prefixItems: [{}, self], minItems: 1 } }),
    ],
    [
      'a property with another type',
      {
        ...object({ a: toNode() }),
        $defs: {
          node: { type: ['object', 'string'], properties: { a: toNode() }, required: ['a'] },
        },
      },
    ],
    [
      'a schema without a type',
      {
        ...object({ a: toNode() }),
        $defs: { node: { properties: { a: toNode() }, required: ['a'] } },
      },
    ],
    [
      'a union with an end',
      {
        ...object({ a: toNode() }),
        $defs: { node: { oneOf: [object({ a: toNode() }), object({ b: {} })] } },
      },
    ],
    ['a map', object({ a: { type: 'object', additionalProperties: self } })],
    [
      'a required name without a schema',
      { ...object({ a: {} }, ['a', 'b']), $defs: { node: self } },
    ],
  ])('%s', (_, schema) => {
    expect(readContract(schema, 'input')).toMatchObject({ contract: {}, remarks: [] })
  })

  test('but of an optional part that cannot end the operator is warned', () => {
    const schema = { ...object({ a: toNode() }, []), $defs: { node: object({ next: toNode() }) } }

    expect(readContract(schema, 'input')).toMatchObject({
      contract: {},
      remarks: [endless('/$defs/node/properties/next')],
    })
  })
})
