import { hash } from 'node:crypto'
import { StorageError } from '../../capability/storage-error.ts'
import type { Sqlite, Statement } from '../sqlite/sqlite.ts'
import type { ChainPosition } from './ledger-state.ts'

/** The head before the first record: as long as a SHA-256 in base64url. */
const genesis = '0'.repeat(43)

export interface ChainRecord<Entry> {
  readonly number: number
  readonly hash: string
  readonly entry: Entry
}

/** The first record at which verification fails. */
export interface ChainBreak {
  readonly number: number
  readonly reason: string
}

/** Text is read as bytes: one of the drivers aborts the process on invalid UTF-8. */
interface BlockRow {
  readonly first: number
  readonly count: number
  readonly head: Uint8Array
  readonly lines: Uint8Array
}

interface Block {
  readonly first: number
  readonly count: number
  readonly head: string
  readonly lines: readonly string[]
}

/** A position in the chain: the number of the next record, and the digest of the one before it. */
interface ChainEnd {
  readonly next: number
  readonly head: string
}

/** The tables that hold a chain. */
export type ChainName = 'audit' | 'execution_events'

const maxPurgedBlocks = 200
const maxAttempts = 1000

/**
 * A hash chain: each record carries the digest of all records before it. Records are written in blocks, one
 * row per batch, because a row per record would cost as much as a call.
 */
export class ChainTable<Entry> {
  readonly #database: Sqlite
  readonly #name: ChainName
  /** The end of the chain as this process last saw it. */
  #cachedEnd: ChainEnd | undefined
  /** Kept here: it runs so often that a lookup in the statement cache counts. */
  #insertStatement: Statement<never> | undefined

  constructor(database: Sqlite, name: ChainName) {
    this.#database = database
    this.#name = name
  }

  /**
   * One statement, in a transaction or alone. Optimistic concurrency: if another process has written since,
   * the number is taken, nothing is inserted, and the end is read again. Returns the number of the first
   * record.
   */
  append(entries: readonly string[], at: number): number {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const { next, head } = this.#end
      if (entries.length === 0) return next
      const block = toLines(head, entries)
      if (this.#insert(next, entries.length, at, block)) {
        this.#cachedEnd = { next: next + entries.length, head: block.head }
        return next
      }
      this.#cachedEnd = undefined
    }
    throw new StorageError(
      `Could not append to ${this.#name}: lost ${maxAttempts} consecutive write conflicts to other processes.`,
    )
  }

  /** Drops the cached end after a rollback. */
  forget(): void {
    this.#cachedEnd = undefined
  }

  /** The end of the chain. */
  get end(): ChainPosition {
    return this.#end
  }

  /** The number of the next record. */
  get next(): number {
    return this.#readEnd().next
  }

  get #end(): ChainEnd {
    this.#cachedEnd ??= this.#readEnd()
    return this.#cachedEnd
  }

  #readEnd(): ChainEnd {
    const last = this.#database
      .prepare<Omit<BlockRow, 'lines'>>(
        `select first, count, cast(head as blob) as head from ${this.#name}
         order by first desc limit 1`,
      )
      .get()
    return last ? { next: last.first + last.count, head: toText(last.head) } : this.#anchor
  }

  /** Inserts nothing if another process has used the number, even if it has purged that record since. */
  #insert(first: number, count: number, at: number, { head, text }: Lines): boolean {
    this.#insertStatement ??= this.#database.prepare(
      `insert into ${this.#name} (first, count, at, head, lines) select ?, ?, ?, ?, ?
       where not exists (select 1 from chain_anchors where chain = '${this.#name}' and next > ?)
       on conflict do nothing`,
    )
    return this.#insertStatement.run(first, count, at, head, text, first).changes === 1
  }

  /**
   * Deletes whole blocks from the beginning, a bounded number at a time. Returns the new first record;
   * `undefined` when nothing was old enough.
   */
  purge(before: number): { readonly first: number; readonly hasMore: boolean } | undefined {
    const oldest = this.#database
      .prepare<Omit<BlockRow, 'lines'> & { readonly at: number }>(
        `select first, count, at, cast(head as blob) as head from ${this.#name}
         order by first limit ${maxPurgedBlocks}`,
      )
      .all()
    const firstKept = oldest.findIndex(({ at }) => at >= before)
    const last = oldest.slice(0, firstKept < 0 ? oldest.length : firstKept).at(-1)
    if (!last) return undefined
    const next = last.first + last.count
    this.#database
      .prepare(
        `insert into chain_anchors (chain, next, head) values (?, ?, ?)
         on conflict do update set next = excluded.next, head = excluded.head`,
      )
      .run(this.#name, next, toText(last.head))
    this.#database.prepare(`delete from ${this.#name} where first < ?`).run(next)
    return { first: next, hasMore: firstKept < 0 && oldest.length === maxPurgedBlocks }
  }

  /** The records from a number on, oldest first. */
  *records(from: number): Generator<ChainRecord<Entry>> {
    for (const { first, lines } of this.#blocks(from))
      for (const [index, line] of lines.entries()) {
        if (first + index < from) continue
        const space = line.indexOf(' ')
        const entry = JSON.parse(line.slice(space + 1)) as Entry
        yield { number: first + index, hash: line.slice(0, space), entry }
      }
  }

  /** Recomputes the whole chain; `broken` is the first record that does not match. */
  verify(): { readonly count: number; readonly broken?: ChainBreak } {
    let { head, next } = this.#anchor
    for (const block of this.#blocks(0)) {
      const { lines } = block
      if (block.first !== next)
        return { count: next, broken: { number: next, reason: 'records are missing here' } }
      for (const line of lines) {
        const space = line.indexOf(' ')
        head = toHash(head, line.slice(space + 1))
        if (head !== line.slice(0, space))
          return { count: next, broken: { number: next, reason: 'this record was changed' } }
        next++
      }
      if (lines.length !== block.count || block.head !== head)
        return { count: next, broken: { number: next - 1, reason: 'this record was changed' } }
    }
    return { count: next }
  }

  /** The start of the chain: after the purged records. */
  get #anchor(): ChainEnd {
    const row = this.#database
      .prepare<{ next: number; head: Uint8Array }>(
        'select next, cast(head as blob) as head from chain_anchors where chain = ?',
      )
      .get(this.#name)
    return row ? { next: row.next, head: toText(row.head) } : { next: 0, head: genesis }
  }

  /** Reads page by page (keyset pagination): the chain may be larger than the memory. */
  *#blocks(from: number): Generator<Block> {
    const statement = this.#database.prepare<BlockRow>(
      `select first, count, cast(head as blob) as head, cast(lines as blob) as lines
       from ${this.#name}
       where first >= (select coalesce(max(first), 0) from ${this.#name} where first <= ?)
       and first > ?
       order by first limit 100`,
    )
    for (let last = -1, page: BlockRow[]; ; ) {
      page = statement.all(from, last)
      for (const { first, count, head, lines } of page)
        yield { first, count, head: toText(head), lines: toText(lines).split('\n') }
      const end = page.at(-1)
      if (!end) return
      last = end.first
    }
  }
}

interface Lines {
  readonly text: string
  /** The digest of the last line, and so of all lines before it. */
  readonly head: string
}

function toLines(previousHead: string, entries: readonly string[]): Lines {
  let head = previousHead
  let text = ''
  for (const entry of entries) {
    head = toHash(head, entry)
    text += text === '' ? `${head} ${entry}` : `\n${head} ${entry}`
  }
  return { text, head }
}

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const toHash = (previous: string, text: string): string =>
  hash('sha256', `${previous}\n${text}`, 'base64url')
