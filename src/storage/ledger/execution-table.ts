import { type Fault, isFault } from '../../capability/fault.ts'
import type {
  ExecutionEvent,
  ExecutionFilter,
  ExecutionReader,
  ExecutionState,
  ExecutionSummary,
  LoggedExecution,
} from '../../sources/intents/log/execution-log.ts'
import { toText } from '../sqlite/bytes.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { ChainTable, type PurgedRecords } from './chain/chain-table.ts'
import type { ProcessRegistry } from './processes/process-registry.ts'

interface ExecutionRow {
  readonly id: string
  readonly boot: string
  readonly intent: string
  readonly version: string
  readonly caller: string
  readonly state: Exclude<ExecutionState, 'interrupted'>
  readonly started: number
  readonly finished: number | null
  /** Numbers of its first and its last event in the chain. */
  readonly first: number
  readonly last: number
}

/**
 * The executions as event sourcing: a hash chain of events, and a table derived from it. Callers wait for the
 * chain only; the table is updated later and can be rebuilt from the chain.
 */
export class ExecutionTable implements ExecutionReader {
  readonly #database: Sqlite
  readonly #processes: ProcessRegistry
  readonly events: ChainTable<ExecutionEvent>
  /** Events written by this process that are not in the table yet. */
  #recent: NumberedEvent[] = []

  constructor(database: Sqlite, processes: ProcessRegistry, key: string) {
    this.#database = database
    this.#processes = processes
    this.events = new ChainTable(database, 'execution_events', key)
  }

  /** The id of this process in the events it writes. */
  get processId(): string {
    return this.#processes.ownId
  }

  /** One statement, in a transaction or alone. */
  append(events: readonly SerializedEvent[], at: number): void {
    const texts = events.map(({ text }) => text)
    let number = this.events.append(texts, at)
    for (const { event } of events) this.#recent.push({ number: number++, event })
  }

  /** The number of events of this process that are not in the table yet. */
  get pendingCount(): number {
    return this.#recent.length
  }

  /** Drops cached state after a rollback. */
  forget(): void {
    this.events.forget()
    this.#recent = []
  }

