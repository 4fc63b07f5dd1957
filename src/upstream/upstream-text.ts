const maxLength = 1000

/** Quotes text from an upstream server: one line, no control characters, bounded length. */
export function quoteUpstreamText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes them
  const singleLine = text.slice(0, 2 * maxLength).replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
  const trimmed = singleLine.trim()
  return trimmed.length > maxLength ? `${trimmed.slice(0, maxLength)}…` : trimmed
}
