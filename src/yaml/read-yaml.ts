import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'

type Path = readonly PropertyKey[]

/** A YAML 1.2 or JSON text as data, and where everything in it stands. */
export interface YamlReading {
  readonly value: unknown
  /** Why it could not be read, at its place; then there is no value. */
  readonly faults: readonly YamlFault[]
  /** What can be read, but not by everybody in the same way. */
  readonly remarks: readonly YamlRemark[]
  /** `file:line:column` of a value, or of the nearest thing around it. */
  at(path: Path): string
  /** The same of a key inside a mapping. */
  keyAt(path: Path, key: string): string
  /** The keys written at a place. */
  keys(path: Path): string[]
}

export interface YamlFault {
  readonly at: string
  readonly message: string
}

export interface YamlRemark extends YamlFault {
  readonly path: Path
}

/** As much as an honest file has; a bomb has more. */
const mostAliases = 100
const deepest = 1000
const longest = 8 * 1024 * 1024

export function readYaml(text: string, file: string): YamlReading {
  if (text.length > longest) return toNothing(file, `it is longer than ${longest} characters`)
  // The parser itself runs out of memory over thousands of levels.
  if (opensDeeper(text, deepest))
    return toNothing(file, `it is nested deeper than ${deepest} levels`)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const toPlace = (offset: number | undefined): string => {
    const { line, col } = lines.linePos(offset ?? 0)
    return `${file}:${line || 1}:${col || 1}`
  }
  const faults = document.errors.map(({ pos, message }) => ({
    at: toPlace(pos[0]),
    message: message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? '',
  }))
  const value = faults.length > 0 ? undefined : toValue(document, faults, toPlace)
  return {
    value,
    faults,
    remarks: faults.length > 0 ? [] : toRemarks(document, toPlace),
    at: (path) => toPlace(offsetOf(document, path)),
    keyAt: (path, key) => toPlace(keyOffset(document, path, key)),
    keys(path) {
      const map = nodeAt(document, path)
      return isMap(map) ? map.items.map(({ key }) => String(key)) : []
    },
  }
}

function toValue(
  document: Document,
  faults: YamlFault[],
  toPlace: (offset: number | undefined) => string,
): unknown {
  try {
    const value = document.toJS({ maxAliasCount: mostAliases })
    if (isDeeper(value, deepest)) throw new Error(`it is nested deeper than ${deepest} levels`)
    return value
  } catch (error) {
    faults.push({ at: toPlace(0), message: (error as Error).message })
    return undefined
  }
}

const toNothing = (file: string, message: string): YamlReading => ({
  value: undefined,
  faults: [{ at: `${file}:1:1`, message }],
  remarks: [],
  at: () => `${file}:1:1`,
  keyAt: () => `${file}:1:1`,
  keys: () => [],
})

/** By brackets alone: those in quotes count too, but nobody leaves so many of them open. */
function opensDeeper(text: string, levels: number): boolean {
  let open = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open = Math.max(0, open + (bracket === '[' || bracket === '{' ? 1 : -1))
    if (open > levels) return true
  }
  return false
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1))
}

/** Plain words that older readers, of YAML 1.1, take for something else than text. */
const ambiguous: readonly (readonly [RegExp, string])[] = [
  [/^(?:y|n|yes|no|on|off)$/i, 'a boolean'],
  [/^\d{4}-\d\d?-\d\d?(?:[Tt ]\S+)?$/, 'a date'],
]

function toRemarks(
  document: Document,
  toPlace: (offset: number | undefined) => string,
): YamlRemark[] {
  const remarks: YamlRemark[] = []
  visit(document, {
    Scalar(key, { value, type, range }, ancestors) {
      if (type !== 'PLAIN' || typeof value !== 'string') return
      const other = ambiguous.find(([pattern]) => pattern.test(value))?.[1]
      if (other === undefined) return
      const message = `${value} is text here and ${other} to readers of YAML 1.1. Write "${value}".`
      remarks.push({ at: toPlace(range?.[0]), message, path: toPath(key, ancestors) })
    },
  })
  return remarks
}

/** The keys and indexes that lead to what a visitor has come to. */
function toPath(key: unknown, ancestors: readonly unknown[]): Path {
  const path = ancestors.flatMap((one, index): PropertyKey[] => {
    if (isPair(one)) return [String(one.key)]
    const next = ancestors[index + 1]
    return isSeq(one) && next !== undefined ? [one.items.indexOf(next)] : []
  })
  return typeof key === 'number' && isSeq(ancestors.at(-1)) ? [...path, key] : path
}

const nodeAt = (document: Document, path: Path): unknown =>
  path.length === 0 ? document.contents : document.getIn(path, true)

function offsetOf(document: Document, path: Path): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    const node = find(document, path.slice(0, length))
    if (node?.range) return node.range[0]
  }
  return undefined
}

function find(document: Document, path: Path): Node | undefined {
  const node = nodeAt(document, path)
  if (!isNode(node)) return undefined
  return isAlias(node) ? (node.resolve(document) ?? node) : node
}

function keyOffset(document: Document, path: Path, key: string): number | undefined {
  const map = nodeAt(document, path)
  const pair = isMap(map) ? map.items.find((item) => String(item.key) === key) : undefined
  return isScalar(pair?.key) ? pair.key.range?.[0] : offsetOf(document, path)
}
