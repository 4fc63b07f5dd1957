import fc from 'fast-check'
import { expect, test } from 'vitest'
import { removeJsonc, setJsonc } from '../../src/cli/connect/edit-jsonc.ts'
import { parseJsonc } from '../../src/cli/connect/parse-jsonc.ts'
import { amount } from '../support/amount.ts'

const key = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__'), fc.string({ maxLength: 5 }))
const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
const indent = fc.constantFrom(0, 1, 2, 4, '\t')
const numRuns = amount(300, 20_000)

/** JSON.parse rejects comments and trailing commas, so it is only a reference without them. */
test(`${numRuns} edits of plain JSON equal edits of the parsed value`, () => {
  fc.assert(
    fc.property(
      object,
      key,
      key,
      fc.jsonValue({ maxDepth: 1 }),
      indent,
      (outer, name, inner, value, space) => {
        const text = JSON.stringify({ ...outer, servers: { ...outer } }, null, space)

        const set = JSON.parse(
          setJsonc(
            text,
            ['servers', name, inner].slice(0, Object.hasOwn(outer, name) ? 2 : 3),
            value,
          ),
        )
        const removed = JSON.parse(removeJsonc(text, ['servers', name]))

        const expected = { ...outer, servers: { ...outer } }
        const added = Object.hasOwn(outer, name) ? value : { [inner]: value }
        expect(JSON.stringify(sorted(set))).toBe(
          JSON.stringify(sorted({ ...expected, servers: { ...outer, [name]: added } })),
        )
        const { [name]: _, ...rest } = outer
        expect(JSON.stringify(sorted(removed))).toBe(
          JSON.stringify(sorted({ ...expected, servers: rest })),
        )
      },
    ),
    { numRuns },
  )
})

test('a text with comments in every place is parsed like the text without them', () => {
  const tokens = [
    '{',
    '"a"',
    ':',
    '[',
    '1',
    ',',
    '"//x"',
    ',',
    ']',
    ',',
    '"b"',
    ':',
    '{',
    '}',
    ',',
    '}',
  ]
  const text = tokens.map((token) => `/* , } */ ${token} // ] "`).join('\n')

  expect(parseJsonc(text).value).toEqual({ a: [1, '//x'], b: {} })
})

test.each([
  '{',
  '{"a" 1}',
  '{"a":1,,}',
  '[,]',
  '{a:1}',
  "{'a':1}",
  '{"a":01}',
  '{"a":"\n"}',
  '{} {}',
  '/*',
  '1/',
  '"\\x"',
  '[1 2]',
  'NaN',
])('refuses %j with line and column', (text) => {
  expect(() => parseJsonc(text)).toThrow(/in line \d+, column \d+/)
})

const sorted = (value: object): unknown =>
  Object.entries(value)
    .map(([name, one]) => [
      name,
      typeof one === 'object' && one !== null && !Array.isArray(one) ? sorted(one) : one,
    ])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
