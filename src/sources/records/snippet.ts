import { placeWords } from './words.ts'

const around = 80
const longest = 240

/** The part of a text where it matches, each match between tags that are always balanced. */
export function toSnippet(text: string, words: ReadonlySet<string>): string {
  const found = [...placeWords(text)].filter(({ word }) => words.has(word))
  const [first] = found
  if (!first) return plain(text.slice(0, longest))
  const start = Math.max(0, first.start - around)
  const end = Math.min(text.length, start + longest)
  let snippet = start > 0 ? '…' : ''
  let place = start
  for (const match of found.filter((one) => one.end <= end)) {
    snippet += `${plain(text.slice(place, match.start))}<mark>${text.slice(match.start, match.end)}</mark>`
    place = match.end
  }
  return `${snippet}${plain(text.slice(place, end))}${end < text.length ? '…' : ''}`
}

/** Tags that were in the text already are not ours: they would look like a match. */
const plain = (text: string): string =>
  text.replaceAll(/<(\/?mark)\b[^>]*>?/gi, '‹$1›').replaceAll(/\s+/g, ' ')
