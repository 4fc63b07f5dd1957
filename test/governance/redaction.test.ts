import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Redactor } from '../../src/governance/redactor.ts'
import { TextMatcher } from '../../src/governance/text-matcher.ts'

const numRuns = process.env.SOAK === undefined ? 60 : 20_000
const secrets = fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme' })
const words = fc.string({ maxLength: 12 })

describe('a secret is redacted anywhere in a text', () => {
  const encodings: Readonly<Record<string, (text: string) => string>> = {
    plain: (text) => text,
    base64: (text) => Buffer.from(text).toString('base64'),
    base64url: (text) => Buffer.from(text).toString('base64url'),
    hex: (text) => Buffer.from(text).toString('hex'),
    'upper-case hex': (text) => Buffer.from(text).toString('hex').toUpperCase(),
    'percent-encoding': encodeURIComponent,
    'a form': (text) => new URLSearchParams({ text }).toString(),
    JSON: (text) => JSON.stringify(text),
  }

  test.each(Object.entries(encodings))('in %s', (_, encode) => {
    fc.assert(
      fc.property(secrets, words, words, (secret, before, after) => {
        const redacted = new Redactor([secret]).text(encode(`${before}${secret}${after}`))
        expect(redacted).toContain('[withheld]')
      }),
      { numRuns },
    )
  })

  test('and texts without a secret stay as they are', () => {
    const redactor = new Redactor(['correct horse battery', 'short'])
    const value = { text: 'a short text about correct horses', at: new Date(0) }

    expect(redactor.value(value)).toBe(value)
  })

  test('and the limit on added secrets forgets the oldest one first', () => {
    const redactor = new Redactor(['given-at-start'])
    for (let index = 0; index < 70; index++) redactor.add(`added-secret-${index}-end`)

    expect(redactor.text('given-at-start added-secret-69-end')).toBe('[withheld] [withheld]')
    expect(redactor.text('added-secret-0-end')).toBe('added-secret-0-end')
  })
})

test('the matcher finds the same as a search for each text', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 3, maxLength: 9 })
  const texts = fc.array(letters, { minLength: 1, maxLength: 8 })
  const haystack = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 80 })
  fc.assert(
    fc.property(texts, haystack, (needles, text) => {
      const covered = Array<boolean>(text.length).fill(false)
      for (const needle of needles)
        for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1))
          covered.fill(true, at, at + needle.length)
      const found = Array<boolean>(text.length).fill(false)
      for (const { start, end } of new TextMatcher(needles).findAll(text))
        found.fill(true, start, end)
      expect(found).toEqual(covered)
    }),
    { numRuns: numRuns * 5 },
  )
})
