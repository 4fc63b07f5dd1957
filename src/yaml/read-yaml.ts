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
import { isDeeper, maxDepth } from '../json/is-deeper.ts'

type Path = readonly PropertyKey[]

/** Parsed YAML 1.2 or JSON, with the source position of every value. */
export interface YamlReading {
  readonly value: unknown
  /** Syntax errors; when there are any, `value` is undefined. */
  readonly faults: readonly YamlFault[]
  /** Warnings about values that YAML 1.1 and 1.2 read differently. */
  readonly remarks: readonly YamlRemark[]
  /** `file:line:column` of a value, or of its nearest existing ancestor. */
  at(path: Path): string
  /** `file:line:column` of a key in the mapping at `path`. */
  keyAt(path: Path, key: string): string
  /** Keys of the mapping at `path`, in written order; empty for anything else. */
  keys(path: Path): string[]
}

export interface YamlFault {
  readonly at: string
  readonly message: string
}

export interface YamlRemark extends YamlFault {
  readonly path: Path
}

/** Limits against alias bombs ("billion laughs") and long files, far above ordinary files. */
const maxAliases = 100
const maxLength = 8 * 1024 * 1024

export function readYaml(text: string, file: string): YamlReading {
  if (text.length > maxLength)
    return toUnreadable(file, `the file is longer than ${maxLength} characters`)
  // Checked first: the parser itself runs out of memory at thousands of levels.
  if (nestsBrackets(text, maxDepth))
    return toUnreadable(file, `the file is nested deeper than ${maxDepth} levels`)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const toPosition = (offset: number | undefined): string => {
    const { line, col } = lines.linePos(offset ?? 0)
    return `${file}:${line || 1}:${col || 1}`
  }
  const faults = document.errors.map(({ pos, message }) => ({
    at: toPosition(pos[0]),
    message: toMessage(message),
  }))
  const value = faults.length > 0 ? undefined : toValue(document, faults, toPosition)
  return {
    value,
    faults,
    remarks: faults.length > 0 ? [] : toRemarks(document, toPosition),
    at: (path) => toPosition(offsetOf(document, path)),
    keyAt: (path, key) => toPosition(keyOffset(document, path, key)),
    keys(path) {
      const map = nodeAt(document, path)
      return isMap(map) ? map.items.map(({ key }) => String(key)) : []
    },
  }
}

function toMessage(message: string): string {
  const [first = ''] = message.split('\n')
  return first.includes('multiple documents')
    ? 'The file has several YAML documents (---): only one is allowed.'
    : first.replace(/ at line \d+, column \d+:?$/, '')
}

function toValue(
  document: Document,
  faults: YamlFault[],
  toPosition: (offset: number | undefined) => string,
): unknown {
  try {
    const value = document.toJS({ maxAliasCount: maxAliases })
    if (isDeeper(value, maxDepth))
      throw new Error(`the file is nested deeper than ${maxDepth} levels`)
    return value
  } catch (error) {
    faults.push({ at: toPosition(0), message: (error as Error).message })
    return undefined
  }
}

const toUnreadable = (file: string, message: string): YamlReading => ({
  value: undefined,
  faults: [{ at: `${file}:1:1`, message }],
  remarks: [],
  at: () => `${file}:1:1`,
  keyAt: () => `${file}:1:1`,
  keys: () => [],
})

/** Counts brackets, also those in quotes: real files stay far below the limit either way. */
function nestsBrackets(text: string, levels: number): boolean {
  let depth = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth = Math.max(0, depth + (bracket === '[' || bracket === '{' ? 1 : -1))
    if (depth > levels) return true
  }
  return false
}

/** Unquoted strings that YAML 1.1 parsers read as another type (the "Norway problem"). */
const ambiguous: readonly (readonly [RegExp, string])[] = [
  [/^(?:y|n|yes|no|on|off)$/i, 'a boolean'],
  [/^\d{4}-\d\d?-\d\d?(?:[Tt ]\S+)?$/, 'a date'],
]

function toRemarks(
  document: Document,
  toPosition: (offset: number | undefined) => string,
): YamlRemark[] {
  const remarks: YamlRemark[] = []
  visit(document, {
    Scalar(key, { value, type, range }, ancestors) {
      if (type !== 'PLAIN' || typeof value !== 'string') return
      const type11 = ambiguous.find(([pattern]) => pattern.test(value))?.[1]
      if (type11 === undefined) return
      const message = `${value} is a string in YAML 1.2 and ${type11} in YAML 1.1. Write "${value}".`
      remarks.push({ at: toPosition(range?.[0]), message, path: toPath(key, ancestors) })
    },
  })
  return remarks
}

/** The path of keys and indexes to the node being visited. */
function toPath(key: unknown, ancestors: readonly unknown[]): Path {
  const path = ancestors.flatMap((ancestor, index): PropertyKey[] => {
    if (isPair(ancestor)) return [String(ancestor.key)]
    const next = ancestors[index + 1]
    return isSeq(ancestor) && next !== undefined ? [ancestor.items.indexOf(next)] : []
  })
  return typeof key === 'number' && isSeq(ancestors.at(-1)) ? [...path, key] : path
}

const nodeAt = (document: Document, path: Path): unknown =>
  path.length === 0 ? document.contents : document.getIn(path, true)

function offsetOf(document: Document, path: Path): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    const node = findNode(document, path.slice(0, length))
    if (node?.range) return node.range[0]
  }
  return undefined
}

function findNode(document: Document, path: Path): Node | undefined {
  const node = nodeAt(document, path)
  if (!isNode(node)) return undefined
  return isAlias(node) ? (node.resolve(document) ?? node) : node
}

function keyOffset(document: Document, path: Path, key: string): number | undefined {
  const map = nodeAt(document, path)
  const pair = isMap(map) ? map.items.find((item) => String(item.key) === key) : undefined
  return isScalar(pair?.key) ? pair.key.range?.[0] : offsetOf(document, path)
}
