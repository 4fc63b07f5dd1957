import { eachWord, listPieces } from './words.ts'

const around = 80
const longest = 240

interface Stretch {
  readonly start: number
  readonly end: number
}

/**
 * The part of a text where it matches, each match between tags that are always balanced. No match is
 * looked for before `from`, or far behind the first one.
 */
export function toSnippet(text: string, words: ReadonlySet<string>, from = 0): string {
  const found: Stretch[] = []
  for (const piece of listPieces(text, longest, from)) {
    eachWord(piece.text, words, ({ start, end }) =>
      found.push({ start: piece.start + start, end: piece.start + end }),
    )
    if (found[0] && piece.start + piece.text.length >= found[0].start + longest) break
  }
  const [first] = found
  if (!first) return plain(text.slice(0, toBoundary(text, longest)))
  const start = toBoundary(text, Math.max(0, first.start - around))
  const end = toBoundary(text, Math.min(text.length, start + longest))
  let snippet = start > 0 ? '…' : ''
  let place = start
  for (const match of join(found.filter((one) => one.end <= end))) {
    snippet += `${plain(text.slice(place, match.start))}<mark>${text.slice(match.start, match.end)}</mark>`
    place = match.end
  }
  return `${snippet}${plain(text.slice(place, end))}${end < text.length ? '…' : ''}`
}

/** Where characters are words, several matches can be of the same characters. */
function join(found: readonly Stretch[]): readonly Stretch[] {
  const joined: Stretch[] = []
  for (const { start, end } of found) {
    const last = joined.at(-1)
    if (last && start <= last.end)
      joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, end) }
    else joined.push({ start, end })
  }
  return joined
}

/** Never between the two halves of a character. */
const toBoundary = (text: string, at: number): number =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1)) ? at - 1 : at

/** Tags that were in the text already are not ours: they would look like a match. */
const plain = (text: string): string =>
  text.replaceAll(/<(\/?mark)\b[^>]*>?/gi, '‹$1›').replaceAll(/\s+/g, ' ')
