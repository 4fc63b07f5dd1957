import { UriTemplate as SdkTemplate } from '@modelcontextprotocol/server'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defineTool, definitionSource, z } from '../../src/index.ts'
import { UriTemplate } from '../../src/mcp/uri-template.ts'
import { findAmbiguity } from '../../src/patterns/find-ambiguity.ts'
import { toLinearPattern } from '../../src/patterns/linear-pattern.ts'
import { WorkLimit } from '../../src/patterns/work-limit.ts'

const limit = new WorkLimit()

const atom = fc.constantFrom(
  ...[
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\d',
    '\\w',
    '\\s',
    '\\S',
    '\\b',
    '^',
    '$',
    'é',
    '\\u{1F600}',
  ],
  ...[
    '\\ud83d\\ude00',
    '😀',
    '\\p{L}',
    '\\P{Lu}',
    '-',
    '[\\]a-c]',
    '\\x61',
    '\\n',
    '[^]',
    '[]',
    '\\.',
  ],
)
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,3}', '{1,}', '*?', '{0}')

const { pattern } = fc.letrec<{ pattern: string; item: string; group: string }>((tie) => ({
  pattern: fc.array(tie('item'), { minLength: 1, maxLength: 4 }).map((items) => items.join('')),
  item: fc
    .tuple(fc.oneof({ maxDepth: 2 }, atom, tie('group')), quantifier)
    .map(([one, times]) => (/^(?:\\b|\^|\$)$/.test(one) ? one : one + times)),
  group: fc
    .tuple(fc.constantFrom('(', '(?:'), tie('pattern'), fc.option(tie('pattern')))
    .map(([open, first, second]) => `${open}${first}${second === null ? '' : `|${second}`})`),
}))

const lookahead = fc.constantFrom('', '', '', '^(?=.*[A-Z])', '^(?!.*--)', '^(?=a)(?!ab)')
const text = fc
  .array(fc.constantFrom('a', 'b', 'c', 'A', 'é', '😀', '1', ' ', '-', '\n', '\ud83d', '_', '.'), {
    maxLength: 7,
  })
  .map((characters) => characters.join(''))

test('matches what V8 matches', () => {
  fc.assert(
    fc.property(lookahead, pattern, fc.array(text, { minLength: 5 }), (prefix, rest, texts) => {
      const source = prefix + rest
      const native = new RegExp(source, 'u')
      const linear = toLinearPattern(source)
      for (const one of texts)
        expect(limit.run(() => linear.test(one, limit))).toBe(native.test(one))
    }),
    { numRuns: process.env.SOAK ? 50_000 : 1000 },
  )
})

test.each([
  ['^(?:[a-z]{2}){3}$', 'abcdef', true],
  ['^[\\p{Script=Greek}]+$', 'αβγ', true],
  ['^\\cJ$', '\n', true],
  ['^a{0}$', '', true],
  ['^(?<year>\\d{4})-\\d\\d$', '2026-11', true],
  ['\\Bb', 'ab', true],
  ['^(?:)*$', '', true],
  ['^.$', '\u2028', false],
  ['', 'anything', true],
])('%s on %j is %s', (source, one, expected) => {
  expect(toLinearPattern(source).test(one, limit)).toBe(expected)
})

test.each([
  ['(a)\\1', 'contains a backreference'],
  ['(?<n>a)\\k<n>', 'contains a backreference'],
  ['(?<=a)b', 'contains a lookbehind'],
  ['a(?=b)', 'contains a lookahead that is not at its start'],
  ['(a{1,1000}){1,1000}', 'expands to more than 12000 steps'],
])('%s is refused: %s', (source, reason) => {
  expect(() => toLinearPattern(source)).toThrow(reason)
})

test.each([
  [/(a+)+$/, 'exponential'],
  [/^(a|a)*b$/, 'exponential'],
  [/^(\w+\s?)*$/, 'exponential'],
  [/^(?:a|b|ab)+$/u, 'exponential'],
  [/^(a{1,100}){1,100}$/, 'exponential'],
  [/\s+$/, 'polynomial'],
  [/^.*a.*b$/, 'polynomial'],
  [/^\w+\d+$/i, 'polynomial'],
  [/^[a-z0-9-]+$/, undefined],
  [/^([a-z0-9]+-)*[a-z0-9]+$/, undefined],
  [/^[\w.+-]+@[\w-]+\.[\w.-]+$/, undefined],
  [/^(?=.*[A-Z])(?=.*\d).{8,}$/, undefined],
  [/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==)?$/, undefined],
  [/(a+)+/, undefined],
])('V8 on %s: %s', (regExp, growth) => {
  expect(findAmbiguity(regExp)).toBe(growth)
})

test.each([
  ['notes://{id}', 'notes://7', 'notes://a/b', 'notes://'],
  ['x://{a}-{b}', 'x://1-2', 'x://1-2-3', 'x://12'],
  ['x://{+path}/end', 'x://a/b/end', 'x://a/end/end', 'x://end'],
  ['x://a{?q,r}', 'x://a?q=1&r=2', 'x://a?q=1', 'x://a?q=1=2&r=3'],
  ['x:/{/path*}', 'x://a,b,c', 'x://a', 'x://a,,b'],
  ['x://{list*}', 'x://a,b', 'x://a,', 'x://a/b'],
  ['x://f{.ext}', 'x://f.md', 'x://f', 'x://f.a.b'],
  ['x://(a+)+{b}', 'x://(a+)+1', 'x://aa1', 'x://('],
])('the URI template %s matches as in the SDK', (template, ...uris) => {
  const sdk = new SdkTemplate(template)
  for (const uri of uris)
    expect(new UriTemplate(template).match(uri)).toEqual(sdk.match(uri) ?? undefined)
})

test('a dangerous pattern in code gets a warning with its pointer', async () => {
  const tool = defineTool({
    name: 'find',
    description: 'Finds.',
    category: 'read',
    schema: z.object({ items: z.array(z.object({ id: z.string().regex(/^(a+)+$/) })) }),
    outputSchema: z.object({ text: z.string().regex(/\s+$/) }),
    execute: () => ({ text: ' ' }),
  })

  const { diagnostics } = await definitionSource([tool]).read()

  expect(diagnostics).toMatchObject([
    {
      severity: 'warning',
      code: 'pattern_slow',
      pointer: '/default/0/schema/properties/items/items/properties/id',
      message: expect.stringMatching(/exponential/),
    },
    { code: 'pattern_slow', pointer: '/default/0/outputSchema/properties/text' },
  ])
})
