import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'
import { readContract } from '../../src/contracts/read-contract.ts'
import { aContract } from '../support/builders.ts'

const shownOf = (it: z.core.$ZodType) =>
  (aContract(z.object({ it: it as z.ZodType })).schema.properties as Record<string, unknown>).it

/** What arrives when a client sends `it`; issues if it is refused. */
async function arrives(schema: unknown, it: unknown): Promise<unknown> {
  const parsed = await aContract(schema).parse({ it })
  return parsed.ok ? (parsed.value as { it: unknown }).it : parsed.issues
}

const day = '2026-01-02'
const date = new Date(day)
const dateTime = { type: 'string', format: 'date-time' }

describe('a date', () => {
  const tree: z.ZodType = z.lazy(() => z.object({ at: z.date(), next: tree.optional() }))

  test.each<[string, z.ZodType, unknown, unknown]>([
    ['in a union', z.union([z.number(), z.date()]), day, date],
    ['in a record', z.record(z.string(), z.date()), { a: day }, { a: date }],
    ['in a tuple', z.tuple([z.string(), z.date()], z.date()), ['x', day, day], ['x', date, date]],
    [
      'in a discriminated union',
      z.discriminatedUnion('k', [
        z.object({ k: z.literal('a'), at: z.date() }),
        z.object({ k: z.literal('b'), at: z.string() }),
      ]),
      { k: 'a', at: day },
      { k: 'a', at: date },
    ],
    [
      'in an intersection',
      z.object({ at: z.date() }).and(z.looseObject({ n: z.number() })),
      { at: day, n: 1, more: 'x' },
      { at: date, n: 1, more: 'x' },
    ],
    ['in a map', z.map(z.string(), z.date()), { a: day }, new Map([['a', date]])],
    ['as a key', z.map(z.date(), z.number()), [[day, 1]], new Map([[date, 1]])],
    ['in a set', z.set(z.date()), [day], new Set([date])],
    ['in recursion', tree, { at: day, next: { at: day } }, { at: date, next: { at: date } }],
    ['in a pipe', z.date().transform((at) => at.getTime()), day, date.getTime()],
    ['after preprocessing', z.preprocess((text) => text, z.date()), day, date],
    ['in z.instanceof()', z.instanceof(Date).describe('text'), day, date],
    ['with a bound', z.date().min(date), day, date],
    ['nullable', z.date().nullable(), null, null],
  ])('%s arrives as Date', async (_, schema, sent, arrived) => {
    expect(await arrives(z.object({ it: schema }), sent)).toEqual(arrived)
  })

  test.each(['soon', '1', '2026-02-30', '2026-01-02T03:04:05', '2026-1-2'])(
    'is refused when the text names no moment: %s',
    async (text) => {
      expect(await arrives(z.object({ it: z.date() }), text)).toMatchObject([{ pointer: '/it' }])
    },
  )

  test('in an ambiguous union, the first member that accepts the text decides', async () => {
    const textFirst = z.object({ it: z.union([z.string(), z.date()]) })
    const dateFirst = z.object({ it: z.union([z.date(), z.string()]) })

    expect(await arrives(textFirst, day)).toBe(day)
    expect(await arrives(dateFirst, day)).toEqual(date)
    expect(await arrives(dateFirst, 'soon')).toBe('soon')
  })

  test('as a default is shown as text', async () => {
    const it = z.date().default(new Date(0))

    expect(shownOf(it)).toEqual({ ...dateTime, default: '1970-01-01T00:00:00.000Z' })
    expect(await arrives(z.object({ it }), undefined)).toEqual(new Date(0))
  })
})

