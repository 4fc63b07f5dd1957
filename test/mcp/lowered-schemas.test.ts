import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { readContract } from '../../src/contracts/read-contract.ts'
import {
  createDrawbridge,
  definitionSource,
  type MountOptions,
  type ToolDefinition,
} from '../../src/index.ts'
import { lowerSchema } from '../../src/mcp/schemas/lower-schema.ts'
import { amount } from '../support/amount.ts'
import { aSample } from '../support/json-schema-sample.ts'

type Schema = Record<string, unknown>

async function serve(parts: Partial<ToolDefinition>, schemas?: MountOptions['schemas']) {
  const tool: ToolDefinition = {
    name: 'send',
    description: 'Sends something.',
    category: 'read',
    schema: z.object({}),
    execute: (input: unknown) => ({ got: input }),
    ...parts,
  }
  const bridge = createDrawbridge({
    sources: [definitionSource([tool])],
    ...(schemas && { mounts: { '/mcp': { schemas } } }),
  })
  onTestFinished(() => bridge.close())
  await bridge.ready
  const [shown] = (await bridge.list()).tools
  if (!shown) throw new Error('not listed')
  return { bridge, shown, input: shown.inputSchema as Schema, output: shown.outputSchema as Schema }
}

const messages = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('mail'), to: z.email(), subject: z.string().optional() }),
  z.object({ kind: z.literal('sms'), to: z.string(), urgent: z.boolean() }),
])

describe('a discriminated union at the root of an input', () => {
  test('is shown as one object whose description says what belongs together', async () => {
    const { input } = await serve({ schema: messages })

    expect(input).toEqual({
      type: 'object',
      description:
        'Use one of these sets of properties:\n- kind "mail": to, subject (optional)\n- kind "sms": to, urgent',
      properties: {
        kind: { type: 'string', enum: ['mail', 'sms'] },
        to: { anyOf: [{ type: 'string', format: 'email' }, { type: 'string' }] },
        subject: { type: 'string' },
        urgent: { type: 'boolean' },
      },
      required: ['kind', 'to'],
    })
  })

  test('is enforced as a union', async () => {
    const { bridge } = await serve({ schema: messages })

    expect(await bridge.call('send', { kind: 'sms', to: '1', urgent: true })).toMatchObject({
      structuredContent: { got: { kind: 'sms', to: '1', urgent: true } },
    })
    expect(await bridge.call('send', { kind: 'sms', to: '1' })).toMatchObject({ isError: true })
    expect(await bridge.call('send', { kind: 'mail', to: '1' })).toMatchObject({ isError: true })
  })

  test('is shown as it is with "schemas: full", and the root is an object', async () => {
    const { input, bridge } = await serve({ schema: messages }, 'full')

    expect(input).toMatchObject({ type: 'object', oneOf: [{}, {}] })
    expect(bridge.diagnostics).toEqual([])
  })

  test('is reported when it is merged', async () => {
    const { bridge } = await serve({ schema: messages })

    expect(bridge.diagnostics).toMatchObject([
      {
        code: 'schema_lowered',
        severity: 'info',
        pointer: '/default/0',
        message: expect.stringContaining('shows its 2 variants as one object'),
      },
    ])
  })

  test('is reported with its position when the source knows it', async () => {
    const tool: ToolDefinition = {
      name: 'send',
      description: 'Sends something.',
      category: 'read',
      schema: messages,
      execute: () => ({}),
    }
    const { id, read } = definitionSource([tool])
    const positionOf = (pointer: string) => `tools.ts:3:1 ${pointer}`
    const bridge = createDrawbridge({
      sources: [{ id, read: async () => ({ ...(await read()), positionOf }) }],
    })
    onTestFinished(() => bridge.close())
    await bridge.ready

    expect(bridge.diagnostics).toMatchObject([
      { code: 'schema_lowered', at: 'tools.ts:3:1 /default/0' },
    ])
  })

  test.each(['full', 'portable'] as const)(
    'closed variants accept the idempotency key, %s',
    async (schemas) => {
      const schema = z.union([
        z.strictObject({ a: z.string() }),
        z.strictObject({ b: z.strictObject({ c: z.string() }) }),
      ])
      const { input, bridge } = await serve({ schema, idempotencyKey: true }, schemas)
      const value = { a: 'x', idempotency_key: 'k' }

      expect(new Ajv2020({ strict: false }).validate(input, value)).toBe(true)
      expect(await bridge.call('send', value)).toMatchObject({
        structuredContent: { got: { a: 'x' } },
      })
    },
  )
})

