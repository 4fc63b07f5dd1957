import { type JsoncMember, type JsoncNode, parseJsonc } from './parse-jsonc.ts'

/** Sets a member of nested objects; missing objects are created. Every other character is kept. */
export const setJsonc = (text: string, path: Path, value: unknown): string =>
  setIn(text, parseJsonc(text), path, value)

/** Removes a member of nested objects, if it is there. */
export function removeJsonc(text: string, path: Path): string {
  let object: JsoncNode | undefined = parseJsonc(text)
  for (const key of path.slice(0, -1)) object = object && findMember(object, key)?.node
  const member = object && findMember(object, path.at(-1) ?? '')
  if (!object?.members || !member) return text
  const previous = object.members[object.members.indexOf(member) - 1]
  const start = text.slice(0, member.start).trimEnd().length
  const end = member.commaEnd ?? member.node.end
  const before = text.slice(0, start)
  // Without a comma of its own it is the last one: then the comma before it goes, too.
  const isLast = member.commaEnd === undefined && previous?.commaEnd !== undefined
  const kept = isLast
    ? before.slice(0, previous.commaEnd - 1) + before.slice(previous.commaEnd)
    : before
  return kept + text.slice(end)
}

export type Path = readonly string[]

function setIn(text: string, object: JsoncNode, [key = '', ...rest]: Path, value: unknown): string {
  if (!object.members) throw new SyntaxError(`expected an object around ${JSON.stringify(key)}`)
  const member = findMember(object, key)
  if (!member) return insert(text, object, key, nest(rest, value))
  if (rest.length > 0) return setIn(text, member.node, rest, value)
  const { start, end, value: former } = member.node
  if (JSON.stringify(former) === JSON.stringify(value)) return text
  const formatted = format(
    text,
    value,
    isMultiline(text, object) ? toIndent(text, member.start) : undefined,
  )
  return text.slice(0, start) + formatted + text.slice(end)
}

/** The last one counts if a key is repeated, as in JSON.parse. */
const findMember = ({ members = [] }: JsoncNode, key: string): JsoncMember | undefined =>
  members.findLast((member) => member.key === key)

const nest = (path: Path, value: unknown): unknown =>
  path.reduceRight((inner, key) => ({ [key]: inner }), value)

function insert(text: string, object: JsoncNode, key: string, value: unknown): string {
  const last = object.members?.at(-1)
  if (!last) return insertFirst(text, object, key, value)
  const { end } = last.node
  const multiline = isMultiline(text, object)
  const indent = multiline ? toIndent(text, last.start) : undefined
  const addition = `${JSON.stringify(key)}: ${format(text, value, indent)}`
  const position = skipComments(text, last.commaEnd ?? end)
  return [
    text.slice(0, end),
    last.commaEnd === undefined ? ',' : '',
    text.slice(end, position),
    multiline ? `${toLineEnd(text)}${indent}` : ' ',
    addition,
    last.commaEnd === undefined ? '' : ',',
    text.slice(position),
  ].join('')
}

function insertFirst(text: string, { start, end }: JsoncNode, key: string, value: unknown): string {
  const outer = toIndent(text, start)
  const indent = outer + toUnit(text)
  const lineEnd = toLineEnd(text)
  const comments = text.slice(start + 1, end - 1).trimEnd()
  const addition = `${JSON.stringify(key)}: ${format(text, value, indent)}`
  return `${text.slice(0, start + 1)}${comments}${lineEnd}${indent}${addition}${lineEnd}${outer}${text.slice(end - 1)}`
}

/** The end of comments that stand on the same line and belong to what is before them. */
function skipComments(text: string, position: number): number {
  sameLineComments.lastIndex = position
  return position + (sameLineComments.exec(text)?.[0].length ?? 0)
}

const sameLineComments = /(?:[ \t]*\/\*[^\r\n]*?\*\/)*(?:[ \t]*\/\/[^\r\n]*)?(?=[ \t]*[\r\n])|/y

/** True if the first member has a line of its own. */
const isMultiline = (text: string, { start, members }: JsoncNode): boolean =>
  text.slice(start, members?.[0]?.start ?? start).includes('\n')

/** On one line without an indent. */
const format = (text: string, value: unknown, indent: string | undefined): string =>
  indent === undefined
    ? JSON.stringify(value)
    : JSON.stringify(value, null, toUnit(text)).replaceAll('\n', `${toLineEnd(text)}${indent}`)

/** White space at the beginning of the line of a position. */
function toIndent(text: string, position: number): string {
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1)
  return /^\uFEFF?([ \t]*)/.exec(line)?.[1] ?? ''
}

/** One level of indentation, as in the first indented line. */
const toUnit = (text: string): string => /\n([ \t]+)"/.exec(text)?.[1] ?? '  '

const toLineEnd = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')
