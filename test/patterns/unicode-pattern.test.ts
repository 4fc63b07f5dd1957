import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { readContract } from '../../src/contracts/read-contract.ts'
import { toUnicodePattern } from '../../src/patterns/to-unicode-pattern.ts'
import { aContract } from '../support/builders.ts'

/** Patterns that V8 compiles only without the `u` flag, with a text that matches and one that does not. */
const withoutUnicode: [string, string, string, string][] = [
  ['^\\d{3}\\-\\d{4}$', '^\\d{3}-\\d{4}$', '555-1234', '5551234'],
  ['^[\\w-\\.]+@', '^[\\w\\-\\.]+@', 'a-b.c@', 'a b@'],
  ['^[a-\\d]$', '^[a\\-\\d]$', '-', 'b'],
  ['^[^\\@]+\\@x$', '^[^@]+@x$', 'a@x', 'a@@x'],
  ['^a\\_b\\:\\#$', '^a_b:#$', 'a_b:#', 'a_b'],
  ["^\\'\\ $", "^' $", "' ", "'"],
  ['^{a}$', '^\\{a\\}$', '{a}', 'a'],
  ['^\\[.*]$', '^\\[.*\\]$', '[a]', '[a'],
]

describe('a pattern that is only valid without the u flag', () => {
  test.each(withoutUnicode)(
    '%s is shown as %s and means the same',
    async (source, shown, ...texts) => {
      const [valid, invalid] = texts.map((a) => ({ a }))
      for (const schema of [
        { type: 'object', properties: { a: { type: 'string', pattern: source } } },
        z.object({ a: z.string().regex(new RegExp(source)) }),
        z3.object({ a: z3.string().regex(new RegExp(source)) }),
      ]) {
        const contract = aContract(schema)

        expect(contract.schema).toMatchObject({ properties: { a: { pattern: shown } } })
        expect(await contract.parse(valid)).toMatchObject({ ok: true })
        expect(await contract.parse(invalid)).toMatchObject({ ok: false })
      }
    },
  )

  test('is translated among the keys of patternProperties, too', async () => {
    const contract = aContract({
      type: 'object',
      patternProperties: { '^x\\-': { type: 'number' } },
    })

    expect(contract.schema).toMatchObject({ patternProperties: { '^x-': { type: 'number' } } })
    expect(await contract.parse({ 'x-a': 'text' })).toMatchObject({ ok: false })
  })

  test('applies together with another key that becomes the same', async () => {
    const contract = aContract({
      type: 'object',
      patternProperties: { '^x\\-': { type: 'string' }, '^x-': { minLength: 3 } },
    })

    for (const [value, ok] of [
      ['text', true],
      ['a', false],
      [5, false],
    ])
      expect(await contract.parse({ 'x-a': value })).toMatchObject({ ok })
  })

  test.each([
    [
      '^[[:alpha:]]+$',
      'is not valid in Unicode mode, in which JSON Schema reads it: Lone quantifier brackets',
    ],
    ['^abc\\Z$', 'is not valid in Unicode mode, in which JSON Schema reads it: Invalid escape'],
    ['a{,3}', 'is not valid in Unicode mode, in which JSON Schema reads it: Incomplete quantifier'],
    ['^(a', 'is not a valid regular expression: Unterminated group'],
  ])('and cannot be translated, %s, is a fault with the reason', (pattern, reason) => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern } } }

    expect(readContract(schema, 'input')).toEqual({ fault: `/properties/a/pattern ${reason}` })
  })

  test('and cannot be translated is enforced in Zod without being shown', async () => {
    const pattern = '^\\Z$'
    const reading = readContract(z.object({ a: z.string().regex(new RegExp(pattern)) }), 'input')
    if ('fault' in reading) throw new Error(reading.fault)

    expect(reading.contract.schema).toMatchObject({ properties: { a: { type: 'string' } } })
    expect(reading.remarks).toEqual([
      '/properties/a: /^\\Z$/ is enforced, but clients do not see it: JSON Schema cannot express it',
    ])
    expect(await reading.contract.parse({ a: 'Z' })).toMatchObject({ ok: true })
  })

  const part = fc.constantFrom(
    ...['a', '\\-', '\\@', '\\_', '{', '}', '{2}', '[\\w-\\.]', '[-\\@]', '[^\\:]', '[+-\\:]', '|'],
    ...['[\\d-a-c]', '\\/', '\\.', '\\{', '(?:\\#)', '^', '$', '[a\\-c]', '[{}\\ ]'],
  )
  const anyText = fc.string({ unit: fc.constantFrom(...'ab-@_{}2.:+#/ c5'), maxLength: 6 })

  test('matches the same texts after the translation', () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), anyText, (parts, text) => {
        const source = parts.join('')
        fc.pre(isValid(source, ''))
        const translated = toUnicodePattern(source)
        fc.pre(isValid(translated, 'u'))

        expect(new RegExp(translated, 'u').test(text)).toBe(new RegExp(source).test(text))
      }),
      { numRuns: 2000 },
    )
  })
})

const isValid = (source: string, flags: string): boolean => {
  try {
    return Boolean(new RegExp(source, flags))
  } catch {
    return false
  }
}

const withSets = (source: string): RegExp => new RegExp(source, 'v')

describe('flags of a regular expression in Zod', () => {
  test.each([/^abc$/i, /^a$/m, /^a.b$/s, /^é$/i, withSets('^[\\p{L}--[a-z]]$')])(
    '%s is enforced without being shown',
    (pattern) => {
      for (const schema of [z.string().regex(pattern), z3.string().regex(pattern)]) {
        const reading = readContract({ a: schema }, 'input')
        if ('fault' in reading) throw new Error(reading.fault)

        expect(JSON.stringify(reading.contract.schema)).not.toContain('pattern')
        expect(reading.remarks).toEqual([expect.stringContaining(String(pattern))])
      }
    },
  )

  test.each([/^\d+\.\w$/i, /^\w+$/s, /a/m, /^\p{L}$/u, withSets('^[a&]\\p{L}$'), /^a$/g])(
    '%s is shown, because its flags change nothing',
    (pattern) => {
      const reading = readContract({ a: z.string().regex(pattern) }, 'input')

      expect(reading).toMatchObject({
        contract: { schema: { properties: { a: { pattern: pattern.source } } } },
        remarks: [],
      })
    },
  )

  test('only the pattern with a flag is left out', () => {
    const schema = z.object({ a: z.string().regex(/^a/).regex(/z$/i) })

    expect(aContract(schema).schema).toMatchObject({
      properties: { a: { type: 'string', allOf: [{ pattern: '^a' }] } },
    })
  })
})
