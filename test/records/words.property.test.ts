import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toSnippet } from '../../src/sources/records/search/snippet.ts'
import {
  eachWord,
  listWords,
  toIndexTerms,
  toIndexText,
} from '../../src/sources/records/search/words.ts'

const characters = [
  ...'東京都庁茶がカｶﾞー々𠮷ゟ〱㊀㈩aB1é ,。น้ำดีกາຳកាမြकी한',
  'e\u0301',
  '\u3099',
  '\u0e4d\u0e32',
]
const aText = (maxLength: number) =>
  fc.array(fc.constantFrom(...characters), { maxLength }).map((parts) => parts.join(''))

test('whatever is found in a text is found by the index, and is marked there', () => {
  fc.assert(
    fc.property(aText(30), aText(4), (text, q) => {
      const wanted = new Set(listWords(q))
      const found = new Set<string>()
      eachWord(text, wanted, ({ word, start, end }) => {
        found.add(word)
        expect(listWords(text.slice(start, end)).join('')).toContain(word)
      })
      const indexed = new Set(
        toIndexText(text)
          .toLowerCase()
          .match(/[^\s\p{P}]+/gu),
      )
      for (const piece of toIndexTerms([...found])) expect([...indexed]).toContain(piece)
      const snippet = toSnippet(text, wanted)
      expect(snippet.match(/<mark>/g)?.length).toBe(snippet.match(/<\/mark>/g)?.length)
      expect(snippet.includes('<mark>')).toBe(found.size > 0)
    }),
    {
      numRuns: 2000,
      examples: [
        ['កゟ', 'កゟ'],
        ['㊀㊁㊂', '㊀㊁㊂'],
        ['ําដ', 'ําដ'],
      ],
    },
  )
})

test('a text is found by any part of itself', () => {
  fc.assert(
    fc.property(aText(12), aText(12), aText(12), (before, q, after) => {
      const wanted = new Set(listWords(q))
      const found = new Set<string>()
      eachWord(`${before} ${q} ${after}`, wanted, ({ word }) => found.add(word))
      expect(found).toEqual(wanted)
    }),
  )
})
