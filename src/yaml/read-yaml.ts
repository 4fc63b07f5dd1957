import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
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
  readonly remarks: readonly YamlFault[]
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

/** As many as an honest file has; a bomb has more. */
const mostAliases = 100

export function readYaml(text: string, file: string): YamlReading {
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
    return document.toJS({ maxAliasCount: mostAliases })
  } catch (error) {
    faults.push({ at: toPlace(0), message: (error as Error).message })
    return undefined
  }
}

/** Plain words that older readers, of YAML 1.1, take for a boolean. */
const ambiguous = /^(?:y|n|yes|no|on|off)$/i

function toRemarks(
  document: Document,
  toPlace: (offset: number | undefined) => string,
): YamlFault[] {
  const remarks: YamlFault[] = []
  visit(document, {
    Scalar(_, { value, type, range }) {
      if (type !== 'PLAIN' || typeof value !== 'string' || !ambiguous.test(value)) return
      const message = `${value} is text here and a boolean to readers of YAML 1.1. Write "${value}".`
      remarks.push({ at: toPlace(range?.[0]), message })
    },
  })
  return remarks
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
