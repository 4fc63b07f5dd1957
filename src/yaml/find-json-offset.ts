/** Looks up where values are in valid JSON text; what it passed over is remembered for the next path. */
export class JsonOffsets {
  readonly #text: string
  /** By the offset of the container: its children by key or index. */
  readonly #children = new Map<number, ReadonlyMap<string, number>>()

  constructor(text: string) {
    this.#text = text
  }

  /** The offset of the value at `path`, or of its nearest existing ancestor. */
  find(path: readonly PropertyKey[]): number {
    let offset = skipSpace(this.#text, 0)
    for (const segment of path) {
      const child = this.#childrenOf(offset).get(String(segment))
      if (child === undefined) break
      offset = child
    }
    return offset
  }

  #childrenOf(offset: number): ReadonlyMap<string, number> {
    let children = this.#children.get(offset)
    if (!children) {
      children = listChildren(this.#text, offset)
      this.#children.set(offset, children)
    }
    return children
  }
}

/** Quotes and brackets: everything else in JSON can be passed over. */
const structural = /["{}[\],]/g

/** Of a name that occurs twice the last one counts, as for `JSON.parse`. */
function listChildren(text: string, offset: number): ReadonlyMap<string, number> {
  const children = new Map<string, number>()
  const opening = text[offset]
  if (opening !== '{' && opening !== '[') return children
  let at = skipSpace(text, offset + 1)
  for (let index = 0; at < text.length && text[at] !== '}' && text[at] !== ']'; index++) {
    let key = String(index)
    if (opening === '{') {
      const end = endOfString(text, at)
      key = JSON.parse(text.slice(at, end)) as string
      // Past the colon.
      at = skipSpace(text, skipSpace(text, end) + 1)
    }
    children.set(key, at)
    at = skipSpace(text, endOfValue(text, at))
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return children
}

function endOfValue(text: string, start: number): number {
  let depth = 0
  structural.lastIndex = start
  for (let match = structural.exec(text); match; match = structural.exec(text)) {
    const [sign] = match
    if (sign === '"') {
      structural.lastIndex = endOfString(text, match.index)
      if (depth === 0) return structural.lastIndex
    } else if (sign === '{' || sign === '[') depth++
    else if (sign === ',') {
      if (depth === 0) return match.index
    } else {
      // The bracket that closes the container of a number, `true`, `false` or `null`.
      if (depth === 0) return match.index
      if (--depth === 0) return match.index + 1
    }
  }
  return text.length
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end + 1
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0
  while (text[quote - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return at
}
