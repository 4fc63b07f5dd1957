import { isPlainObject } from '../../../capability/json.ts'
import { SetupError } from '../../../capability/setup-error.ts'
import { isTable, readLines } from './read-lines.ts'

/** What of a file that "export" has written is meant: its lines say what they are of. */
export interface ExportPart {
  readonly stream: string
  readonly connection: string
}

/** `undefined` where all of a file is of one: it may go into a connection or a stream of another name. */
export function findPart(file: string, wanted: ExportPart): ExportPart | undefined {
  const parts = new Map<string, ExportPart>()
  if (isTable(file)) return undefined
  for (const { value } of readLines(file, (_, text) => text)) {
    if (value === undefined) continue
    const part = toPart(value)
    // A file of plain records is not read twice.
    if (!part && parts.size === 0) return undefined
    if (part) parts.set(toName(part), part)
  }
  if (parts.size <= 1) return undefined
  const [sameStream, ...others] = [...parts.values()].filter(
    ({ stream }) => stream === wanted.stream,
  )
  const part = parts.get(toName(wanted)) ?? (others.length === 0 ? sameStream : undefined)
  if (part) return part
  throw new SetupError(
    `${file} is an export of ${[...parts.keys()].join(', ')}, and none of them is ${toName(wanted)}. Export the one you mean, with --stream and --connection.`,
  )
}

/** Whether a line is of another part than the one that is meant. */
export function isOfOther(meant: ExportPart, value: unknown): boolean {
  const part = toPart(value)
  return part !== undefined && toName(part) !== toName(meant)
}

function toPart(value: unknown): ExportPart | undefined {
  if (!isPlainObject(value) || value.object !== 'record') return undefined
  const { stream, connection_id: connection } = value
  return typeof stream === 'string' && typeof connection === 'string'
    ? { stream, connection }
    : undefined
}

const toName = ({ stream, connection }: ExportPart): string => `${connection}/${stream}`
