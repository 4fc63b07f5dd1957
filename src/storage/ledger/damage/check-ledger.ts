import { DamageError } from '../../../capability/storage-error.ts'
import { toText } from '../../sqlite/bytes.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { ChainName, ChainEnd as ChainPosition } from '../chain/chain-block.ts'
import { addToSum, emptySum, type RowSeals, type Seal } from '../seals/row-seals.ts'
import { openSealedRows } from '../seals/sealed-rows.ts'
import { isOlder, type LedgerState, StateRow } from './ledger-state.ts'
import type { WitnessReading } from './witness.ts'

/**
 * Compares a database with its witness, its rows with their seals and its indexes with their tables. Throws
 * a `DamageError` for the first disagreement. `witness` was read before: a commit in between is no loss.
 */
export const checkLedger = (
  database: Sqlite,
  seals: RowSeals,
  witness: WitnessReading,
  onRow: () => void = () => {},
): void =>
  inTransaction(database, () => {
    checkStructure(database)
    const state = checkEnds(database, seals, witness)
    if (sumRows(database, seals, onRow) !== state.rows)
      throw new DamageError('rows of runs, approvals or spending are missing or from an older copy')
  })

/**
 * Without the rows, so that it takes no longer for more of them: for a file that is as a process of this store has
 * left it, and for operators, who read and decide but run nothing.
 */
export const checkLatestCommit = (
  database: Sqlite,
  seals: RowSeals,
  witness: WitnessReading,
): void => inTransaction(database, () => void checkEnds(database, seals, witness))

function inTransaction(database: Sqlite, work: () => void): void {
  database.exec('begin')
  try {
    work()
  } finally {
    database.exec('commit')
  }
}

function checkEnds(database: Sqlite, seals: RowSeals, witness: WitnessReading): LedgerState {
  const state = new StateRow(database, seals).read()
  checkWitness(database, state, witness)
  checkChainEnds(database, state)
  return state
}

/** Unlike `quick_check`, this finds a row that an index does not find. */
function checkStructure(database: Sqlite): void {
  const [problem] = database
    .prepare<{ text: Uint8Array }>(
      'select cast(integrity_check as blob) as text from pragma_integrity_check limit 1',
    )
    .all()
  const text = problem ? toText(problem.text) : 'no answer'
  if (text !== 'ok') throw new DamageError(text)
}

function checkWitness(database: Sqlite, state: LedgerState, witness: WitnessReading): void {
  if (witness.kind === 'absent') throw new DamageError('the witness file is missing')
  if (witness.kind === 'unreadable')
    throw new DamageError('the witness file was changed, or belongs to another store')
  if (witness.kind === 'founding') return
  const { latest } = witness
  if (isOlder(state, latest))
    throw new DamageError(
      `the database ends at commit ${state.commits} of generation ${state.generation}, but commit ${latest.commits} of generation ${latest.generation} was acknowledged`,
    )
  if (latest.generation !== state.generation) return
  const hasSameHistory =
    latest.commits === state.commits
      ? latest.rows === state.rows && latest.audit.head === state.audit.head
      : readPosition(database, 'audit', latest.audit.next).head === latest.audit.head
  if (!hasSameHistory)
    throw new DamageError('the database and its witness have different histories')
}

/** Without this check, new records would follow the remaining ones and hide the deletion of an end. */
function checkChainEnds(database: Sqlite, { audit, events }: LedgerState): void {
  if (!isSame(readPosition(database, 'audit', Number.MAX_SAFE_INTEGER), audit))
    throw new DamageError('the latest audit records are missing or changed')
  // Events may be written after the latest state.
  if (!isSame(readPosition(database, 'execution_events', events.next), events))
    throw new DamageError('the latest events of the intent log are missing or changed')
}

const isSame = (one: ChainPosition, other: ChainPosition): boolean =>
  one.next === other.next && one.head === other.head

/** The end of a chain, or of its part before a record. */
function readPosition(database: Sqlite, chain: ChainName, before: number): ChainPosition {
  const row = database
    .prepare<{ next: number; head: Uint8Array }>(
      `select next, head from (
         select cast(first + count as integer) as next, cast(head as blob) as head, 1 as is_block
         from (select * from ${chain} where first < ? order by first desc limit 1)
         union all
         select cast(next as integer), cast(head as blob), 0 from chain_anchors where chain = '${chain}')
       order by is_block desc limit 1`,
    )
    .get(before)
  return row ? { next: row.next, head: toText(row.head) } : emptyChain
}

/** The position before the first record. */
const emptyChain: ChainPosition = { next: 0, head: '0'.repeat(43) }

/** Reads every sealed row, and verifies its seal. */
function sumRows(database: Sqlite, seals: RowSeals, onRow: () => void): Seal {
  let sum = 0n
  for (const table of Object.values(openSealedRows(database, seals)))
    for (const { seal } of table.rows()) {
      sum += BigInt(`0x${seal}`)
      onRow()
    }
  return addToSum(emptySum, sum)
}
