/** First line of a stack trace: of JavaScript, of Python or of Java. */
const stackStart =
  /\s*(?:\n\s*at \S+|\n?Traceback \(most recent call last\)|\n\s*File "[^"\n]+", line \d+)/

/** Cuts a stack trace off a message: it says where code is and how it works. */
export function removeStack(message: string): string {
  const start = message.search(stackStart)
  return start < 0 ? message : message.slice(0, start).trimEnd()
}
