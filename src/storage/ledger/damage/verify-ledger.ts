import { isFault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { type ChainName, splitLine } from '../chain/chain-block.ts'
import type { ChainTable } from '../chain/chain-table.ts'
import { CheckpointSigner, readCheckpoint } from '../chain/checkpoint.ts'
import type { ChainPin, ChainVerification, Restart } from '../chain/verify-chain.ts'
import type { WitnessReading } from './witness.ts'

/** Checkpoints that were received elsewhere: one per line. */
export interface CheckpointFile {
  readonly name: string
  readonly text: string
}

export interface LedgerVerification extends ChainVerification {
  /** Checkpoints of this chain that were compared. */
  readonly checkpoints?: number
  /** Why the ledger as a whole cannot be used. */
  readonly damage?: string
  /** Lines of the file that are no valid checkpoints of this store. */
  readonly invalid?: readonly { readonly line: number; readonly reason: string }[]
}

export interface LedgerChains {
  readonly audit: ChainTable<unknown>
  readonly events: ChainTable<unknown>
  readonly secret: string
  /** Read before the chains: a commit in between is no loss. */
  readonly witness: WitnessReading
}

/** Verifies a chain against the key of the store, its witness, and received checkpoints. */
export function verifyLedger(
  { audit, events, secret, witness }: LedgerChains,
  chain: ChainName,
  file?: CheckpointFile,
): LedgerVerification {
  const { pins, invalid } = file
    ? readPins(file, chain, new CheckpointSigner(secret).publicKey)
    : { pins: [], invalid: [] }
  const table = chain === 'audit' ? audit : events
  return {
    ...table.verify([...pins, ...toPins(witness, chain)], findRestarts(audit, chain)),
    ...(file && { checkpoints: pins.length }),
    ...(invalid.length > 0 && { invalid }),
  }
}

function toPins(witness: WitnessReading, chain: ChainName): readonly ChainPin[] {
  if (witness.kind !== 'records') return []
  const { generation, audit, events } = witness.latest
  const { next, head } = chain === 'audit' ? audit : events
  return [{ count: next, head, generation, source: 'the witness file' }]
}

function readPins({ name, text }: CheckpointFile, chain: ChainName, publicKey: string) {
  const pins: ChainPin[] = []
  const invalid: { line: number; reason: string }[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const checkpoint = readCheckpoint(line, publicKey)
    if (isFault(checkpoint)) invalid.push({ line: index + 1, reason: checkpoint.fault })
    else if (checkpoint.chain === chain)
      pins.push({ ...checkpoint, source: `line ${index + 1} of ${name}` })
  }
  return { pins, invalid }
}

/** Both chains restart with the same record of the audit. */
function findRestarts(audit: ChainTable<unknown>, chain: ChainName): Restart[] {
  const restarts: Restart[] = []
  for (const { first, lines } of audit.blocks(0))
    for (const [index, line] of lines.entries()) {
      const [, text] = splitLine(line)
      if (!/^\{"event":"(restored|repaired)"/.test(text)) continue
      const entry = parseJson(text)
      if (!isPlainObject(entry)) continue
      const { generation, executions } = entry
      const number = chain === 'audit' ? first + index : executions
      if (typeof generation === 'number' && typeof number === 'number')
        restarts.push({ number, generation })
    }
  return restarts
}
