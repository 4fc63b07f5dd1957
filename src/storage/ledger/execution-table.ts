import type {
  ExecutionEvent,
  ExecutionFilter,
  ExecutionReader,
  ExecutionState,
  ExecutionSummary,
  LoggedExecution,
} from '../../sources/intents/log/execution-log.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { ChainTable } from './chain-table.ts'
import type { ProcessRegistry } from './process-registry.ts'

interface ExecutionRow {
  readonly id: string
  readonly boot: string
  readonly intent: string
  readonly version: string
  readonly caller: string
  readonly state: Exclude<ExecutionState, 'interrupted'>
  readonly started: number
  readonly finished: number | null
  /** Numbers of its first and its latest event in the chain. */
  readonly first: number
  readonly last: number
}

/**
 * The executions: a chain of events, and a table of what is in it. Only the chain is written while
 * somebody waits; the table follows, and can always be made from the chain.
 */
export class ExecutionTable implements ExecutionReader {
  readonly #database: Sqlite
  readonly #boots: ProcessRegistry
  readonly #events: ChainTable<ExecutionEvent>
  /** Written by this process, and not yet in the table. */
  #recent: Recent[] = []

  constructor(database: Sqlite, boots: ProcessRegistry) {
    this.#database = database
    this.#boots = boots
    this.#events = new ChainTable(database, 'execution_events')
  }

  /** Names this process in what it writes. */
  get boot(): string {
    return this.#boots.own
  }

  /** One statement, in a transaction or alone. */
  append(written: readonly WrittenEvent[], at: number): void {
    const texts = written.map(({ text }) => text)
    let number = this.#events.append(texts, at)
    for (const { event } of written) this.#recent.push({ number: number++, event })
  }

  /** How many events the table does not know yet. */
  get behind(): number {
    return this.#recent.length
  }

  /** What was written last was undone. */
  forget(): void {
    this.#events.forget()
    this.#recent = []
  }

  /** Inside a transaction: brings the table to where the chain is. */
  catchUp(): void {
    const from = this.#behind()
    const touched = new Map<string, Touched>()
    let next = from
    const note = ({ number, event }: Recent) => {
      next = number + 1
      if (event.event !== 'setup')
        touched.set(event.id, touch(touched.get(event.id), number, event))
    }
    for (const one of this.#recent) if (one.number === next) note(one)
    // What others have written, or somebody who is gone.
    for (const { number, entry } of this.#events.records(next)) note({ number, event: entry })
    for (const [id, one] of touched) this.#put(id, one)
    if (next > from)
      this.#database
        .prepare("update chain_anchors set next = ? where chain = 'executions'")
        .run(next)
    this.#recent = []
  }

  list({ state, intent, limit }: ExecutionFilter): readonly ExecutionSummary[] {
    this.#catchUpNow()
    const found: ExecutionSummary[] = []
    const page = this.#database.prepare<ExecutionRow>(
      `select * from executions where (? is null or intent = ?)
       and first < ? order by first desc limit 200`,
    )
    for (let before = Number.MAX_SAFE_INTEGER; found.length < limit; ) {
      const rows = page.all(intent ?? null, intent ?? null, before)
      const oldest = rows.at(-1)
      if (!oldest) break
      before = oldest.first
      // Which of them still run is not written there.
      const wanted = rows.map((row) => this.#toSummary(row))
      found.push(...wanted.filter((one) => state === undefined || one.state === state))
    }
    return found.slice(0, limit)
  }

  find(id: string): LoggedExecution | undefined {
    this.#catchUpNow()
    const row = this.#row(id)
    if (!row) return undefined
    const events: ExecutionEvent[] = []
    for (const { number, entry } of this.#events.records(row.first)) {
      if (number > row.last) break
      if (entry.event !== 'setup' && entry.id === id) events.push(entry)
    }
    return { ...this.#toSummary(row), events }
  }

  verify(): ReturnType<ExecutionReader['verify']> {
    return this.#events.verify()
  }

  /** Inside a transaction, so that only one of those who want it gets it. */
  claim(id: string): boolean {
    this.catchUp()
    const row = this.#row(id)
    if (row?.state !== 'running' || !this.#boots.isOrphan(row.boot)) return false
    this.#database.prepare('update executions set boot = ? where id = ?').run(this.#boots.own, id)
    return true
  }

  /** Inside a transaction. Returns whether there may be more to forget. */
  purge(before: number): boolean {
    this.catchUp()
    const purged = this.#events.purge(before)
    if (!purged) return false
    this.#database.prepare('delete from executions where first < ?').run(purged.begins)
    return purged.more
  }

  /** For those who look: somebody else may have written, too. */
  #catchUpNow(): void {
    if (this.#behind() === this.#events.next) return
    this.#database.exec('begin immediate')
    try {
      this.catchUp()
      this.#database.exec('commit')
    } catch (error) {
      this.#database.exec('rollback')
      throw error
    }
  }

  #behind(): number {
    const row = this.#database
      .prepare<{ next: number }>("select next from chain_anchors where chain = 'executions'")
      .get()
    return row?.next ?? 0
  }

  #put(id: string, { begun, ended, first = 0, last }: Touched): void {
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
          // What is not read from the chain is this process's own.
          begun.boot ?? this.#boots.own,
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

  #row(id: string): ExecutionRow | undefined {
    return this.#database.prepare<ExecutionRow>('select * from executions where id = ?').get(id)
  }

  #toSummary(row: ExecutionRow): ExecutionSummary {
    const { id, intent, version, caller, started, finished } = row
    const interrupted = row.state === 'running' && this.#boots.isOrphan(row.boot)
    const state = interrupted ? 'interrupted' : row.state
    const ended = finished === null ? {} : { finished }
    return { id, intent, version, caller, state, started, ...ended }
  }
}

/** An event, and its text as the chain keeps it. */
export interface WrittenEvent {
  readonly event: ExecutionEvent
  readonly text: string
}

interface Recent {
  readonly number: number
  readonly event: ExecutionEvent
}

interface Touched {
  readonly begun?: Extract<ExecutionEvent, { event: 'begun' }>
  readonly ended?: Extract<ExecutionEvent, { event: 'ended' }>
  readonly first?: number
  readonly last: number
}

const touch = (known: Touched | undefined, number: number, event: ExecutionEvent): Touched => ({
  ...known,
  last: number,
  ...(event.event === 'begun' && { begun: event, first: number }),
  ...(event.event === 'ended' && { ended: event }),
})
