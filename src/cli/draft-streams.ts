import { checkReadable, inferStream, readLines } from '../runtime/owner-store.ts'
import { printJson, say } from './print.ts'
import { UsageError } from './usage-error.ts'

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
  const samples = readSamples(file, stream)
  const drafts = [...samples].map(([name, sample]) => [name, inferStream(connector, sample)])
  printJson({ streams: Object.fromEntries(drafts) })
  say('A draft: say what may be searched, summed and filtered, and keep it as streams.yaml.')
  return 0
}

/** The first records of each stream. What "export" has written says which stream a record is of. */
function readSamples(
  file: string,
  wanted: string | undefined,
): ReadonlyMap<string, readonly unknown[]> {
  const samples = new Map<string, unknown[]>()
  let plain = 0
  for (const { value } of readLines(file, (_, text) => text)) {
    if (value === undefined || isGone(value)) continue
    const enveloped = isEnvelope(value)
    const name = (enveloped ? value.stream : undefined) ?? wanted ?? 'records'
    const sample = samples.get(name) ?? []
    if (sample.length < looked) sample.push(enveloped ? value.data : value)
    samples.set(name, sample)
    // Lines that do not say what they are of are all of one stream.
    if (!enveloped && ++plain === looked) break
  }
  if (samples.size === 0) samples.set(wanted ?? 'records', [])
  if (wanted === undefined) return samples
  const sample = samples.get(wanted)
  if (!sample)
    throw new UsageError(
      `${file} has no record of ${wanted}. It has: ${[...samples.keys()].join(', ')}`,
    )
  return new Map([[wanted, sample]])
}

interface Envelope {
  readonly stream?: string
  readonly data: unknown
}

const isEnvelope = (line: unknown): line is Envelope => isOfExport(line) && 'data' in line

const isGone = (line: unknown): boolean => isOfExport(line) && line.deleted === true

const isOfExport = (line: unknown): line is Readonly<Record<string, unknown>> =>
  typeof line === 'object' && line !== null && 'object' in line && line.object === 'record'
