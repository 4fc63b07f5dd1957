import type { ModuleText } from '../../loaded-module.ts'
import { type Token, tokenize } from './tokenize.ts'

/** What to look for in the files of a module. */
export interface Target {
  /** The place in the exports: the first item is the export's name. */
  readonly path: readonly string[]
  /** The name of the tool, as it was loaded. */
  readonly name?: string | undefined
  /** Other keys of its object: one of them must stand beside the name. */
  readonly keys: readonly string[]
  /** The field that the diagnostic is about, as a path in the object. */
  readonly field: readonly string[]
}

/**
 * `file:line:column` of a definition or of one of its fields. Only what occurs exactly once is taken:
 * otherwise it is the export, and else the file alone.
 */
export function findPosition(texts: readonly ModuleText[], target: Target): string | undefined {
  const [own, ...imported] = texts.map(tokenizeOnce)
  if (!own) return undefined
  const place =
    findDefinition([own], target) ??
    findDefinition(imported, target) ??
    findExport([own, ...imported], target.path)
  return place ? place.file.positionOf(place.start) : own.file
}

const tokenized = new WeakMap<ModuleText, TokenizedText>()

function tokenizeOnce(text: ModuleText): TokenizedText {
  const result = tokenized.get(text) ?? new TokenizedText(text)
  tokenized.set(text, result)
  return result
}

interface Place {
  readonly file: TokenizedText
  readonly start: number
}

function findDefinition(files: readonly TokenizedText[], target: Target): Place | undefined {
  const { name, keys, path, field } = target
  const key = path.at(-1)
  const searches = [
    (file: TokenizedText) => (name === undefined ? [] : file.findNamed(name, keys)),
    (file: TokenizedText) => (name === undefined ? [] : file.findRegistered(name)),
    (file: TokenizedText) =>
      key === undefined || key === 'default' || /^\d+$/.test(key) ? [] : file.findKeyed(key),
  ]
  for (const search of searches) {
    const found = files.flatMap((file) => search(file).map((anchor) => ({ file, anchor })))
    const [only] = found
    if (!only || found.length > 1) continue
    const { file, anchor } = only
    return { file, start: file.findField(anchor.object, field) ?? anchor.start }
  }
  return undefined
}

/** Of the first file that exports the name; CommonJS may have it as a property of the default export. */
function findExport(files: readonly TokenizedText[], path: readonly string[]): Place | undefined {
  const [name = 'default', property] = path
  const names = name === 'default' && property !== undefined ? [property, name] : [name, 'default']
  for (const one of names)
    for (const file of one === 'default' ? files.slice(0, 1) : files) {
      const [start, ...others] = file.findExports(one)
      if (start !== undefined && others.length === 0) return { file, start }
    }
  return undefined
}

/** A place where a definition stands, and the index of the brace that opens its object. */
interface Anchor {
  readonly start: number
  readonly object: number | undefined
}

class TokenizedText {
  readonly file: string
  readonly #tokens: readonly Token[]
  /** Indexes of the tokens by their text: large files have thousands of definitions to find. */
  readonly #byText = new Map<string, number[]>()
  /** Offsets at which lines begin. */
  readonly #lines: readonly number[]

