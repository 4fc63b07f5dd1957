import { SetupError } from '../../../capability/setup-error.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { isTable, readLines } from './read-lines.ts'

/** One stream of one connection within an export file, whose lines name both. */
export interface ExportPart {
  readonly stream: string
  readonly connection: string
}

/** `undefined` when the file has a single part: that can be imported under another name. */
export function findExportPart(file: string, target: ExportPart): ExportPart | undefined {
  const parts = new Map<string, ExportPart>()
  if (isTable(file)) return undefined
  for (const { value } of readLines(file, (_, text) => text)) {
    if (value === undefined) continue
    const part = toPart(value)
    // Plain records, not an export: stop reading.
    if (!part && parts.size === 0) return undefined
    if (part) parts.set(toName(part), part)
  }
  if (parts.size <= 1) return undefined
  const [sameStream, ...others] = [...parts.values()].filter(
    ({ stream }) => stream === target.stream,
  )
  const part = parts.get(toName(target)) ?? (others.length === 0 ? sameStream : undefined)
  if (part) return part
  throw new SetupError(
    `${file} contains ${[...parts.keys()].join(', ')}, but not ${toName(target)}. Export the part you need, with --stream and --connection.`,
  )
}

/** Tells whether a line belongs to another part of the export. */
export function belongsToOtherPart(selectedPart: ExportPart, value: unknown): boolean {
  const part = toPart(value)
  return part !== undefined && toName(part) !== toName(selectedPart)
}

function toPart(value: unknown): ExportPart | undefined {
  if (!isPlainObject(value) || value.object !== 'record') return undefined
  const { stream, connection_id: connection } = value
  return typeof stream === 'string' && typeof connection === 'string'
    ? { stream, connection }
    : undefined
}

const toName = ({ stream, connection }: ExportPart): string => `${connection}/${stream}`
