import { expect, test } from 'vitest'
import { readContract } from '../../src/contracts/read-contract.ts'
import { UriTemplate } from '../../src/mcp/uri-template.ts'
import { toGlob } from '../../src/patterns/glob.ts'
import { aContract } from '../support/builders.ts'

/** Known ReDoS patterns: nested, adjacent and overlapping repetitions, and large automata. */
const evilPatterns = [
  '(a+)+$',
  '(a*)*$',
  '^(a|a)*b$',
  '^(a|aa)+$',
  '(a|b|ab)*c',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(x+x+)+y',
  '(.*a){20}$',
  '^(.*?,){11}P',
  '(a?){30}a{30}$',
  '^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@)$',
  '^(\\w+\\s?)*$',
  '(\\s*\\S+\\s*)*:$',
  '^\\s+|\\s+$',
  '[ab]*a[ab]{14}[cd]',
  '[ab]*a[ab]{300}[cd]',
  '([ab]*a[ab]{20}[cd])|([ab]*b[ab]{21}[cd])',
  '^(([a-z]{0,30}){0,30})[0-9]$',
  '(?:[ab]{1,10}a){1,90}[cd]',
  '^.{1,5000}$',
  '(.+)+\\.(.+)+\\.(.+)+$',
  '^((a|b)*c|(a|b)*d)*$',
  '\\b(\\w+)*\\b!$',
  '^(?=(a+)+$)a*$',
  '^(?!(a|a)*b$).*$',
  '(([\\p{L}\\p{N}]+)+ ?)+$',
  '^(?:(?:a{1,100}){1,100})$',
  '(?:a.*){12}x',
  '^(a*)*(b*)*(c*)*!$',
  '^(?:[^@]+@)+[^@]+$',
  '^(a+)\\1$',
  '(?<=a+)b',
]

const length = 10_000
const inputs = [
  `${'a'.repeat(length)}!`,
  Array.from({ length }, (_, index) => 'ab'[((index * index * 7919) % 13) & 1]).join(''),
  `${'a,'.repeat(length / 2)}é`,
  ' '.repeat(length),
]

test.each(evilPatterns)(
  '%s blocks at most 20 ms in every place, or is refused at load',
  (pattern) => {
    const schemas = [
      { properties: { a: { pattern } } },
      { propertyNames: { pattern } },
      { patternProperties: { [pattern]: { type: 'object' } } },
      { $defs: { a: { pattern } }, properties: { a: { items: { $ref: '#/$defs/a' } } } },
    ]
    for (const schema of schemas) {
      const reading = readContract({ type: 'object', ...schema }, 'input')
      if ('fault' in reading) {
        expect(reading.fault).toMatch(/pattern\S* (contains|expands to) .*linear time/)
        continue
      }
      for (const input of inputs)
        for (const value of [{ a: input }, { [input]: 1 }, { a: [input] }])
          expect(toBlockedMs(() => reading.contract.parse(value))).toBeLessThanOrEqual(20)
    }
  },
  60_000,
)

/** A schema and a value of at most 4 MB that would take seconds without bounds. */
const costly: readonly (readonly [name: string, schema: object, value: () => object])[] = [
  [
    'uniqueItems over 60,000 objects',
    { properties: { a: { uniqueItems: true } } },
    () => ({ a: Array.from({ length: 60_000 }, (_, id) => ({ id, name: `item ${id}` })) }),
  ],
  [
    'an enum of 20,000 values for 100,000 items',
    {
      properties: { a: { items: { enum: Array.from({ length: 20_000 }, (_, at) => `v${at}`) } } },
    },
    () => ({ a: Array.from({ length: 100_000 }, (_, at) => `v${19_000 + (at % 1000)}`) }),
  ],
  [
    'anyOf that doubles the work at every level',
    {
      $defs: {
        node: {
          properties: {
            a: {
              anyOf: [
                { $ref: '#/$defs/node', required: ['x'] },
                { $ref: '#/$defs/node', required: ['y'] },
              ],
            },
          },
        },
      },
      $ref: '#/$defs/node',
    },
    () => Array.from({ length: 60 }).reduce<object>((a) => ({ a }), {}),
  ],
  [
    'a pattern on a string of 4 MB',
    { properties: { a: { pattern: '^(?:[a-z]+-)*[a-z]+$' } } },
    () => ({ a: 'abc-'.repeat(1_000_000) }),
  ],
]

test.each(costly)('%s is refused after at most 40 ms', (_, schema, toValue) => {
  const contract = aContract({ type: 'object', ...schema })
  const value = toValue()
  contract.parse({})

  expect(toBlockedMs(() => contract.parse(value))).toBeLessThanOrEqual(40)
  expect(contract.parse(value)).toMatchObject({
    ok: false,
    issues: [{ message: expect.stringMatching(/longer than 20 ms/) }],
  })
})

test('a value of 600 KB is validated where each item costs little', () => {
  const contract = aContract({
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'integer', minimum: 0 } } },
  })

  const value = { a: Array.from({ length: 100_000 }, (_, at) => at) }

  expect(contract.parse(value)).toMatchObject({ ok: true })
})

test('uniqueItems compares objects by value and numbers by type', () => {
  const contract = aContract({ type: 'object', properties: { a: { uniqueItems: true } } })
  const isValid = (a: unknown[]): boolean => (contract.parse({ a }) as { ok: boolean }).ok

  expect(isValid([1, '1', true, 'true', null, [], {}, [1], { a: 1, b: [2] }])).toBe(true)
  expect(
    isValid([
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
  ).toBe(false)
  expect(isValid([1, 2, 1])).toBe(false)
  expect(
    isValid([
      [1, [2]],
      [1, [2]],
    ]),
  ).toBe(false)
})

test('lengths count code points', () => {
  const contract = aContract({
    type: 'object',
    properties: { a: { minLength: 2, maxLength: 3 } },
  })
  const isValid = (a: string): boolean => (contract.parse({ a }) as { ok: boolean }).ok

  expect(['😀', '😀😀', '😀😀😀', '😀😀😀😀', 'a', 'ab', 'abcd'].map(isValid)).toEqual([
    false,
    true,
    true,
    false,
    false,
    true,
    false,
  ])
})

test('a URI template with adjacent variables takes linear time', () => {
  const template = new UriTemplate('x://{+a}{+b}{+c}{+d}{+e}-{f}-{g}-{h}!')

  expect(toBlockedMs(() => template.match(`x://${'-a'.repeat(5000)}`))).toBeLessThanOrEqual(20)
})

test('a name pattern with many wildcards takes linear time', () => {
  const matches = toGlob(`${'*a'.repeat(20)}*b`)

  expect(toBlockedMs(() => matches('a'.repeat(10_000)))).toBeLessThanOrEqual(20)
  expect(toGlob('orders_*')('orders_refund')).toBe(true)
  expect(toGlob('*_refund')('orders_refund')).toBe(true)
  expect(toGlob('a*a')('a')).toBe(false)
  expect(toGlob('a.c')('abc')).toBe(false)
  expect(toGlob('*')('')).toBe(true)
})

/** The fastest of several runs: other processes of a busy machine can only make a run longer. */
function toBlockedMs(run: () => unknown): number {
  let fastest = Infinity
  for (let attempt = 0; attempt < 10 && fastest > 15; attempt++) {
    const start = performance.now()
    run()
    fastest = Math.min(fastest, performance.now() - start)
  }
  return Math.round(fastest)
}
