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
  '%s pauses for the event loop in every place, or is refused at load',
  async (pattern) => {
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
      await reading.contract.parse({})
      for (const input of inputs)
        for (const value of [{ a: input }, { [input]: 1 }, { a: [input] }])
          expect(await toLongestTurnMs(() => reading.contract.parse(value))).toBeLessThan(maxTurnMs)
    }
  },
  60_000,
)

/** A schema and a valid value of at most 4 MB that takes longer than one slice. */
const large: readonly (readonly [name: string, schema: object, value: () => object])[] = [
  [
    'a pattern on a string of 1 MB',
    { properties: { a: { pattern: '^[a-z]+$' } } },
    () => ({ a: 'a'.repeat(1_000_000) }),
  ],
  [
    'a pattern on a string of 4 MB',
    { properties: { a: { pattern: '^(?:[a-z]+-)*[a-z]+$' } } },
    () => ({ a: `${'abc-'.repeat(1_000_000)}x` }),
  ],
  [
    'a nested repetition on a string of 1 MB',
    { properties: { a: { pattern: '^(a+)+$' } } },
    () => ({ a: 'a'.repeat(1_000_000) }),
  ],
  [
    'two lookaheads on a string of 1 MB',
    { properties: { a: { pattern: '^(?=.*z$)(?!.*b)a+z$' } } },
    () => ({ a: `${'a'.repeat(1_000_000)}z` }),
  ],
  [
    'a pattern for 100,000 items',
    { properties: { a: { items: { type: 'string', pattern: '^item-[0-9]+$' } } } },
    () => ({ a: Array.from({ length: 100_000 }, (_, at) => `item-${at}`) }),
  ],
  [
    'a recursive schema for 50,000 objects',
    {
      $defs: {
        node: {
          type: 'object',
          properties: {
            name: { pattern: '^[a-z]+-[0-9]+$' },
            a: { items: { $ref: '#/$defs/node' } },
          },
          unevaluatedProperties: false,
        },
      },
      $ref: '#/$defs/node',
    },
    () => ({ a: Array.from({ length: 50_000 }, (_, at) => ({ name: `item-${at}`, a: [] })) }),
  ],
  [
    'a map of 50,000 properties beside one named constructor',
    {
      properties: {
        constructor: {},
        a: { additionalProperties: { type: 'string', pattern: '^v[0-9]+$' } },
      },
    },
    () => ({
      a: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, `v${at}`])),
    }),
  ],
  [
    'uniqueItems over 50,000 objects',
    { properties: { a: { uniqueItems: true } } },
    () => ({ a: Array.from({ length: 50_000 }, (_, id) => ({ id, name: `item ${id}` })) }),
  ],
  [
    'uniqueItems over one item that contains 100,000',
    { properties: { a: { uniqueItems: true } } },
    () => ({ a: [Array.from({ length: 100_000 }, () => [])] }),
  ],
  [
    'an enum of 20,000 values for 100,000 items',
    {
      properties: { a: { items: { enum: Array.from({ length: 20_000 }, (_, at) => `v${at}`) } } },
    },
    () => ({ a: Array.from({ length: 100_000 }, (_, at) => `v${19_000 + (at % 1000)}`) }),
  ],
]

test.each(large)('%s is accepted, with pauses for the event loop', async (_, schema, toValue) => {
  const contract = aContract({ type: 'object', ...schema })
  const value = toValue()
  await contract.parse({})

  expect(await contract.parse(value)).toEqual({ ok: true, value })
  expect(await toLongestTurnMs(() => contract.parse(value))).toBeLessThan(maxTurnMs)
})

test('defaults are filled in a value that is validated in slices', async () => {
  const items = {
    type: 'object',
    properties: { name: { pattern: '^item-[0-9]+$' }, size: { default: 1 } },
  }
  const contract = aContract({ type: 'object', properties: { a: { items } } })
  const value = { a: Array.from({ length: 50_000 }, (_, at) => ({ name: `item-${at}` })) }

  expect(await contract.parse(value)).toEqual({
    ok: true,
    value: { a: value.a.map((item) => ({ ...item, size: 1 })) },
  })
  expect(value.a[0]).toEqual({ name: 'item-0' })
  expect(await toLongestTurnMs(() => contract.parse(value))).toBeLessThan(maxTurnMs)
})

