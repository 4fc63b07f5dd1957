/** A word, a string or a punctuation mark of a JavaScript or TypeScript file. */
export interface Token {
  readonly kind: 'word' | 'string' | 'mark'
  /** The text of a word or mark, the value of a string. */
  readonly text: string
  /** Offset in the file. */
  readonly start: number
}

/**
 * The tokens of a file without its comments, numbers and regular expressions. Not a parser: enough to
 * find the literals and keys of definitions.
 */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  /** Braces that are open in each template literal that contains the present place. */
  const templates: number[] = []
  let index = 0
  const matchAt = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = index
    return pattern.exec(text)?.[0]
  }
  const readTemplate = (): void => {
    const start = index
    const body = matchAt(templateBody) ?? ''
    index += body.length
    if (text.startsWith('${', index)) {
      templates.push(0)
      index += 2
    } else {
      index += 1
      if (text[start - 1] === '`') tokens.push({ kind: 'string', text: body, start: start - 1 })
    }
  }
  while (index < text.length) {
    const start = index
    const skipped = matchAt(ignored)
    if (skipped) {
      index += skipped.length
      continue
    }
    const character = text[index] ?? ''
    const literal = matchAt(quoted)
    if (literal) {
      tokens.push({ kind: 'string', text: removeEscapes(literal.slice(1, -1)), start })
      index += literal.length
    } else if (character === '`') {
      index += 1
      readTemplate()
    } else if (character === '/' && startsExpression(tokens.at(-1)) && matchAt(expression)) {
      index += matchAt(expression)?.length ?? 1
    } else {
      const word = matchAt(words)
      if (word) {
        tokens.push({ kind: 'word', text: word, start })
        index += word.length
        continue
      }
      index += 1
      const depth = templates.at(-1)
      if (depth !== undefined && character === '}' && depth === 0) {
        templates.pop()
        readTemplate()
        continue
      }
      if (depth !== undefined && character === '{') templates[templates.length - 1] = depth + 1
      if (depth !== undefined && character === '}') templates[templates.length - 1] = depth - 1
      tokens.push({ kind: 'mark', text: character, start })
    }
  }
  return tokens
}

const ignored = /\s+|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const quoted = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y
const templateBody = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y
const expression = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const words = /[\p{ID_Start}$_#\d][\p{ID_Continue}$\u200c\u200d]*/uy

/** Whether a slash begins a regular expression: after an operator or keyword, not after a value. */
const startsExpression = (previous: Token | undefined): boolean =>
  previous === undefined ||
  (previous.kind === 'mark' && !')]}'.includes(previous.text)) ||
  (previous.kind === 'word' &&
    /^(return|typeof|case|in|of|void|delete|else|do|await|yield)$/.test(previous.text))

const removeEscapes = (text: string): string => text.replaceAll(/\\(['"`\\])/g, '$1')
