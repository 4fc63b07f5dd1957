import { DamageError } from '../../../capability/storage-error.ts'
import { toText } from '../../sqlite/bytes.ts'
import type { Sqlite, Statement } from '../../sqlite/sqlite.ts'
import type { ChainEnd as ChainPosition } from '../chain/chain-block.ts'
import { addToSum, emptySum, isSeal, type RowSeals, type Seal } from '../seals/row-seals.ts'

/** The ledger after a commit. The same text is a row of the database and a record of the witness. */
export interface LedgerState {
  /** Counts the times the operator has accepted a restored or repaired database. */
  readonly generation: number
  /** Counts the commits of all processes. */
  readonly commits: number
  /** Sum of the seals of all sealed rows. */
  readonly rows: Seal
  readonly audit: ChainPosition
  /** The execution log: at least these events were written. */
  readonly events: ChainPosition
}

/** The ends of both chains; `undefined` for a chain that did not change. */
export interface ChainPositions {
  readonly audit: ChainPosition | undefined
  readonly events: ChainPosition | undefined
}

/** The row in the database that every transaction advances. */
export class StateRow {
  readonly #database: Sqlite
  readonly #seals: RowSeals
  /** As this process last wrote or read it. */
  #known: KnownState | undefined
  /** The same, without the transaction that is open. */
  #committed: KnownState | undefined
  #replaceStatement: Statement<never> | undefined

  constructor(database: Sqlite, seals: RowSeals) {
    this.#database = database
    this.#seals = seals
  }

  get generation(): number {
    return this.#known?.state.generation ?? this.read().generation
  }

  /** Reads the row; throws a `DamageError` when it is missing, changed, or older than this process knows. */
  read(): LedgerState {
    const record = this.#readRecord()
    const state = parseState(record, this.#seals)
    if (!state) throw new DamageError('the row with the state of the ledger is missing or changed')
    const committed = this.#committed?.state
    if (committed && isOlder(state, committed))
      throw new DamageError(
        `the database went back from commit ${committed.commits} to commit ${state.commits} while it was open`,
      )
    this.#known = { state, record }
    return state
  }

  /**
   * Runs at the end of each transaction. One statement, unless another process has committed since.
   * Returns the text of the new state.
   */
  advance({ audit, events }: ChainPositions): string {
    for (let attempt = 0; attempt < 2; attempt++) {
      const state = attempt === 0 ? (this.#known?.state ?? this.read()) : this.read()
      const next: LedgerState = {
        generation: state.generation,
        commits: state.commits + 1,
        rows: addToSum(state.rows, this.#seals.change),
        audit: audit ?? state.audit,
        // Another process may have appended events after the last one that this process knows.
        events: events && events.next > state.events.next ? events : state.events,
      }
      const record = serializeState(next, this.#seals)
      if (this.#replace(this.#known?.record ?? '', record)) {
        this.#known = { state: next, record }
        return record
      }
    }
    throw new DamageError('the row with the state of the ledger cannot be found')
  }

  /** The first state: of a new database, or of one from a version without it. */
  found(chains: Pick<LedgerState, 'audit' | 'events'>): string {
    return this.#put({
      generation: 1,
      commits: 1,
      rows: addToSum(emptySum, this.#seals.change),
      ...chains,
    })
  }

  /** Accepts the present rows: a state that follows both the former one and the witness. */
  startGeneration(
    latest: Pick<LedgerState, 'generation' | 'commits'>,
    chains: Pick<LedgerState, 'audit' | 'events'>,
  ): string {
    return this.#put({
      generation: latest.generation + 1,
      commits: latest.commits + 1,
      rows: addToSum(emptySum, this.#seals.change),
      ...chains,
    })
  }

  /** The transaction was committed. */
  confirm(): void {
    this.#committed = this.#known
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#known = this.#committed
  }

  /** `undefined` if the row is missing or was changed. */
  tryRead(): LedgerState | undefined {
    return parseState(this.#readRecord(), this.#seals)
  }

  #readRecord(): string {
    const row = this.#database
      .prepare<{ record: Uint8Array }>(
        'select cast(record as blob) as record from ledger_state where id = 1',
      )
      .get()
    return row?.record == null ? '' : toText(row.record)
  }

  #put(state: LedgerState): string {
    const record = serializeState(state, this.#seals)
    this.#database
      .prepare('insert or replace into ledger_state (id, record) values (1, ?)')
      .run(record)
    this.#known = { state, record }
    return record
  }

  #replace(former: string, record: string): boolean {
    this.#replaceStatement ??= this.#database.prepare(
      'update ledger_state set record = ? where id = 1 and record = ?',
    )
    return this.#replaceStatement.run(record, former).changes === 1
  }
}

interface KnownState {
  readonly state: LedgerState
  readonly record: string
}

/** True when a state is from before another one. */
export const isOlder = (state: LedgerState, other: LedgerState): boolean =>
  state.generation === other.generation
    ? state.commits < other.commits
    : state.generation < other.generation

export function serializeState(
  { generation, commits, rows, audit, events }: LedgerState,
  seals: RowSeals,
): string {
  const text = `generation=${generation} commits=${commits} rows=${rows} audit=${audit.next} head=${audit.head} events=${events.next} head=${events.head}`
  return `${text} seal=${seals.seal(text)}`
}

const statePattern =
  /^generation=(\d{1,15}) commits=(\d{1,15}) rows=(\w{32}) audit=(\d{1,15}) head=([\w-]+) events=(\d{1,15}) head=([\w-]+) seal=(\w{32})$/

/** `undefined` if the text was changed, or written with another key. */
export function parseState(record: string, seals: RowSeals): LedgerState | undefined {
  const [, generation, commits, rows = '', ...rest] = statePattern.exec(record) ?? []
  const [next, head = '', nextEvent, eventHead = '', seal] = rest
  const text = record.slice(0, record.lastIndexOf(' '))
  if (!isSeal(rows) || seals.seal(text) !== seal) return undefined
  return {
    generation: Number(generation),
    commits: Number(commits),
    rows,
    audit: { next: Number(next), head },
    events: { next: Number(nextEvent), head: eventHead },
  }
}