  /** Applies the events of the chain that are not in the table yet. Runs inside a transaction. */
  catchUp(): void {
    const from = this.#nextEvent()
    const changes = new Map<string, ExecutionChange>()
    let next = from
    const apply = ({ number, event }: NumberedEvent) => {
      next = number + 1
      if (event.event !== 'setup')
        changes.set(event.id, toChange(changes.get(event.id), number, event))
    }
    for (const recent of this.#recent) if (recent.number === next) apply(recent)
    // Events of other processes, running or dead, come from the chain.
    for (const { number, entry } of this.events.records(next)) apply({ number, event: entry })
    for (const [id, change] of changes) this.#put(id, change)
    if (next > from)
      this.#database
        .prepare("update chain_anchors set next = ? where chain = 'executions'")
        .run(next)
    this.#recent = []
  }

  list({ state, intent, limit }: ExecutionFilter): readonly ExecutionSummary[] {
    this.#catchUpBeforeRead()
    const executions: ExecutionSummary[] = []
    const page = this.#database.prepare<RawExecutionRow>(
      `select ${executionColumns} from executions where (? is null or intent = ?)
       and first < ? order by first desc limit 200`,
    )
    for (let before = Number.MAX_SAFE_INTEGER; executions.length < limit; ) {
      const rows = page.all(intent ?? null, intent ?? null, before).map(toExecutionRow)
      const oldest = rows.at(-1)
      if (!oldest) break
      before = oldest.first
      // Filtered here: `interrupted` is not stored, it depends on which processes are alive.
      const summaries = rows.map((row) => this.#toSummary(row))
      executions.push(
        ...summaries.filter((summary) => state === undefined || summary.state === state),
      )
    }
    return executions.slice(0, limit)
  }

  find(id: string): LoggedExecution | undefined {
    this.#catchUpBeforeRead()
    const row = this.#findRow(id)
    if (!row) return undefined
    const events: ExecutionEvent[] = []
    for (const { number, entry } of this.events.records(row.first)) {
      if (number > row.last) break
      if (entry.event !== 'setup' && entry.id === id) events.push(entry)
    }
    return { ...this.#toSummary(row), events }
  }

  verify(): ReturnType<ExecutionReader['verify']> {
    return this.events.verify()
  }

  /** Runs inside a transaction, so that only one process gets an interrupted execution. */
  claim(id: string): boolean {
    this.catchUp()
    const row = this.#findRow(id)
    if (row?.state !== 'running' || !this.#processes.isOrphan(row.boot)) return false
    this.#database
      .prepare('update executions set boot = ? where id = ?')
      .run(this.#processes.ownId, id)
    return true
  }

  /** Runs inside a transaction. Returns what was deleted, if anything. */
  purge(before: number): PurgedRecords | Fault | undefined {
    this.catchUp()
    const purged = this.events.purge(before)
    if (purged && !isFault(purged))
      this.#database.prepare('delete from executions where first < ?').run(purged.first)
    return purged
  }

  /** Reads see the events of other processes, too. */
  #catchUpBeforeRead(): void {
    if (this.#nextEvent() === this.events.readEnd().next) return
    this.#database.exec('begin immediate')
    try {
      this.catchUp()
      this.#database.exec('commit')
    } catch (error) {
      this.#database.exec('rollback')
      throw error
    }
  }

  /** The number of the first event that is not in the table yet. */
  #nextEvent(): number {
    const row = this.#database
      .prepare<{ next: number }>("select next from chain_anchors where chain = 'executions'")
      .get()
    return row?.next ?? 0
  }

  #put(id: string, { begun, ended, first = 0, last }: ExecutionChange): void {
    if (begun)
      this.#database
        .prepare(
          `insert into executions
             (id, boot, intent, version, caller, state, started, finished, first, last)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           on conflict (id) do update set last = excluded.last`,
        )
        .run(
          id,
          // Recent events of this process do not carry its id; those from the chain do.
          begun.boot ?? this.#processes.ownId,
          begun.envelope.intent.name,
          begun.envelope.intent.version,
          begun.caller,
          ended?.state ?? 'running',
          begun.at,
          ended?.at ?? null,
          first,
          last,
        )
    else
      this.#database
        .prepare(
          `update executions set last = ?, state = coalesce(?, state),
             finished = coalesce(?, finished) where id = ?`,
        )
        .run(last, ended?.state ?? null, ended?.at ?? null, id)
  }

  #findRow(id: string): ExecutionRow | undefined {
    const row = this.#database
      .prepare<RawExecutionRow>(`select ${executionColumns} from executions where id = ?`)
      .get(id)
    return row && toExecutionRow(row)
  }

  #toSummary(row: ExecutionRow): ExecutionSummary {
    const { id, intent, version, caller, started, finished } = row
    const isInterrupted = row.state === 'running' && this.#processes.isOrphan(row.boot)
    const state = isInterrupted ? 'interrupted' : row.state
    const summary = { id, intent, version, caller, state, started } as const
    return finished === null ? summary : { ...summary, finished }
  }
}

/** Text is read as bytes: one of the drivers aborts the process on invalid UTF-8. */
type RawExecutionRow = { readonly [Name in keyof ExecutionRow]: number | Uint8Array | null }

const executionColumns = [
  ...['id', 'boot', 'intent', 'version', 'caller', 'state'].map(
    (name) => `cast(${name} as blob) as ${name}`,
  ),
  ...['started', 'finished', 'first', 'last'].map((name) => `cast(${name} as integer) as ${name}`),
].join(', ')

const toExecutionRow = (raw: RawExecutionRow): ExecutionRow =>
  Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [
      name,
      typeof value === 'number' || value === null ? value : toText(value),
    ]),
  ) as unknown as ExecutionRow

/** An event and its text in the chain. */
export interface SerializedEvent {
  readonly event: ExecutionEvent
  readonly text: string
}

interface NumberedEvent {
  readonly number: number
  readonly event: ExecutionEvent
}

/** The events of one execution that are to be applied to its row. */
interface ExecutionChange {
  readonly begun?: Extract<ExecutionEvent, { event: 'begun' }>
  readonly ended?: Extract<ExecutionEvent, { event: 'ended' }>
  readonly first?: number
  readonly last: number
}

function toChange(
  former: ExecutionChange | undefined,
  number: number,
  event: ExecutionEvent,
): ExecutionChange {
  if (event.event === 'begun') return { ...former, last: number, begun: event, first: number }
  if (event.event === 'ended') return { ...former, last: number, ended: event }
  return { ...former, last: number }
}
