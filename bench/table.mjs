const [begin, end] = ['<!-- npm run bench: begin -->', '<!-- npm run bench: end -->']

/** The document with the text between its two markers replaced. */
export const replaceBlock = (document, text) => {
  const [first, last] = [document.indexOf(begin), document.indexOf(end)]
  if (first < 0 || last < first)
    throw new Error(`The document needs the lines ${begin} and ${end}.`)
  return `${document.slice(0, first + begin.length)}\n\n${text.trim()}\n\n${document.slice(last)}`
}
