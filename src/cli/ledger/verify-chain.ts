import { readFile } from 'node:fs/promises'
import { toReadError } from '../../runtime/file-errors.ts'
import type {
  ChainName,
  LedgerVerification,
  OperatorStore,
} from '../../runtime/store/open-store.ts'
import { print, printJson, count as toCount } from '../terminal/print.ts'

export const checkpointsFlag = {
  type: 'string',
  description: 'verify against the checkpoints in this file, one per line',
} as const

interface VerifyOptions {
  readonly chain: ChainName
  /** Received checkpoints. */
  readonly file: string | undefined
  readonly json: boolean
}

const nouns = { audit: 'record', execution_events: 'event' } as const

/** Prints the result of a verification; exit code 1 when the chain or a checkpoint is wrong. */
export async function verifyChain(
  store: OperatorStore,
  { chain, file, json }: VerifyOptions,
): Promise<number> {
  const checkpoints = file === undefined ? undefined : { name: file, text: await readText(file) }
  const result = store.verify(chain, checkpoints)
  if (json) printJson(result)
  else for (const line of toReport(result, nouns[chain], file)) print(line)
  return result.broken || result.invalid || result.damage !== undefined ? 1 : 0
}

const readText = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error) => {
    throw toReadError(file, error)
  })

function* toReport(
  { count, broken, unsealed = 0, lost = [], restarts = [], ...result }: LedgerVerification,
  noun: string,
  file: string | undefined,
): Generator<string> {
  const label = `${noun[0]?.toUpperCase()}${noun.slice(1)}`
  for (const { line, reason } of result.invalid ?? []) yield `Line ${line} of ${file} ${reason}.`
  if (result.damage !== undefined) yield result.damage
  if (broken)
    yield `${label} ${broken.number}: ${broken.reason}. The ${count} ${noun}s before it are intact.`
  else yield `${toCount(count, noun)}, all intact.`
  if (result.checkpoints !== undefined && !broken)
    yield `${toCount(result.checkpoints, 'checkpoint')} compared.`
  if (unsealed > 0) yield `The first ${unsealed} were written by an earlier version, without a key.`
  for (const [first, next] of lost)
    yield `${label}s ${first} to ${next - 1} are lost, as "drawbridge store repair" has recorded.`
  for (const { number, generation, missing } of restarts)
    yield `${label} ${number} starts generation ${generation}: the store was restored or repaired.${missing > 0 ? ` Checkpoints know ${toCount(missing, noun)} after it that ${missing === 1 ? 'is' : 'are'} not here.` : ''}`
}