  constructor({ file, text }: ModuleText) {
    this.file = file
    this.#tokens = tokenize(text)
    for (const [index, token] of this.#tokens.entries()) {
      if (token.kind === 'mark') continue
      const indexes = this.#byText.get(token.text)
      if (indexes) indexes.push(index)
      else this.#byText.set(token.text, [index])
    }
    this.#lines = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  }

  positionOf(start: number): string {
    let line = 0
    for (let step = 1 << 20; step > 0; step >>= 1)
      if ((this.#lines[line + step] ?? Number.POSITIVE_INFINITY) <= start) line += step
    return `${this.file}:${line + 1}:${start - (this.#lines[line] ?? 0) + 1}`
  }

  /** `name: 'get_weather'`, or `name = 'get_weather'` in a class, with another key of the definition beside it. */
  findNamed(name: string, keys: readonly string[]): readonly Anchor[] {
    return this.#indexesOf(name).flatMap((value): Anchor[] => {
      const field = this.#tokens[value - 2]
      if (this.#tokens[value]?.kind !== 'string' || !this.#isMark(value - 1, ':=')) return []
      if (field?.text !== 'name' && field?.text !== 'id') return []
      const object = this.#findOpening(value - 2)
      if (object === undefined) return []
      const isDefinition = keys.some(
        (key) => key !== field.text && this.findField(object, [key]) !== undefined,
      )
      return isDefinition ? [{ start: field.start, object }] : []
    })
  }

  /** `registerTool('get_weather', {…`, and the same arguments in an array. */
  findRegistered(name: string): readonly Anchor[] {
    return this.#indexesOf(name).flatMap((index): Anchor[] => {
      const token = this.#tokens[index]
      const isFirst = this.#isMark(index - 1, '([') && this.#isMark(index + 1, ',')
      if (token?.kind !== 'string' || !isFirst) return []
      return [{ start: token.start, object: this.#nextObject(index + 2) }]
    })
  }

  /** `get_weather: tool({…`, `const get_weather = tool({…` and `class get_weather {…`. */
  findKeyed(key: string): readonly Anchor[] {
    return this.#indexesOf(key).flatMap((index): Anchor[] => {
      const isValue = this.#isMark(index + 1, ':=') && !this.#isMark(index + 2, '=>')
      const isClass = this.#tokens[index - 1]?.text === 'class'
      if (!isValue && !isClass) return []
      return [{ start: this.#tokens[index]?.start ?? 0, object: this.#nextObject(index + 1) }]
    })
  }

  /** Offsets of the statements that export a name. */
  findExports(name: string): readonly number[] {
    const starts = (text: string, isExport: (index: number) => boolean) =>
      this.#indexesOf(text)
        .filter((index) => this.#tokens[index]?.kind === 'word' && isExport(index))
        .map((index) => this.#tokens[index]?.start ?? 0)
    const textAt = (index: number) => this.#tokens[index]?.text
    return [
      ...starts('export', (index) =>
        name === 'default' ? textAt(index + 1) === 'default' : this.#exportsName(index + 1, name),
      ),
      ...starts('exports', (index) => textAt(index + 1) === '.' && textAt(index + 2) === name),
      ...starts(
        'module',
        (index) =>
          name === 'default' && textAt(index + 2) === 'exports' && this.#isMark(index + 3, '='),
      ),
    ]
  }

  /** What follows `export`: `async function* name`, `const name`, `{ one, other as name }`. */
  #exportsName(from: number, name: string): boolean {
    let index = from
    while (declaration.test(this.#tokens[index]?.text ?? '')) index++
    if (!this.#isMark(index, '{')) return index > from && this.#tokens[index]?.text === name
    while (++index < this.#tokens.length && !this.#isMark(index, '}'))
      if (this.#tokens[index]?.text === name && this.#isMark(index + 1, ',}')) return true
    return false
  }

  /** The offset of a field of an object, or of its last step if the object is the inner one. */
  findField(object: number | undefined, field: readonly string[]): number | undefined {
    const [first, ...rest] = field
    if (object === undefined || first === undefined) return undefined
    const found = this.#findKey(object, first)
    if (found === undefined) return rest.length > 0 ? this.findField(object, rest) : undefined
    const start = this.#tokens[found]?.start
    if (rest.length === 0 || !this.#isMark(found + 2, '{')) return start
    return this.findField(found + 2, rest) ?? start
  }

  #findKey(object: number, key: string): number | undefined {
    let depth = 0
    for (let index = object; index < this.#tokens.length; index++) {
      if (this.#isMark(index, '{[(')) depth++
      else if (this.#isMark(index, '}])')) depth--
      if (depth === 0) return undefined
      const token = this.#tokens[index]
      const isKey =
        depth === 1 &&
        token?.kind !== 'mark' &&
        token?.text === key &&
        !this.#isMark(index - 1, '.') &&
        this.#isMark(index + 1, ':=(,}')
      // Behind a colon it is a value: { schema: name }.
      if (isKey && !this.#isMark(index - 1, ':=')) return index
    }
    return undefined
  }

  /** The brace that opens the object around a token. */
  #findOpening(from: number): number | undefined {
    let depth = 0
    for (let index = from - 1; index >= 0; index--) {
      if (this.#isMark(index, '}])')) depth++
      else if (this.#isMark(index, '{[(') && depth-- === 0)
        return this.#isMark(index, '{') ? index : undefined
    }
    return undefined
  }

  /** The next brace of a value that begins here, as in `: tool({`. */
  #nextObject(from: number): number | undefined {
    for (let index = from; index < from + 8; index++) {
      if (this.#isMark(index, '{')) return index
      if (this.#isMark(index, ';}') || this.#tokens[index]?.text === 'export') return undefined
    }
    return undefined
  }

  #indexesOf(text: string): readonly number[] {
    return this.#byText.get(text) ?? []
  }

  #isMark(index: number, marks: string): boolean {
    const token = this.#tokens[index]
    return token?.kind === 'mark' && marks.includes(token.text)
  }
}

const declaration = /^(const|let|var|function|\*|abstract|class|async|default)$/
