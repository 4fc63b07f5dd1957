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
  const found: Range[] = []
  for (const chunk of splitText(text, maxLength, from)) {
    eachWord(chunk.text, words, ({ start, end }) =>
      found.push({ start: chunk.start + start, end: chunk.start + end }),
    )
    if (found[0] && chunk.start + chunk.text.length >= found[0].start + maxLength) break
  }
  const [first] = found
  if (!first) return neutralize(text.slice(0, toBoundary(text, maxLength)))
  const start = toBoundary(text, Math.max(0, first.start - contextLength))
  const end = toBoundary(text, Math.min(text.length, start + maxLength))
  let snippet = start > 0 ? '…' : ''
  let position = start
  for (const match of mergeOverlaps(found.filter((one) => one.end <= end))) {
    snippet += `${neutralize(text.slice(position, match.start))}<mark>${text.slice(match.start, match.end)}</mark>`
    position = match.end
  }
  return `${snippet}${neutralize(text.slice(position, end))}${end < text.length ? '…' : ''}`
}

/** Matches can overlap in scripts without spaces, where each character is a word. */
function mergeOverlaps(found: readonly Range[]): readonly Range[] {
  const merged: Range[] = []
  for (const { start, end } of found) {
    const last = merged.at(-1)
    if (last && start <= last.end)
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, end) }
    else merged.push({ start, end })
  }
  return merged
}

/** Moves the boundary back if it would split a surrogate pair. */
const toBoundary = (text: string, at: number): number =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1)) ? at - 1 : at

/** Replaces `<mark>` tags in the text itself, which would look like a match. */
const neutralize = (text: string): string =>
  text.replaceAll(/<(\/?mark)\b[^>]*>?/gi, '‹$1›').replaceAll(/\s+/g, ' ')
