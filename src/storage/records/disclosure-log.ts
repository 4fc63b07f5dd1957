import { hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Disclosure } from '../../sources/records/record-store.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/** Delay before an entry is written, so that several share a commit. */
const coalesceMs = 50
/** Backpressure: reads are refused while so many entries are unwritten. */
const maxPending = 10_000
const batchLength = 1000
/** Delay before the next attempt when another connection holds the write lock. */
const busyRetryMs = 5
/** Delay before the next attempt after any other error. */
const errorRetryMs = 250
/** Time to wait for the write lock when the log is closed. */
const closeTimeoutMs = 1000

export interface DisclosureRecord {
  readonly n: number
  readonly at: number
  readonly entry: Disclosure
}

/**
 * Records what was read under which grant, as a hash chain. Reads do not wait for it: an entry is committed
 * after `coalesceMs` and synced to the disk in the background.
 */
export class DisclosureLog {
  readonly #database: Sqlite
  readonly #now: () => number
  readonly #onError: (error: unknown) => void
  #pending: PendingDisclosure[] = []
  #timer: NodeJS.Timeout | undefined
  /** True from a reported error to the next successful write. */
  #isFailing = false
  #syncing: Promise<void> | undefined
  #isUnsynced = false

  constructor(database: Sqlite, now: () => number, onError: (error: unknown) => void) {
    this.#database = database
    this.#now = now
    this.#onError = onError
  }

  /** True when no more reads may be disclosed, because they could not be recorded. */
  get isFull(): boolean {
    return this.#pending.length >= maxPending
  }

  add(disclosure: Disclosure): void {
    // Hashed: a record's key may itself be personal data.
    const records = disclosure.records.map((key) => hash('sha256', key, 'hex').slice(0, 16))
    this.#pending.push({ at: this.#now(), entry: { ...disclosure, records } })
    this.#timer ??= this.#flushIn(coalesceMs)
  }

  /** Writes one batch; `false` when that failed, and the batch stays pending. */
  #flush(timeoutMs = 0): boolean {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#pending.slice(0, batchLength)
    try {
      this.#database.exec(`pragma busy_timeout = ${timeoutMs}`)
      this.#database.exec('begin immediate')
      this.#put(batch)
      this.#database.exec('commit')
      this.#pending = this.#pending.slice(batch.length)
      this.#isFailing = false
      this.#isUnsynced = true
      this.#syncing ??= this.#sync()
      if (this.#pending.length > 0) this.#timer = this.#flushIn(busyRetryMs)
      return true
    } catch (error) {
      this.#rollback()
      const isBusy = /locked|busy/i.test((error as Error).message)
      if (!isBusy || this.isFull) this.#report(error)
      this.#timer = this.#flushIn(isBusy ? busyRetryMs : errorRetryMs)
      return false
    }
  }

  /**
   * Syncs the write-ahead log asynchronously: with `synchronous = full`, SQLite would block the event loop
   * for an fsync at each commit. SQLite never locks the WAL file itself, so fdatasync from here is safe.
   */
  async #sync(): Promise<void> {
    try {
      // Read the path first: the database may be closed while this waits for the disk.
      const file = `${this.#file()}-wal`
      while (this.#isUnsynced) {
        this.#isUnsynced = false
        await withFile(file, (wal) => wal.datasync())
      }
    } catch (error) {
      // The last connection to close checkpoints the WAL into the database and deletes it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#report(error)
    } finally {
      this.#syncing = undefined
    }
  }

  #file(): string {
    const [main] = this.#database.prepare<{ file: string }>('pragma database_list').all()
    return main?.file ?? ''
  }

  #put(batch: readonly PendingDisclosure[]): void {
    let { n, head } = this.#last()
    const put = this.#database.prepare(
      'insert into reads (n, at, package, entry, hash) values (?, ?, ?, ?, ?)',
    )
    for (const { at, entry } of batch) {
      const text = JSON.stringify(entry)
      n += 1
      head = link(head, at, text)
      put.run(n, at, entry.package, text, head)
    }
  }

  #rollback(): void {
    try {
      this.#database.exec('rollback')
    } catch {
      // No transaction was open.
    }
  }

  /** Reports the first error only, until a write succeeds again. */
  #report(error: unknown): void {
    if (!this.#isFailing) this.#onError(error)
    this.#isFailing = true
  }

  #flushIn(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#flush(), delayMs).unref()
  }

  /** The entries of one package, oldest first; `broken` is the first entry that fails the hash chain. */
  read(packageId: string): {
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
      if (row.package === packageId)
        records.push({ n: row.n, at: row.at, entry: JSON.parse(row.entry) })
    }
    return { records }
  }

  close(): void {
    // Sync with each commit now: no background sync follows.
    this.#database.exec('pragma synchronous = full')
    for (let isWritten = true; isWritten && this.#pending.length > 0; )
      isWritten = this.#flush(closeTimeoutMs)
    clearTimeout(this.#timer)
    const { length } = this.#pending
    if (length > 0)
      this.#onError(new Error(`${length} entries of the disclosure log could not be written.`))
    this.#database.close()
  }

  #last(): { n: number; head: string } {
    const row = this.#database
      .prepare<{ n: number; hash: string }>('select n, hash from reads order by n desc limit 1')
      .get()
    return { n: row?.n ?? 0, head: row?.hash ?? '' }
  }
}

/** Verifies the hash chain page by page; returns the first entry that was changed or is missing. */
export function verifyDisclosures(database: Sqlite): number | undefined {
  const page = database.prepare<{ n: number; at: number; entry: Uint8Array; hash: Uint8Array }>(
    `select n, at, cast(entry as blob) as entry, cast(hash as blob) as hash
     from reads where n > ? order by n limit ${batchLength}`,
  )
  let [n, head] = [0, '']
  for (let rows = page.all(n); rows.length > 0; rows = page.all(n))
    for (const row of rows) {
      head = link(head, row.at, Buffer.from(row.entry).toString())
      if (row.n !== n + 1 || head !== Buffer.from(row.hash).toString()) return n + 1
      n = row.n
    }
  return undefined
}

interface PendingDisclosure {
  readonly at: number
  readonly entry: Disclosure
}

/** One link of the hash chain: the digest of the previous one and this entry. */
const link = (head: string, at: number, text: string): string =>
  hash('sha256', `${head}\n${at}\n${text}`, 'hex')

async function withFile(file: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await work(handle)
  } finally {
    await handle.close()
  }
}
