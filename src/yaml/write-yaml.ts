import { Document, isCollection, isMap, isNode, isSeq, type Node } from 'yaml'

export interface YamlComment {
  readonly path: readonly PropertyKey[]
  readonly text: string
}

/** Writes YAML that 1.1 and 1.2 parsers read alike, with comments above the nodes they describe. */
export function writeYaml(
  value: unknown,
  { head, comments }: { readonly head: string; readonly comments: readonly YamlComment[] },
): string {
  const document = new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' })
  document.commentBefore = toComment(head)
  for (const { path, text } of comments) {
    const node = findNearest(document.contents, path)
    if (node) node.commentBefore = [node.commentBefore, toComment(text)].filter(Boolean).join('\n')
  }
  return document.toString({ lineWidth: 0 })
}

const toComment = (text: string): string =>
  text
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n')

/** The key or item at a path, or the deepest existing one on the way. */
function findNearest(root: unknown, path: readonly PropertyKey[]): Node | undefined {
  let nearest: Node | undefined
  let node = root
  for (const segment of path) {
    if (!isCollection(node)) return nearest
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(key) === String(segment))
      if (!isNode(pair?.key)) return nearest
      nearest = pair.key
      node = pair.value
    } else if (isSeq(node)) {
      const item = node.items[Number(segment)]
      if (!isNode(item)) return nearest
      nearest = item
      node = item
    }
  }
  return nearest
}
