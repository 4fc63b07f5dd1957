import type { ParameterSpec } from './operations.ts'

/** A value before its type is known: texts, as they were in the request. */
export type Decoded =
  | string
  | readonly Decoded[]
  | { readonly [name: string]: Decoded }
  | DecodedJson

/** A value that was JSON in the request. */
export class DecodedJson {
  readonly json: unknown

  constructor(json: unknown) {
    this.json = json
  }
}

type Pair = readonly [name: string, value: string]

const decode = (text: string): string => decodeURIComponent(text)
const decodeForm = (text: string): string => decodeURIComponent(text.replaceAll('+', '%20'))

/** A path variable: `raw` is still percent-encoded. One reading for each shape that the schema allows. */
export function decodePath(spec: ParameterSpec, raw: string): readonly Decoded[] {
  if (spec.style === undefined) return [fromMedia(spec, decode(raw))]
  const { style, explode, name } = spec
  return [...spec.shapes].flatMap((shape): Decoded[] => {
    const text = stripPrefix(style, shape, explode, name, raw)
    if (text === undefined) return []
    if (shape === 'scalar') return [decode(text)]
    const separator = explode ? ({ simple: ',', label: '.', matrix: ';' }[style] ?? ',') : ','
    const parts = text.split(separator)
    if (shape === 'array') {
      if (style !== 'matrix' || !explode) return [parts.map(decode)]
      const isNamed = parts.every((part) => part.startsWith(`${name}=`))
      return isNamed ? [parts.map((part) => decode(part.slice(name.length + 1)))] : []
    }
    return toObject(parts, explode)
  })
}

function stripPrefix(
  style: string,
  shape: string,
  explode: boolean,
  name: string,
  raw: string,
): string | undefined {
  if (style === 'simple') return raw
  if (style === 'label') return raw.startsWith('.') ? raw.slice(1) : undefined
  if (style !== 'matrix' || !raw.startsWith(';')) return undefined
  // An exploded matrix repeats names, which the caller removes.
  if (explode && shape !== 'scalar') return raw.slice(1)
  if (raw === `;${name}`) return ''
  return raw.startsWith(`;${name}=`) ? raw.slice(name.length + 2) : undefined
}

function toObject(parts: readonly string[], explode: boolean): Decoded[] {
  if (explode) {
    const pairs = parts.map((part) => splitOnce(part, '='))
    return [Object.fromEntries(pairs.map(([key, value]) => [decode(key), decode(value)]))]
  }
  if (parts.length % 2 === 1) return []
  const pairs = parts.flatMap((key, index): Pair[] =>
    index % 2 === 0 ? [[decode(key), decode(parts[index + 1] ?? '')]] : [],
  )
  return [Object.fromEntries(pairs)]
}

/** A header: not percent-encoded, items separated by commas. */
export function decodeHeader(spec: ParameterSpec, raw: string): readonly Decoded[] {
  if (spec.style === undefined) return [fromMedia(spec, raw)]
  const identity = raw.split(',').map((part) => part.trim())
  return [...spec.shapes].flatMap((shape): Decoded[] => {
    if (shape === 'scalar') return [raw]
    if (shape === 'array') return [identity]
    if (!spec.explode && identity.length % 2 === 1) return []
    return [
      Object.fromEntries(
        spec.explode
          ? identity.map((part) => splitOnce(part, '='))
          : identity.flatMap((key, index): Pair[] =>
              index % 2 === 0 ? [[key, identity[index + 1] ?? '']] : [],
            ),
      ),
    ]
  })
}

/** Names with their values, still encoded, of which each parameter takes its own. */
export class RawPairs {
  readonly #pairs: readonly Pair[]
  readonly #used = new Set<number>()
  readonly #decode: (text: string) => string

  constructor(pairs: readonly Pair[], isForm: boolean) {
    this.#pairs = pairs
    this.#decode = isForm ? decodeForm : decode
  }

  static ofQuery(search: string): RawPairs {
    const parts = search
      .replace(/^\?/, '')
      .split('&')
      .filter((part) => part !== '')
    return new RawPairs(
      parts.map((part) => splitOnce(part, '=')),
      true,
    )
  }