describe('what is shown, and what arrives', () => {
  test.each<[string, z.ZodType, object, unknown, unknown]>([
    ['bigint', z.bigint(), { type: 'string' }, '12345678901234567890', 12345678901234567890n],
    ['bigint from a number', z.bigint(), { type: 'string' }, 5, 5n],
    ['a bigint literal', z.literal([5n, 6n]), { enum: ['5', '6'] }, '6', 6n],
    [
      'a map with text keys',
      z.map(z.enum(['a', 'b']), z.bigint()).min(1),
      { type: 'object', propertyNames: { enum: ['a', 'b'] }, minProperties: 1 },
      { a: '1' },
      new Map([['a', 1n]]),
    ],
    [
      'a map with other keys',
      z.map(z.number(), z.string()),
      { type: 'array', items: { prefixItems: [{ type: 'number' }, { type: 'string' }] } },
      [[1, 'x']],
      new Map([[1, 'x']]),
    ],
    ['a set', z.set(z.string()).max(2), { uniqueItems: true, maxItems: 2 }, ['x'], new Set(['x'])],
    [
      'a URL',
      z.instanceof(URL),
      { type: 'string', format: 'uri' },
      'https://x.example/',
      new URL('https://x.example/'),
    ],
    [
      'bytes',
      z.instanceof(Uint8Array),
      { type: 'string', contentEncoding: 'base64' },
      'AQL9',
      new Uint8Array([1, 2, 253]),
    ],
    ['stringbool', z.stringbool(), { enum: expect.arrayContaining(['true', 'no']) }, 'no', false],
    ['a promise', z.promise(z.date()), dateTime, day, date],
    [
      'a codec',
      z.codec(z.string(), z.date(), {
        decode: (text) => new Date(text),
        encode: (at) => at.toISOString(),
      }),
      { type: 'string' },
      day,
      date,
    ],
  ])('%s', async (_, schema, shown, sent, arrived) => {
    expect(shownOf(schema)).toMatchObject(shown)
    expect(await arrives(z.object({ it: schema }), sent)).toEqual(arrived)
  })

  test('a file, whose media type is in a data URL when there are several', async () => {
    const one = await arrives(z.object({ it: z.file().mime('text/csv') }), 'YSxi')
    const many = z.file().mime(['image/png', 'image/jpeg'])
    const other = await arrives(z.object({ it: many }), 'data:image/jpeg;base64,YSxi')

    expect(one).toMatchObject({ type: 'text/csv', size: 3 })
    expect(other).toMatchObject({ type: 'image/jpeg', size: 3 })
    expect(await arrives(z.object({ it: many }), 'YSxi')).toMatchObject([{ pointer: '/it' }])
  })

  test('a key twice in the pairs of a map is refused', async () => {
    const schema = z.object({ it: z.map(z.number(), z.string()) })

    expect(
      await arrives(schema, [
        [1, 'x'],
        [1, 'y'],
      ]),
    ).toMatchObject([{ pointer: '/it' }])
  })

  test('refinements of the author see live values', async () => {
    const schema = z.object({
      it: z.object({ from: z.date(), to: z.date() }).refine(({ from, to }) => from < to),
    })

    expect(await arrives(schema, { from: day, to: '2026-01-03' })).toMatchObject({ from: date })
    expect(await arrives(schema, { from: day, to: day })).toMatchObject([{ pointer: '/it' }])
  })

  test('Zod Mini', async () => {
    const it = mini.optional(mini.map(mini.string(), mini.date()))

    expect(shownOf(it as never)).toMatchObject({ type: 'object', additionalProperties: dateTime })
    expect(await arrives(mini.object({ it }), { a: day })).toEqual(new Map([['a', date]]))
  })

  test('descriptions and ids stay', () => {
    const Address = z.object({ since: z.date().describe('First day') }).meta({ id: 'Address' })
    const { schema } = aContract(z.object({ home: Address, work: Address.describe('Office') }))

    expect(schema).toMatchObject({
      properties: { home: { $ref: '#/$defs/Address' }, work: { description: 'Office' } },
      $defs: { Address: { properties: { since: { ...dateTime, description: 'First day' } } } },
    })
  })
})

describe('what JSON cannot carry gives a remark', () => {
  test.each<[string, z.ZodType, string]>([
    ['nan', z.nan(), '(nan) has no JSON representation'],
    ['function', z.function() as never, '(function) has no JSON representation'],
    ['void', z.void(), '(void) accepts no JSON value'],
    ['custom', z.custom(() => true), 'cannot be shown as JSON Schema'],
    ['a class', z.instanceof(RegExp), 'an instance of RegExp cannot be sent as JSON'],
    ['bounds', z.bigint().max(5n), 'its bounds are enforced'],
    [
      'a map in an intersection',
      z.object({ m: z.map(z.string(), z.string()) }).and(z.looseObject({})),
      'Zod cannot merge',
    ],
  ])('%s', (_, schema, remark) => {
    expect(readContract(z.object({ it: schema }), 'input')).toMatchObject({
      remarks: [expect.stringContaining(remark)],
    })
  })
})

