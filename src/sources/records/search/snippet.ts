import { eachWord, splitText } from '../model/words.ts'

const contextLength = 80
const maxLength = 240

interface Range {
  readonly start: number
  readonly end: number
}

/**
 * An excerpt around the first match at or after `from`, with every match inside `<mark>` tags that
 * are always balanced. The text far behind the first match is not scanned.
 */
export function toSnippet(text: string, words: ReadonlySet<string>, from = 0): string {
  const matches: Range[] = []
  for (const chunk of splitText(text, maxLength, from)) {
    eachWord(chunk.text, words, ({ start, end }) =>
      matches.push({ start: chunk.start + start, end: chunk.start + end }),
    )
    if (matches[0] && chunk.start + chunk.text.length >= matches[0].start + maxLength) break
  }
  const [first] = matches
  if (!first) return neutralize(text.slice(0, toBoundary(text, maxLength)))
  const start = toBoundary(text, Math.max(0, first.start - contextLength))
  const end = toBoundary(text, Math.min(text.length, start + maxLength))
  let snippet = start > 0 ? '…' : ''
  let position = start
  for (const match of mergeOverlaps(matches.filter((one) => one.end <= end))) {
    snippet += `${neutralize(text.slice(position, match.start))}<mark>${text.slice(match.start, match.end)}</mark>`
    position = match.end
  }
  return `${snippet}${neutralize(text.slice(position, end))}${end < text.length ? '…' : ''}`
}

/** Matches can overlap in scripts without spaces, where each character is a word. */
function mergeOverlaps(matches: readonly Range[]): readonly Range[] {
  const ranges: Range[] = []
  for (const { start, end } of matches) {
    const last = ranges.at(-1)
    if (last && start <= last.end)
      ranges[ranges.length - 1] = { start: last.start, end: Math.max(last.end, end) }
    else ranges.push({ start, end })
  }
  return ranges
}

/** Moves the boundary back if it would split a surrogate pair. */
const toBoundary = (text: string, at: number): number =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1)) ? at - 1 : at

/** Replaces `<mark>` tags in the text itself, which would look like a match. */
const neutralize = (text: string): string =>
  text.replaceAll(/<(\/?mark)\b[^>]*>?/gi, '‹$1›').replaceAll(/\s+/g, ' ')