  static ofCookies(header: string): RawPairs {
    const parts = header.split(/; ?/).filter((part) => part !== '')
    return new RawPairs(
      parts.map((part) => splitOnce(part, '=')),
      false,
    )
  }

  /** One reading for each shape; undefined if the parameter is absent. */
  take(spec: ParameterSpec): readonly Decoded[] | undefined {
    const { style, explode, name } = spec
    if (style === 'deepObject') return this.#takeDeep(name)
    if (style !== undefined && explode && spec.shapes.has('object')) {
      const found = this.#takeExploded(spec)
      if (found !== undefined || spec.shapes.size === 1)
        return found === undefined ? undefined : [found]
    }
    const values = this.#take((key) => key === name).map(([, value]) => value)
    if (values.length === 0) return undefined
    if (style === undefined) return [fromMedia(spec, this.#decode(values[0] ?? ''))]
    return [...spec.shapes].flatMap((shape) => this.#toShape(shape, values, spec))
  }

  /** What no parameter has taken. */
  get leftOver(): readonly string[] {
    return this.#pairs.flatMap(([name], index) =>
      this.#used.has(index) ? [] : [this.#decode(name)],
    )
  }

  takeCredential(name: string): readonly string[] {
    return this.#take((key) => key === name).map(([, value]) => this.#decode(value))
  }

  #toShape(shape: string, values: readonly string[], spec: ParameterSpec): Decoded[] {
    const [first = ''] = values
    if (shape === 'scalar') return values.length === 1 ? [this.#decode(first)] : []
    if (spec.explode) return shape === 'array' ? [values.map(this.#decode)] : []
    if (values.length > 1) return []
    const parts = first.split(separators[spec.style ?? ''] ?? ',')
    if (shape === 'array') return [parts.map(this.#decode)]
    if (parts.length % 2 === 1) return []
    return [
      Object.fromEntries(
        parts.flatMap((key, index): Pair[] =>
          index % 2 === 0 ? [[this.#decode(key), this.#decode(parts[index + 1] ?? '')]] : [],
        ),
      ),
    ]
  }

  /** The properties stand beside the other parameters. */
  #takeExploded({ properties }: ParameterSpec): Decoded | undefined {
    const pairs = this.#take((key) => properties?.has(key) ?? true)
    return pairs.length === 0
      ? undefined
      : Object.fromEntries(pairs.map(([key, value]) => [this.#decode(key), this.#decode(value)]))
  }

  /** `name[a]=1&name[b][c]=2` */
  #takeDeep(name: string): readonly Decoded[] | undefined {
    const pairs = this.#take((key) => key.startsWith(`${name}[`) && key.endsWith(']'))
    if (pairs.length === 0) return undefined
    const root: Tree = {}
    for (const [rawKey, value] of pairs) {
      const keys = this.#decode(rawKey)
        .slice(name.length + 1, -1)
        .split('][')
      let at = root
      for (const key of keys.slice(0, -1)) {
        if (!isTree(at[key])) at[key] = {}
        at = at[key] as Tree
      }
      at[keys.at(-1) ?? ''] = this.#decode(value)
    }
    return [toLists(root)]
  }

  #take(isWanted: (key: string) => boolean): readonly Pair[] {
    return this.#pairs.filter(([key], index) => {
      if (this.#used.has(index) || !isWanted(this.#decode(key))) return false
      this.#used.add(index)
      return true
    })
  }
}

interface Tree {
  [name: string]: string | Tree
}

const isTree = (value: string | Tree | undefined): value is Tree => typeof value === 'object'

/** Names that are 0, 1, 2… are the indexes of a list. */
function toLists(tree: Tree): Decoded {
  const entries = Object.entries(tree).map(
    ([key, value]) => [key, isTree(value) ? toLists(value) : value] as const,
  )
  const isList = entries.length > 0 && entries.every(([key], index) => key === String(index))
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}

const separators: Readonly<Record<string, string | RegExp>> = {
  form: ',',
  spaceDelimited: /%20|\+/,
  pipeDelimited: /%7C|\|/i,
}

function splitOnce(text: string, separator: string): Pair {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

function fromMedia({ mediaType }: ParameterSpec, text: string): Decoded {
  return /json/.test(mediaType ?? '') ? new DecodedJson(JSON.parse(text)) : text
}
