import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readContract } from '../../src/contracts/read-contract.ts'
import { toJsonValue } from '../../src/json/to-json-value.ts'
import { amount } from '../support/amount.ts'
import { aSample } from '../support/json-schema-sample.ts'

/** A schema, and whether a parsed value is valid for it again. */
interface Case {
  readonly schema: z.ZodType
  readonly text: string
}

const leaf = (text: string, schema: () => z.ZodType): fc.Arbitrary<Case> =>
  fc.constant(text).map(() => ({ schema: schema(), text }))

const leaves: readonly fc.Arbitrary<Case>[] = [
  leaf('string', () => z.string()),
  leaf('number', () => z.number()),
  leaf('catch', () => z.bigint().catch(1n)),
  leaf('default', () => z.date().default(new Date(0))),
  leaf('int', () => z.int()),
  leaf('boolean', () => z.boolean()),
  leaf('null', () => z.null()),
  leaf('date', () => z.date()),
  leaf('bigint', () => z.bigint()),
  leaf('enum', () => z.enum(['a', 'b'])),
  leaf('literal', () => z.literal(['x', 1, null])),
  leaf('literal5n', () => z.literal([5n, 'x'])),
  leaf('url', () => z.instanceof(URL)),
  leaf('bytes', () => z.instanceof(Uint8Array)),
  leaf('file', () => z.file()),
  leaf('image', () => z.file().mime('image/png')),
  leaf('template', () => z.templateLiteral(['v', z.int()])),
  leaf('json', () => z.json()),
  leaf('unknown', () => z.unknown()),
  leaf('never', () => z.never()),
  leaf('undefined', () => z.undefined()),
  leaf('nan', () => z.nan()),
  leaf('symbol', () => z.symbol()),
  leaf('recursive', () => {
    const node = z.object({
      at: z.date(),
      get children() {
        return z.array(node).optional()
      },
    })
    return node
  }),
  leaf('lazy', () => {
    const tree: z.ZodType = z.lazy(() => z.union([z.bigint(), z.map(z.string(), tree)]))
    return tree
  }),
]

const wrap =
  (text: string, change: (schema: z.ZodType) => z.ZodType) =>
  (inner: fc.Arbitrary<Case>): fc.Arbitrary<Case> =>
    inner.map((one) => ({ schema: change(one.schema), text: `${text}(${one.text})` }))

const wrappers = [
  wrap('optional', (schema) => schema.optional()),
  wrap('nullable', (schema) => schema.nullable()),
  wrap('readonly', (schema) => schema.readonly()),
  wrap('brand', (schema) => schema.brand<'x'>()),
  wrap('describe', (schema) => schema.describe('text')),
  wrap('array', (schema) => z.array(schema)),
  wrap('set', (schema) => z.set(schema)),
  wrap('map', (schema) => z.map(z.string(), schema)),
  wrap('keymap', (schema) => z.map(z.number(), schema)),
  wrap('record', (schema) => z.record(z.string(), schema)),
  wrap('enumrecord', (schema) => z.record(z.enum(['k', 'l']), schema)),
  wrap('partial', (schema) => z.partialRecord(z.enum(['k', 'l']), schema)),
  wrap('lazy', (schema) => z.lazy(() => schema)),
  wrap('preprocess', (schema) => z.preprocess((value) => value, schema)),
]

const { any } = fc.letrec<{ any: Case }>((tie) => {
  const inner = tie('any')
  return {
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      ...leaves,
      ...wrappers.map((change) => change(inner)),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.object({ a: a.schema, b: b.schema }),
        text: `object(${a.text},${b.text})`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.strictObject({ a: a.schema, b: b.schema.optional() }),
        text: `strict(${a.text},${b.text})`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.object({ a: a.schema }).catchall(b.schema),
        text: `catchall(${a.text},${b.text})`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.tuple([a.schema], b.schema),
        text: `tuple(${a.text},${b.text})`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.union([a.schema, b.schema]),
        text: `union(${a.text},${b.text})`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('a'), a: a.schema }),
          z.object({ kind: z.literal('b'), b: b.schema }),
        ]),
        text: `variants(${a.text},${b.text})`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        schema: z.intersection(z.object({ a: a.schema }), z.looseObject({ b: b.schema })),
        text: `both(${a.text},${b.text})`,
      })),
    ),
  }
})

const isDateTime = (text: string): boolean => !Number.isNaN(Date.parse(text)) && text.includes('T')

const ajv = new Ajv2020({ strict: false, validateSchema: false, addUsedSchema: false })
ajv.addFormat('date-time', isDateTime)
ajv.addFormat('uri', (text: string) => URL.canParse(text))

/** What the description of a shown map says, and JSON Schema cannot. */
const repeatsKey = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(repeatsKey) || new Set(value.map(toKey)).size < value.length
    : typeof value === 'object' && value !== null && Object.values(value).some(repeatsKey)

const toKey = (item: unknown): unknown =>
  Array.isArray(item) && item.length === 2 ? JSON.stringify(item[0]) : {}

const numRuns = amount(200, 5_000)

test('what is shown of a Zod schema can be called, and what it returns is as shown', async () => {
  let checked = 0
  await fc.assert(
    fc.asyncProperty(any, fc.nat(), async (one, seed) => {
      const input = readContract(z.object({ it: one.schema }), 'input')
      if ('fault' in input) throw new Error(input.fault)
      const output = readContract(z.object({ it: one.schema }), 'output')
      if ('fault' in output) throw new Error(output.fault)
      // Limits of Zod itself, which `check` reports.
      if (input.remarks.some((remark) => /Zod cannot (merge|freeze)/.test(remark))) return
      const isShown = ajv.compile(input.contract.schema)
      const isPromised = ajv.compile(output.contract.schema)
      for (const sample of fc.sample(aSample(input.contract.schema), { numRuns: 3, seed })) {
        const value = sample && JSON.parse(JSON.stringify(sample))
        if (value === undefined || !isShown(value) || repeatsKey(value)) continue
        checked++
        const parsed = await input.contract.parse(value)
        const described = JSON.stringify({ schema: input.contract.schema, value })
        if (!parsed.ok) throw new Error(`refused ${described}: ${JSON.stringify(parsed.issues)}`)
        const live = await output.contract.parse(parsed.value)
        if (!live.ok) throw new Error(`not returned ${described}: ${JSON.stringify(live.issues)}`)
        const json = await toJsonValue(live.value, { remainingChars: 1e7 })
        if (!isPromised(json))
          throw new Error(
            `sent ${JSON.stringify(json)} for ${JSON.stringify(output.contract.schema)}: ${JSON.stringify(isPromised.errors)}`,
          )
      }
    }),
    { numRuns },
  )
  expect(checked).toBeGreaterThan(numRuns / 2)
})