test('values that are validated at the same time do not mix their results', async () => {
  const contract = aContract({
    type: 'object',
    properties: { a: { items: { anyOf: [{ pattern: '^item-[0-9]+$' }, { type: 'null' }] } } },
  })
  const toValue = (invalid: number) => ({
    a: Array.from({ length: 50_000 }, (_, at) => (at === invalid ? 'x' : `item-${at}`)),
  })

  const parsed = await Promise.all([30_000, -1, 40_000].map((at) => contract.parse(toValue(at))))

  expect(parsed).toMatchObject([
    { ok: false, issues: { 0: { pointer: '/a/30000' } } },
    { ok: true },
    { ok: false, issues: { 0: { pointer: '/a/40000' } } },
  ])
})

/** A schema and a value of at most 4 MB that would take minutes without bounds. */
const hostile: readonly (readonly [name: string, schema: object, value: () => object])[] = [
  [
    'a pattern with 2000 states on a string of 1 MB',
    { properties: { a: { pattern: '[ab]*a[ab]{2000}[cd]' } } },
    () => ({ a: toRandomText(1_000_000) }),
  ],
  [
    'anyOf that doubles the work at every level',
    toDoubling('anyOf', { required: ['x'] }, { required: ['y'] }),
    () => Array.from({ length: 60 }).reduce<object>((a) => ({ a }), {}),
  ],
  [
    'oneOf that doubles the work at every level',
    toDoubling('oneOf', {}, { required: ['y'] }),
    () => Array.from({ length: 60 }).reduce<object>((a) => ({ a }), {}),
  ],
]

function toDoubling(keyword: string, left: object, right: object): object {
  const $ref = '#/$defs/node'
  const a = {
    [keyword]: [
      { $ref, ...left },
      { $ref, ...right },
    ],
  }
  return { $defs: { node: { properties: { a } } }, $ref }
}

function toRandomText(length: number): string {
  let seed = 1
  return Array.from({ length }, () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return seed & 0x10000 ? 'a' : 'b'
  }).join('')
}

test.each(hostile)('%s is refused, with pauses for the event loop', async (_, schema, toValue) => {
  const contract = aContract({ type: 'object', ...schema })
  const value = toValue()
  await contract.parse({})
  const parsed: unknown[] = []

  const turns = await toTurnsMs(async () => parsed.push(await contract.parse(value)))

  // A few of hundreds of turns may contain a garbage collection.
  expect(turns.at(-Math.ceil(turns.length / 20))).toBeLessThan(maxTurnMs)
  expect(turns.reduce((sum, ms) => sum + ms)).toBeLessThan(20_000)
  expect(parsed).toMatchObject([
    { ok: false, issues: [{ message: expect.stringMatching(/takes too long/) }] },
  ])
})

test('a value of 600 KB is validated where each item costs little', async () => {
  const contract = aContract({
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'integer', minimum: 0 } } },
  })

  const value = { a: Array.from({ length: 100_000 }, (_, at) => at) }

  expect(await contract.parse(value)).toMatchObject({ ok: true })
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

/** Slices take 5 ms; CPU time includes the threads of V8 that compile and collect garbage. */
const maxTurnMs = 40

/** The longest turn in the best of several runs: a garbage collection can only make a turn longer. */
async function toLongestTurnMs(run: () => unknown): Promise<number> {
  let best = Infinity
  for (let attempt = 0; attempt < 5 && best > 20; attempt++)
    best = Math.min(best, (await toTurnsMs(run)).at(-1) as number)
  return best
}

/** The CPU time of each turn of the event loop, sorted. Other processes do not change it. */
async function toTurnsMs(run: () => unknown): Promise<readonly number[]> {
  const turns: number[] = []
  let isRunning = true
  let start = process.cpuUsage()
  const measureTurn = (): void => {
    const { user, system } = process.cpuUsage(start)
    turns.push((user + system) / 1000)
    start = process.cpuUsage()
    if (isRunning) setImmediate(measureTurn)
  }
  setImmediate(measureTurn)
  await run()
  isRunning = false
  measureTurn()
  return turns.sort((a, b) => a - b)
}
