import { isPlainObject } from '../../capability/json.ts'
import {
  checkReadable,
  inferStream,
  isTable,
  readLines,
  typeColumns,
} from '../../runtime/records/owner-store.ts'
import { printJson, say } from '../terminal/print.ts'
import { UsageError } from '../terminal/usage-error.ts'

const looked = 1000

export interface DraftOptions {
  readonly stream?: string | undefined
  readonly connector?: string | undefined
}

/** For a person to look at, correct and keep as streams.yaml: JSON is YAML, too. */
export async function draftStreams(
  file: string,
  { stream, connector = 'local' }: DraftOptions,
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
      say(
        `${name}: nothing is called id, so primary_key is a guess: ${key.fields.join(', ')}. Two records with the same key are one: the later one stays.`,
      )
  say('A draft: say what may be searched, summed and filtered, and keep it as streams.yaml.')
  return 0
}

/** The first records of each stream. What "export" has written says which stream a record is of. */
function readSamples(file: string, wanted: string | undefined): ReadonlyMap<string, Sample> {
  const samples = new Map<string, Row[]>()
  let plain = 0
  let trouble = 'it is empty'
  for (const { number, value, fault = 'it is no record' } of readLines(file, (_, text) => text)) {
    if (isGone(value)) continue
    const enveloped = isEnvelope(value)
    const row = enveloped ? value.data : value
    if (!isPlainObject(row)) {
      trouble = `line ${number}: ${fault}`
      continue
    }
    const name = (enveloped ? value.stream : undefined) ?? wanted ?? 'records'
    const sample = samples.get(name) ?? []
    if (sample.length < looked) sample.push(row)
    samples.set(name, sample)
    // Lines that do not say what they are of are all of one stream.
    if (!enveloped && ++plain === looked) break
  }
  if (samples.size === 0)
    throw new UsageError(`${file} has no record to draft a stream from: ${trouble}`)
  if (isTable(file)) for (const [name, rows] of samples) samples.set(name, [...typeColumns(rows)])
  if (wanted === undefined) return samples
  const sample = samples.get(wanted)
  if (!sample)
    throw new UsageError(
      `${file} has no record of ${wanted}. It has: ${[...samples.keys()].join(', ')}`,
    )
  return new Map([[wanted, sample]])
}

type Row = Readonly<Record<string, unknown>>
type Sample = readonly Row[]

interface Envelope {
  readonly stream?: string
  readonly data: unknown
}

const isEnvelope = (line: unknown): line is Envelope => isOfExport(line) && 'data' in line

const isGone = (line: unknown): boolean => isOfExport(line) && line.deleted === true

const isOfExport = (line: unknown): line is Readonly<Record<string, unknown>> =>
  typeof line === 'object' && line !== null && 'object' in line && line.object === 'record'
