const longest = 1000

/** What somebody else's program said, as far as it is worth repeating: one bounded line of text. */
export function quoteUpstreamText(words: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const plain = words.slice(0, 2 * longest).replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
  const trimmed = plain.trim()
  return trimmed.length > longest ? `${trimmed.slice(0, longest)}…` : trimmed
}
