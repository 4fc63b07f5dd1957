import { hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Disclosure } from '../../sources/records/record-store.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/** How long an entry may be on its way. */
const lingering = 50
/** As many may be on their way before nothing more is given out. */
const mostWaiting = 10_000
/** As many are written at once. */
const batchLength = 1000
/** Milliseconds until the file is tried again that somebody else is writing to. */
const retry = 5
/** The same where something is wrong with it. */
const longerRetry = 250
/** How long to wait for others when there is no later. */
const lastPatience = 1000

export interface DisclosureRecord {
  readonly n: number
  readonly at: number
  readonly entry: Disclosure
}

/**
 * What was read under which grant. Each entry is chained to the one before it. Nobody who reads waits for
 * it: an entry is in the file after a moment, and on the disk as soon as that has taken it.
 */
export class DisclosureLog {
  readonly #database: Sqlite
  readonly #now: () => number
  readonly #onError: (error: unknown) => void
  #waiting: { at: number; entry: Disclosure }[] = []
  #timer: NodeJS.Timeout | undefined
  #isTroubled = false
  #syncing: Promise<void> | undefined
  #isUnsynced = false

  constructor(database: Sqlite, now: () => number, onError: (error: unknown) => void) {
    this.#database = database
    this.#now = now
    this.#onError = onError
  }

  /** Whether what is read can still be written down. */
  get isFull(): boolean {
    return this.#waiting.length >= mostWaiting
  }

  add(disclosure: Disclosure): void {
    // A record's id may say much by itself.
    const records = disclosure.records.map((key) => hash('sha256', key, 'hex').slice(0, 16))
    this.#waiting.push({ at: this.#now(), entry: { ...disclosure, records } })
    this.#timer ??= this.#flushIn(lingering)
  }

  /** Writes the first of those on their way, and says whether it could; else they stay so. */
  #flush(patience = 0): boolean {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#waiting.slice(0, batchLength)
    try {
      this.#database.exec(`pragma busy_timeout = ${patience}`)
      this.#database.exec('begin immediate')
      this.#put(batch)
      this.#database.exec('commit')
      this.#waiting = this.#waiting.slice(batch.length)
      this.#isTroubled = false
      this.#isUnsynced = true
      this.#syncing ??= this.#sync()
      if (this.#waiting.length > 0) this.#timer = this.#flushIn(retry)
      return true
    } catch (error) {
      this.#undo()
      const isBusy = /locked|busy/i.test((error as Error).message)
      if (!isBusy || this.isFull) this.#report(error)
      this.#timer = this.#flushIn(isBusy ? retry : longerRetry)
      return false
    }
  }

  /**
   * The engine would have this thread wait for the disk with each commit. Where it writes commits first is
   * a file that it never locks, so another thread may see to it that they are on the disk.
   */
  async #sync(): Promise<void> {
    try {
      // Asked for once: the store may be closed before all of it is on the disk.
      const file = `${this.#file()}-wal`
      while (this.#isUnsynced) {
        this.#isUnsynced = false
        await using(file, (log) => log.datasync())
      }
    } catch (error) {
      // It goes with the last who closes the store, and what was in it is in the store then.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#report(error)
    } finally {
      this.#syncing = undefined
    }
  }

  #file(): string {
    const [main] = this.#database.prepare<{ file: string }>('pragma database_list').all()
    return main?.file ?? ''
  }

  #put(waiting: readonly { at: number; entry: Disclosure }[]): void {
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
  }

  #undo(): void {
    try {
      this.#database.exec('rollback')
    } catch {
      // There was none to undo.
    }
  }

  /** Once for as long as it lasts. */
  #report(error: unknown): void {
    if (!this.#isTroubled) this.#onError(error)
    this.#isTroubled = true
  }

  #flushIn(delay: number): NodeJS.Timeout {
    return setTimeout(() => this.#flush(), delay).unref()
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
    // Now there is time to wait for the disk, and nobody else who would.
    this.#database.exec('pragma synchronous = full')
    for (let isGoing = true; isGoing && this.#waiting.length > 0; )
      isGoing = this.#flush(lastPatience)
    clearTimeout(this.#timer)
    const { length } = this.#waiting
    if (length > 0) this.#onError(new Error(`${length} reads were not written down.`))
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

async function using(file: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await work(handle)
  } finally {
    await handle.close()
  }
}
