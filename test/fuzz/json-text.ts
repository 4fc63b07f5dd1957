/** JSON as a text may have it: keys more than once, and numbers and strings no value can hold. */
export type Node = null | boolean | number | string | Node[] | Fields | Raw

/** An object whose keys may repeat and keep their order. */
export class Fields {
  readonly entries: [key: Key, value: Node][]

  constructor(entries: [Key, Node][]) {
    this.entries = entries
  }
}

export type Key = string | Raw

/** Text that is written as it is. */
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
