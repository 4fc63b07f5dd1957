import { hash } from 'node:crypto'
import type { Disclosure } from '../sources/records/record-store.ts'
import type { Sqlite } from './sqlite.ts'

/** How long an entry may be on its way. */
const lingering = 50
const mostLingering = 10_000
/** Milliseconds until the file is tried again that somebody else is writing to. */
const retry = 5
/** How long to wait for others when there is no later. */
const longest = 5000

export interface DisclosureRecord {
  readonly n: number
  readonly at: number
  readonly entry: Disclosure
}

/** What was read under which grant. Each entry is chained to the one before it. */
export class DisclosureLog {
  readonly #database: Sqlite
  readonly #now: () => number
  readonly #onError: (error: unknown) => void
  #waiting: { at: number; entry: Disclosure }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(database: Sqlite, now: () => number, onError: (error: unknown) => void) {
    this.#database = database
    this.#now = now
    this.#onError = onError
  }

  add(disclosure: Disclosure): void {
    // A record's id may say much by itself.
    const records = disclosure.records.map((key) => hash('sha256', key, 'hex').slice(0, 16))
    this.#waiting.push({ at: this.#now(), entry: { ...disclosure, records } })
    if (this.#waiting.length >= mostLingering) this.flush(longest)
    else this.#timer ??= setTimeout(() => this.flush(), lingering).unref()
  }

  /** Everything that is on its way; while another writes, it goes on being so. */
  flush(patience = 0): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const waiting = this.#waiting
    if (waiting.length === 0) return
    this.#waiting = []
    try {
      this.#database.exec(`pragma busy_timeout = ${patience}`)
      this.#database.exec('begin immediate')
      let { n, head } = this.#last()
      const put = this.#database.prepare(
        'insert into reads (n, at, package, entry, hash) values (?, ?, ?, ?, ?)',
      )
      for (const { at, entry } of waiting) {
        const text = JSON.stringify(entry)
        n += 1
        head = link(head, at, text)
        put.run(n, at, entry.package, text, head)
      }
      this.#database.exec('commit')
    } catch (error) {
      try {
        this.#database.exec('rollback')
      } catch {
        // There was none to undo.
      }
      if (patience > 0 || !/locked|busy/i.test((error as Error).message)) this.#onError(error)
      else {
        this.#waiting = [...waiting, ...this.#waiting]
        this.#timer = setTimeout(() => this.flush(), retry).unref()
      }
    }
  }

  /** The entries of one package, oldest first, and whether the whole chain is sound. */
  read(package_: string): {
    readonly records: readonly DisclosureRecord[]
    readonly broken?: number
  } {
    const records: DisclosureRecord[] = []
    let head = ''
    const rows = this.#database
      .prepare<{ n: number; at: number; package: string; entry: string; hash: string }>(
        'select n, at, package, entry, hash from reads order by n',
      )
      .all()
    for (const [index, row] of rows.entries()) {
      head = link(head, row.at, row.entry)
      if (head !== row.hash || row.n !== index + 1) return { records, broken: row.n }
      if (row.package === package_)
        records.push({ n: row.n, at: row.at, entry: JSON.parse(row.entry) })
    }
    return { records }
  }

  close(): void {
    this.flush(longest)
    this.#database.close()
  }

  #last(): { n: number; head: string } {
    const row = this.#database
      .prepare<{ n: number; hash: string }>('select n, hash from reads order by n desc limit 1')
      .get()
    return { n: row?.n ?? 0, head: row?.hash ?? '' }
  }
}

const link = (head: string, at: number, text: string): string =>
  hash('sha256', `${head}\n${at}\n${text}`, 'hex')
