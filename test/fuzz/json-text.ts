/** JSON text that JavaScript values cannot represent: duplicate keys, huge numbers, lone surrogates. */
export type Node = null | boolean | number | string | Node[] | Fields | Raw

/** An object that allows duplicate keys and keeps their order. */
export class Fields {
  readonly entries: [key: Key, value: Node][]

  constructor(entries: [Key, Node][]) {
    this.entries = entries
  }
}

export type Key = string | Raw

/** Text written verbatim. */
export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function toNode(value: unknown): Node {
  if (Array.isArray(value)) return value.map(toNode)
  if (typeof value !== 'object' || value === null) return value as Node
  return new Fields(Object.entries(value).map(([key, child]) => [key, toNode(child)]))
}

export function toText(node: Node): string {
  if (node instanceof Raw) return node.text
  if (Array.isArray(node)) return `[${node.map(toText).join(',')}]`
  if (!(node instanceof Fields)) return JSON.stringify(node)
  return `{${node.entries.map(([key, value]) => `${toText(key)}:${toText(value)}`).join(',')}}`
}
