import type {
  Execution,
  ExecutionEvent,
  ExecutionFilter,
  ExecutionReader,
  ExecutionState,
  ExecutionSummary,
} from '../sources/intents/execution-log.ts'
import type { Boots } from './boots.ts'
import { ChainTable } from './chain-table.ts'
import type { Sqlite } from './sqlite.ts'

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

/** The executions: a chain of events, and a table of what is in it. */
export class ExecutionTable implements ExecutionReader {
  readonly #database: Sqlite
  readonly #boots: Boots
  readonly #events: ChainTable<ExecutionEvent>

  constructor(database: Sqlite, boots: Boots) {
    this.#database = database
    this.#boots = boots
    this.#events = new ChainTable(database, 'execution_events')
  }

  /** Inside a transaction. */
  append(written: readonly Written[], at: number): void {
    const first = this.#events.append(
      written.map(({ text }) => text),
      at,
    )
    const touched = new Map<string, Touched>()
    for (const [index, { event }] of written.entries()) {
      if (event.event === 'setup') continue
      const number = first + index
      const known = touched.get(event.id) ?? { last: number }
      touched.set(event.id, {
        ...known,
        last: number,
        ...(event.event === 'begun' && { begun: event, first: number }),
        ...(event.event === 'ended' && { ended: event }),
      })
    }
    for (const [id, one] of touched) this.#touch(id, one)
  }

  list({ state, intent, limit }: ExecutionFilter): readonly ExecutionSummary[] {
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

  find(id: string): Execution | undefined {
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
    const row = this.#row(id)
    if (row?.state !== 'running' || !this.#boots.isOrphan(row.boot)) return false
    this.#database.prepare('update executions set boot = ? where id = ?').run(this.#boots.own, id)
    return true
  }

  /** Inside a transaction. Returns whether there may be more to forget. */
  purge(before: number): boolean {
    const purged = this.#events.purge(before)
    if (!purged) return false
    this.#database.prepare('delete from executions where first < ?').run(purged.begins)
    return purged.more
  }

  #touch(id: string, { begun, ended, first = 0, last }: Touched): void {
    if (begun)
      this.#database
        .prepare(
          `insert into executions
             (id, boot, intent, version, caller, state, started, finished, first, last)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          id,
          this.#boots.own,
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
export interface Written {
  readonly event: ExecutionEvent
  readonly text: string
}

interface Touched {
  readonly begun?: Extract<ExecutionEvent, { event: 'begun' }>
  readonly ended?: Extract<ExecutionEvent, { event: 'ended' }>
  readonly first?: number
  readonly last: number
}
