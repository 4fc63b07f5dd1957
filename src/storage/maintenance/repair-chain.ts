import {
  type ChainBlock,
  type ChainName,
  splitLine,
  toHash,
  toLineDigest,
} from '../ledger/chain/chain-block.ts'
import { ChainMarks } from '../ledger/chain/chain-marks.ts'
import { ChainTable } from '../ledger/chain/chain-table.ts'
import { copyRows, type Repair } from './repair.ts'

interface ChainRepair {
  readonly name: ChainName
  readonly key: string
  /** False when the key of the store is lost: its seals cannot be verified. */
  readonly isVerifiable: boolean
  /** At least these records were written; `undefined` if unknown. */
  readonly knownEnd: number | undefined
}

/** Copies the intact blocks of a chain, and marks the gaps between them. */
export function repairChain(
  repair: Repair,
  { name, key, isVerifiable, knownEnd = 0 }: ChainRepair,
): void {
  const { fresh, damaged, onLost } = repair
  copyRows(repair, name, (row) => (isVerifiable ? row : { ...row, seal: null }))
  const chain = new ChainTable(fresh, name, key)
  const former = new ChainMarks(damaged, name, key)
  const anchor = attempt(() => former.anchor)
  const sealedFrom = isVerifiable ? attempt(() => former.sealedFrom) : undefined
  const formerGaps = isVerifiable ? (attempt(() => former.gaps) ?? []) : []
  const isTrusted = anchor && (anchor.isValid || !isVerifiable)
  if (isTrusted && anchor.next > 0) chain.marks.anchor = anchor
  const remove = fresh.prepare(`delete from ${name} where first = ?`)
  let { next, head } = chain.marks.anchor
  let firstSealed = sealedFrom?.isValid ? sealedFrom : undefined
  let lastFound = next
  for (const block of [...chain.blocks(0)]) {
    const { first, count } = block
    lastFound = first + count
    const isSealed = block.seal !== undefined
    const mayBeUnsealed = !isVerifiable || !firstSealed || first < firstSealed.next
    const [line = ''] = block.lines
    const [digest, text] = splitLine(line)
    const isIntact =
      (first > next || (first === next && digest === toHash(head, text))) &&
      hasIntactLines(block) &&
      (isSealed ? chain.hasValidSeal(block) : mayBeUnsealed)
    if (!isIntact) {
      remove.run(first)
      const key = `records ${first} to ${first + count - 1}`
      onLost({ table: name, key, reason: 'they do not match their digests or their seal' })
      continue
    }
    if (first > next) {
      chain.marks.addGap({ first: next, next: first, digest: toLineDigest(line) })
      const isKnown = formerGaps.some(
        (gap) => gap.first === next && gap.next === first && gap.isValid,
      )
      if (!isKnown)
        onLost({
          table: name,
          key: `records ${next} to ${first - 1}`,
          reason: `they are missing; record ${first} is kept, but its link to them cannot be verified`,
        })
    }
    if (isSealed && !firstSealed) firstSealed = { next: first, head, isValid: true }
    next = first + count
    head = block.head
  }
  if (lastFound < knownEnd)
    onLost({
      table: name,
      key: `records ${lastFound} to ${knownEnd - 1}`,
      reason: 'they are missing at the end',
    })
  chain.marks.startSealing(firstSealed ?? { next, head })
}

/** The first line can only be verified with the block before it. */
function hasIntactLines({ lines, count, head }: ChainBlock): boolean {
  let previous: string | undefined
  for (const line of lines) {
    const [digest, text] = splitLine(line)
    if (previous !== undefined && digest !== toHash(previous, text)) return false
    previous = digest
  }
  return lines.length === count && previous === head
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