test('a date-time without an offset is shown with its Z', () => {
  expect(shownOf(z.iso.datetime())).toMatchObject({ format: 'date-time', pattern: 'Z$' })
  expect(shownOf(z.iso.datetime({ offset: true }))).not.toHaveProperty('pattern')
})

describe('Zod 3', () => {
  const node: z3.ZodTypeAny = z3.lazy(() => z3.object({ at: z3.date(), next: node.optional() }))
  const schema = z3
    .object({
      it: z3.tuple([z3.date(), node]).optional(),
      n: z3.number().int().min(3).default(5).describe('count'),
      mode: z3.enum(['a', 'b']),
      mail: z3
        .string()
        .email()
        .transform((text) => text.length),
      raw: z3.preprocess((value) => Number((value as { n: number }).n), z3.number()).optional(),
    })
    .strict()

  test('is shown, with defaults that are not required', () => {
    expect(aContract(schema).schema).toMatchObject({
      type: 'object',
      properties: {
        it: { prefixItems: [dateTime, {}] },
        n: { type: 'integer', minimum: 3, default: 5, description: 'count' },
        mode: { enum: ['a', 'b'] },
        mail: { type: 'string', format: 'email' },
      },
      required: ['mode', 'mail'],
      additionalProperties: false,
    })
  })

  test('checks and transforms itself, and dates arrive as Date', async () => {
    const sent = {
      it: [day, { at: day, next: { at: day } }],
      mode: 'a',
      mail: 'a@b.co',
      raw: { n: 1 },
    }

    expect(await aContract(schema).parse(sent)).toEqual({
      ok: true,
      value: { it: [date, { at: date, next: { at: date } }], n: 5, mode: 'a', mail: 6, raw: 1 },
    })
    expect(await aContract(schema).parse({ mode: 'c', mail: 'a@b.co' })).toMatchObject({
      issues: [{ pointer: '/mode' }],
    })
  })

  test('a raw shape is an object', async () => {
    const contract = aContract({ city: z3.string(), at: z3.date().optional() })

    expect(contract.schema).toMatchObject({ type: 'object', required: ['city'] })
    expect(await contract.parse({ city: 'Oslo', at: day, other: 1 })).toEqual({
      ok: true,
      value: { city: 'Oslo', at: date },
    })
    expect(await contract.parse({})).toMatchObject({ issues: [{ pointer: '/city' }] })
  })
})

describe('an intersection', () => {
  test('runs each side once, however deeply the value is nested', async () => {
    let runs = 0
    const node: z.ZodType = z.intersection(
      z.object({ at: z.date().optional() }).refine(() => ++runs > 0),
      z.object({ child: z.lazy(() => node).optional() }),
    )
    const levels = 18
    let value: object = { at: day }
    for (let level = 0; level < levels; level++) value = { child: value }

    expect(await arrives(z.object({ it: node }), value)).toMatchObject({ child: { child: {} } })
    expect(runs).toBe(levels + 1)
  })

  test('of many sides runs each once', async () => {
    let runs = 0
    let schema: z.ZodType = z.looseObject({ at: z.date() }).refine(() => ++runs > 0)
    for (let side = 0; side < 16; side++) schema = schema.and(z.looseObject({}))

    expect(await arrives(z.object({ it: schema }), { at: day })).toEqual({ at: date })
    expect(runs).toBe(1)
  })

  test.each<[string, z.ZodType, z.ZodType, unknown, unknown]>([
    ['one side passes on the text', z.date(), z.any(), day, date],
    ['the date is in a list', z.array(z.date()), z.array(z.any()), [day], [date]],
    ['one side makes a set', z.set(z.number()), z.any(), [1], new Set([1])],
    ['one side is asynchronous', z.date(), z.any().refine(async () => true), day, date],
  ])('keeps the live value when %s', async (_, left, right, sent, arrived) => {
    const both = z.object({ at: left }).and(z.object({ at: right }))
    expect(await arrives(z.object({ it: both }), { at: sent })).toEqual({ at: arrived })
    const swapped = z.object({ at: right }).and(z.object({ at: left }))
    expect(await arrives(z.object({ it: swapped }), { at: sent })).toEqual({ at: arrived })
  })

  test('with a wrong value names its place', async () => {
    const both = z.object({ at: z.date() }).and(z.object({ n: z.number() }))
    expect(await arrives(z.object({ it: both }), { at: day, n: 'x' })).toMatchObject([
      { pointer: '/it/n' },
    ])
  })
})