test('an intersection at the root is one object, and nothing is lost', async () => {
  const schema = {
    allOf: [
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      { type: 'object', properties: { b: { type: 'number' }, a: { minLength: 2 } } },
    ],
  }
  const { input, bridge } = await serve({ schema })

  expect(input).toEqual({
    type: 'object',
    properties: { a: { allOf: [{ type: 'string' }, { minLength: 2 }] }, b: { type: 'number' } },
    required: ['a'],
  })
  expect(bridge.diagnostics).toEqual([])
})

test('more variants than fit are not shown, which is reported', async () => {
  const schema = {
    allOf: Array.from({ length: 8 }, (_, index) => ({
      anyOf: [{ required: [`a${index}`] }, { required: [`b${index}`] }],
    })),
    properties: { a0: { type: 'string' } },
  }
  const { input, bridge } = await serve({ schema })

  expect(input).toEqual({ type: 'object', properties: { a0: { type: 'string' } } })
  expect(bridge.diagnostics).toMatchObject([
    { message: expect.stringContaining('does not show its variants') },
  ])
})

describe('references', () => {
  const pydantic = {
    type: 'object',
    properties: {
      home: { $ref: '#/$defs/Address', description: 'Where the person lives' },
      work: { $ref: '#/$defs/Address', minProperties: 1 },
    },
    $defs: {
      Address: { type: 'object', properties: { country: { $ref: '#/$defs/Country' } } },
      Country: { enum: ['NO', 'SE'] },
    },
  }
  const address = { type: 'object', properties: { country: { enum: ['NO', 'SE'] } } }

  test('are replaced by their schemas', async () => {
    const { input, bridge } = await serve({ schema: pydantic })

    expect(input).toEqual({
      type: 'object',
      properties: {
        home: { ...address, description: 'Where the person lives' },
        work: { allOf: [address, { minProperties: 1 }] },
      },
    })
    expect(bridge.diagnostics).toEqual([])
    expect((await serve({ schema: pydantic }, 'full')).input).toEqual(pydantic)
  })

  const tree = {
    $id: 'https://x.example/tree',
    type: 'object',
    properties: { name: { $ref: '#/$defs/name' }, children: { items: { $ref: '#' } } },
    $defs: { name: { type: 'string' } },
  }

  test('of recursive schemas stay, below #/$defs', async () => {
    const properties = {
      name: { type: 'string' },
      children: { items: { $ref: '#/$defs/root' } },
    }

    expect((await serve({ schema: tree })).input).toEqual({
      type: 'object',
      properties,
      $defs: { root: { type: 'object', properties } },
    })
  })

  test('none are left with "schemas: inline", and check says what is not shown', async () => {
    const { input, bridge } = await serve({ schema: tree }, 'inline')

    expect(JSON.stringify(input)).not.toContain('$ref')
    expect(JSON.stringify(input).split('"children"')).toHaveLength(4)
    expect(bridge.diagnostics).toMatchObject([
      { code: 'schema_lowered', message: expect.stringContaining('shows root only to 3 levels') },
    ])
    const value = { children: [{ children: [{ children: [{ children: [{ name: 1 }] }] }] }] }
    expect(await bridge.call('send', value)).toMatchObject({ isError: true })
  })

  const doubling = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/d0' } },
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        index === 39
          ? { type: 'string' }
          : {
              anyOf: [
                { $ref: `#/$defs/d${index + 1}` },
                { items: { $ref: `#/$defs/d${index + 1}` } },
              ],
            },
      ]),
    ),
  }

  test('stay when the schema would grow without bounds', async () => {
    const { input, bridge } = await serve({ schema: doubling })

    expect(input).toEqual({ ...doubling, $defs: expect.objectContaining(doubling.$defs) })
    expect(bridge.diagnostics).toMatchObject([
      { message: expect.stringContaining('keeps its references') },
    ])
    const inline = await serve({ schema: doubling }, 'inline')
    expect(JSON.stringify(inline.input).length).toBeLessThan(40_000)
  })

  test('of an output are replaced, too, and results are checked against the declared schema', async () => {
    const { output, bridge } = await serve({
      outputSchema: { $ref: '#/$defs/R', $defs: { R: { type: 'object', required: ['got'] } } },
    })

    expect(output).toEqual({ type: 'object', required: ['got'] })
    expect(await bridge.call('send', {})).toMatchObject({ structuredContent: { got: {} } })
  })

  test('the same schema gives the same bytes', async () => {
    const lists = await Promise.all(
      [1, 2].map(async () =>
        JSON.stringify((await serve({ schema: structuredClone(tree) })).shown),
      ),
    )
    expect(lists[0]).toBe(lists[1])
  })
})

