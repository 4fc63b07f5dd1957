import { isFault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { checkReadable } from '../../runtime/file-errors.ts'
import { inferStream } from '../../sources/records/import/infer-stream.ts'
import { isTable, readLines } from '../../sources/records/import/read-lines.ts'
import { typeColumns } from '../../sources/records/import/type-columns.ts'
import { printJson, printMessage } from '../terminal/print.ts'
import { UsageError } from '../terminal/usage-error.ts'

const sampleSize = 1000

export interface DraftFlags {
  readonly stream?: string | undefined
  readonly connector?: string | undefined
}

/** Prints a draft of a `streams.yaml` to review and correct, as JSON, which is valid YAML. */
export async function draftStreams(
  file: string,
  { stream, connector = 'local' }: DraftFlags,
): Promise<number> {
  await checkReadable(file)
  const drafts = [...readSamples(file, stream)].map(
    ([name, sample]) => [name, inferStream(connector, sample)] as const,
  )
  printJson({
    streams: Object.fromEntries(drafts.map(([name, { declaration }]) => [name, declaration])),
  })
  for (const [name, { key }] of drafts)
    if (key.isGuess)
      printMessage(
        `${name}: there is no field called id, so primary_key is a guess: ${key.fields.join(', ')}. A record replaces an earlier one with the same key.`,
      )
  printMessage(
    'This is a draft: declare what may be searched, summed and filtered, and save it as streams.yaml.',
  )
  return 0
}

/** The first records of each stream. Lines of an export name their stream. */
function readSamples(
  file: string,
  selectedStream: string | undefined,
): ReadonlyMap<string, Sample> {
  const samples = new Map<string, Row[]>()
  let plainLines = 0
  let problem = 'it is empty'
  for (const line of readLines(file, (_, text) => text)) {
    const { number, value } = line
    if (isDeletion(value)) continue
    const hasEnvelope = isEnvelope(value)
    const row = hasEnvelope ? value.data : value
    if (!isPlainObject(row)) {
      problem = `line ${number}: ${isFault(line) ? line.fault : 'not a record'}`
      continue
    }
    const name = (hasEnvelope ? value.stream : undefined) ?? selectedStream ?? 'records'
    const sample = samples.get(name) ?? []
    if (sample.length < sampleSize) sample.push(row)
    samples.set(name, sample)
    // Plain lines all belong to one stream, so a full sample is enough.
    if (!hasEnvelope && ++plainLines === sampleSize) break
  }
  if (samples.size === 0)
    throw new UsageError(`${file} has no record to draft a stream from: ${problem}`)
  if (isTable(file)) for (const [name, rows] of samples) samples.set(name, [...typeColumns(rows)])
  if (selectedStream === undefined) return samples
  const sample = samples.get(selectedStream)
  if (!sample)
    throw new UsageError(
      `${file} has no record of ${selectedStream}. Available: ${[...samples.keys()].join(', ')}`,
    )
  return new Map([[selectedStream, sample]])
}

type Row = Readonly<Record<string, unknown>>
type Sample = readonly Row[]

interface Envelope {
  readonly stream?: string
  readonly data: unknown
}

const isEnvelope = (line: unknown): line is Envelope => isExportLine(line) && 'data' in line

const isDeletion = (line: unknown): boolean => isExportLine(line) && line.deleted === true

const isExportLine = (line: unknown): line is Readonly<Record<string, unknown>> =>
  typeof line === 'object' && line !== null && 'object' in line && line.object === 'record'
