import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toCanonicalJson } from '../../src/json/canonical-json.ts'

const numRuns = process.env.SOAK === undefined ? 1000 : 100_000

/** The text, or that there is none. */
const attempt = (write: () => string | undefined): string => {
  try {
    return write() ?? 'null'
  } catch {
    return 'no canonical form'
  }
}

const odd = fc.constantFrom<unknown>(
  undefined,
  Symbol('s'),
  () => 1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -0,
  1e21,
  1e-7,
  new Date(0),
  new Map([['a', 1]]),
  Object.create(null),
  [undefined, 1],
  Object.assign([], { 1: 1 }),
  { toJSON: () => ({ b: 1, a: 2 }) },
  { toJSON: 1 },
  JSON.parse('{"__proto__":{"b":1},"a":2}'),
  '\ud800',
  { '\udc00': 1 },
  '\ud83d\ude00',
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'binary' }) },
    { weight: 3, arbitrary: fc.double() },
    { weight: 1, arbitrary: fc.constantFrom(true, false, null) },
    { weight: 1, arbitrary: odd },
    { weight: 3, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    {
      weight: 3,
      arbitrary: fc.dictionary(fc.string({ unit: 'binary' }), tie('value'), { maxKeys: 6 }),
    },
  ),
}))

test('canonical JSON has the bytes of the reference implementation, or neither has any', () => {
  fc.assert(
    fc.property(value, (any) => {
      expect(attempt(() => toCanonicalJson(any))).toBe(attempt(() => canonicalize(any ?? null)))
    }),
    { numRuns },
  )
})

test('keys are sorted by UTF-16 code units, at every depth', () => {
  // A surrogate pair sorts before U+FB33, although its code point is higher.
  const nested = { '\ufb33': 1, '\ud83d\ude00': [{ b: 1, a: -0 }], é: null, a: 1e21 }

  expect(toCanonicalJson(nested)).toBe(
    '{"a":1e+21,"é":null,"\ud83d\ude00":[{"a":0,"b":1}],"\ufb33":1}',
  )
})

test('values that are nested deeper than any argument, or in circles, are left to the reference', () => {
  const deep = JSON.parse(`${'['.repeat(300)}1${']'.repeat(300)}`)
  const circular: Record<string, unknown> = {}
  circular.self = circular

  expect(toCanonicalJson(deep)).toBe(canonicalize(deep))
  expect(() => toCanonicalJson(circular)).toThrow('Circular')
})
