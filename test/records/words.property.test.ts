import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  eachWord,
  listWords,
  toIndexTerms,
  toIndexText,
} from '../../src/sources/records/model/words.ts'
import { toSnippet } from '../../src/sources/records/search/snippet.ts'

const characters = [
  ...'東京都庁茶がカｶﾞー々𠮷ゟ〱㊀㈩aB1é ,。น้ำดีกາຳកាမြकी한',
  'e\u0301',
  '\u3099',
  '\u0e4d\u0e32',
]
const aText = (maxLength: number) =>
  fc.array(fc.constantFrom(...characters), { maxLength }).map((parts) => parts.join(''))

test('every word found in a text has its index terms and is marked in the snippet', () => {
  fc.assert(
    fc.property(aText(30), aText(4), (text, q) => {
      const queryWords = new Set(listWords(q))
      const foundWords = new Set<string>()
      eachWord(text, queryWords, ({ word, start, end }) => {
        foundWords.add(word)
        expect(listWords(text.slice(start, end)).join('')).toContain(word)
      })
      const indexedTerms = new Set(
        toIndexText(text)
          .toLowerCase()
          .match(/[^\s\p{P}]+/gu),
      )
      for (const term of toIndexTerms([...foundWords])) expect([...indexedTerms]).toContain(term)
      const snippet = toSnippet(text, queryWords)
      expect(snippet.match(/<mark>/g)?.length).toBe(snippet.match(/<\/mark>/g)?.length)
      expect(snippet.includes('<mark>')).toBe(foundWords.size > 0)
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

test('a text is found by any part of it', () => {
  fc.assert(
    fc.property(aText(12), aText(12), aText(12), (before, q, after) => {
      const queryWords = new Set(listWords(q))
      const foundWords = new Set<string>()
      eachWord(`${before} ${q} ${after}`, queryWords, ({ word }) => foundWords.add(word))
      expect(foundWords).toEqual(queryWords)
    }),
  )
})