/** Schemas with references and unions at the root and below. */
const { schema: anySchema } = fc.letrec<{ schema: Schema; object: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Schema>(
      { type: 'string' },
      { type: 'number' },
      { const: 'a' },
      { enum: ['a', 'b', 1] },
      { $ref: '#/$defs/a' },
      { $ref: '#/$defs/b', description: 'text' },
      { $ref: '#/$defs/a', type: 'object' },
    ),
    tie('object'),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
  ),
  object: fc
    .record({
      properties: fc.dictionary(fc.constantFrom('p', 'q', 'r'), tie('schema'), { maxKeys: 3 }),
      required: fc.uniqueArray(fc.constantFrom('p', 'q', 'r'), { maxLength: 2 }),
    })
    .map(({ properties, required }) => ({
      type: 'object',
      properties,
      required: required.filter((name) => name in properties),
      // An open variant accepts anything in the properties of the others, which is not shown.
      additionalProperties: false,
    })),
}))

const anyRoot = fc
  .record({
    variants: fc.array(anySchema, { minLength: 1, maxLength: 3 }),
    keyword: fc.constantFrom('anyOf', 'oneOf', 'allOf'),
    a: anySchema,
    b: anySchema,
  })
  .map(({ variants, keyword, a, b }) => ({ type: 'object', [keyword]: variants, $defs: { a, b } }))

test('what a schema accepts, its lowered form accepts, too', () => {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, addUsedSchema: false })
  let checked = 0
  fc.assert(
    fc.property(anyRoot, fc.nat(), (root, seed) => {
      const reading = readContract(root, 'input')
      // Such as a loop of references.
      if ('fault' in reading) return
      const { schema } = reading.contract
      const validate = ajv.compile(schema)
      const lowered = (['portable', 'inline'] as const).map((profile) =>
        ajv.compile(lowerSchema(schema, 'input', profile).schema),
      )
      for (const sample of fc.sample(aSample(schema), { numRuns: 5, seed })) {
        if (sample === undefined) continue
        const value = JSON.parse(JSON.stringify(sample))
        if (!validate(value)) continue
        checked++
        for (const isShown of lowered)
          if (!isShown(value))
            throw new Error(`${JSON.stringify(value)}: ${JSON.stringify(isShown.schema)}`)
      }
    }),
    { numRuns: amount(200, 10_000) },
  )
  expect(checked).toBeGreaterThan(50)
})

describe('a schema of unions of references', () => {
  const levels = 12
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, level) => [
      `d${level}`,
      level === levels - 1
        ? { type: 'object', properties: { a: { type: 'string' } } }
        : { anyOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/d${level + 1}` })) },
    ]),
  )

  test.each([
    ['portable', 'more than 64'],
    ['inline', 'only to 0 levels'],
  ] as const)('%s: is lowered in bounded time', (profile, loss) => {
    const schema = { type: 'object', anyOf: [{ $ref: '#/$defs/d0' }], $defs }
    const { losses } = lowerSchema(schema, 'input', profile)
    expect(losses).toContainEqual(expect.stringContaining(loss))
  })
})

describe('what a merged input does not show', () => {
  const member = { type: 'object', properties: { a: { type: 'string' } } }

  test.each<[string, Schema, string]>([
    ['a condition', { if: { required: ['a'] }, else: { required: ['b'] } }, 'else, if'],
    ['patterns', { ...member, patternProperties: { '^x': {} } }, 'patternProperties'],
    ['a minimum of properties', { ...member, minProperties: 1 }, 'minProperties'],
    [
      'a schema for the rest',
      { ...member, additionalProperties: { type: 'number' } },
      'additionalP',
    ],
  ])('is reported: %s', (_, one, keyword) => {
    const { losses } = lowerSchema({ type: 'object', allOf: [one] } as never, 'input', 'portable')
    expect(losses).toEqual([expect.stringContaining(`does not show of its variants: ${keyword}`)])
  })

  test('is reported when only one of the variants is closed', () => {
    const closed = { ...member, additionalProperties: false }
    const schema = { type: 'object', anyOf: [closed, { properties: { b: {} } }] }
    const { losses } = lowerSchema(schema as never, 'input', 'portable')
    expect(losses).toContainEqual(expect.stringContaining('of its variants: additionalProperties'))
  })

  test('is not that all variants are closed, and not the schema of the rest', () => {
    const closed = { ...member, additionalProperties: false }
    const all = lowerSchema({ type: 'object', anyOf: [closed] } as never, 'input', 'portable')
    expect(all).toMatchObject({ schema: { additionalProperties: false }, losses: [] })
    const rest = { type: 'object', additionalProperties: { type: 'number' }, anyOf: [member] }
    const { schema, losses } = lowerSchema(rest as never, 'input', 'portable')
    expect(schema).toMatchObject({ additionalProperties: { type: 'number' } })
    expect(losses).toEqual([])
  })
})