describe('a schema without an end', () => {
  const node = (): z.ZodType => z.object({ children: z.array(z.lazy(node)) })
  const dated = (): z.ZodType => z.object({ at: z.date(), children: z.array(z.lazy(dated)) })
  const readonly = (): z.ZodType => z.union([z.lazy(readonly), z.lazy(readonly)]).readonly()
  const byGetter = (): z.ZodType =>
    z.object({
      get children() {
        return z.array(byGetter())
      },
    })

  test.each([
    ['by z.lazy', node],
    ['with a date', dated],
    ['of unions', readonly],
    ['by a getter', byGetter],
  ])('%s is a fault', (_, make) => {
    expect(readContract(z.object({ it: make() }), 'input')).toHaveProperty('fault')
    expect(readContract(z.object({ it: make() }), 'output')).toHaveProperty('fault')
  })
})

test('a recursive schema that was used before still takes dates', async () => {
  const tree: z.ZodType = z.lazy(() => z.object({ at: z.date(), next: tree.optional() }))
  tree.safeParse({ at: date })

  expect(await arrives(z.object({ it: tree }), { at: day })).toEqual({ at: date })
})

test('a discriminated union by a bigint literal takes what it shows', async () => {
  const union = z.discriminatedUnion('k', [
    z.object({ k: z.literal(1n), a: z.string() }),
    z.object({ k: z.literal(2n), at: z.date() }),
  ])
  expect(await arrives(z.object({ it: union }), { k: '2', at: day })).toEqual({ k: 2n, at: date })
})

describe('Zod 3 beside a date', () => {
  test('one wrong field is one issue, with the message of the author', async () => {
    const schema = z3.object({ at: z3.date(), n: z3.number({ message: 'a count' }) })
    expect(await arrives(z3.object({ it: schema }), { at: day, n: 'x' })).toEqual([
      { pointer: '/it/n', message: 'a count' },
    ])
  })

  test('a value that .catch() replaces is accepted', async () => {
    const schema = z3.object({ at: z3.date(), n: z3.number().catch(1) })
    expect(await arrives(z3.object({ it: schema }), { at: day, n: 'x' })).toEqual({
      at: date,
      n: 1,
    })
  })
})

describe('functions of Zod 3 that decide about any value', () => {
  class Money {}

  test.each([
    ['z.instanceof()', z3.instanceof(Money), /an instance of Money cannot be sent as JSON/],
    ['z.custom()', z3.custom<string>((value) => value === 'px'), /\(custom\) is a function/],
  ])('are shown as any value with a remark: %s', (_, schema, remark) => {
    expect(readContract({ a: schema }, 'input')).toMatchObject({
      contract: { schema: { properties: { a: {} } } },
      remarks: [expect.stringMatching(remark)],
    })
  })

  test.each([
    ['a refinement', z3.any().refine((value) => value === 'px')],
    ['one that throws', z3.any().refine((value) => value.a.b === 'px')],
    ['one that rejects', z3.any().refine((value) => Promise.reject(new Error(String(value))))],
  ])('are not confused with %s', (_, schema) => {
    expect(readContract({ a: schema }, 'input')).toMatchObject({ remarks: [] })
  })

  test('accept the JSON form of a class that has one', async () => {
    const schema = z3.object({ a: z3.instanceof(URL), b: z3.instanceof(Uint8Array).optional() })
    const contract = aContract(schema)

    expect(contract.schema).toMatchObject({ properties: { a: { type: 'string', format: 'uri' } } })
    expect(await contract.parse({ a: 'https://x.example/', b: 'AQI=' })).toEqual({
      ok: true,
      value: { a: new URL('https://x.example/'), b: new Uint8Array([1, 2]) },
    })
    expect(await contract.parse({ a: 'none' })).toMatchObject({ ok: false })
  })
})
