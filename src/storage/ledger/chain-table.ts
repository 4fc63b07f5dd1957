import { hash } from 'node:crypto'
import { LedgerError } from '../../governance/ledger.ts'
import type { Sqlite, Statement } from '../sqlite/sqlite.ts'

/** Before the first record. */
const origin = '0'.repeat(43)

export interface ChainRecord<Entry> {
  readonly number: number
  readonly hash: string
  readonly entry: Entry
}

/** Where the chain breaks, and how. */
export interface ChainBreak {
  readonly number: number
  readonly reason: string
}

/** Text is read as bytes: one of the drivers ends the process over text that is none. */
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

/** Where the chain begins: after what was forgotten on purpose. */
interface Anchor {
  readonly next: number
  readonly head: string
}

/** The tables that hold one. */
export type ChainName = 'audit' | 'execution_events'

const mostPurged = 200
const mostAttempts = 1000

/**
 * Records that each carry the digest of all before them. They are written in blocks, one row for
 * all that came together, because a row for each would cost as much as a call.
 */
export class ChainTable<Entry> {
  readonly #database: Sqlite
  readonly #name: ChainName
  /** Where this process believes that it ends. */
  #known: Anchor | undefined
  /** Used so often that even to look it up counts. */
  #inserting: Statement<never> | undefined

  constructor(database: Sqlite, name: ChainName) {
    this.#database = database
    this.#name = name
  }

  /**
   * One statement, in a transaction or alone. Where the chain ends is remembered: when another
   * process has written since, the number is taken, nothing is inserted, and the end is read anew.
   * Returns the number of the first record.
   */
  append(entries: readonly string[], at: number): number {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const { next, head } = this.#end
      if (entries.length === 0) return next
      const block = toLines(head, entries)
      if (this.#insert(next, entries.length, at, block)) {
        this.#known = { next: next + entries.length, head: block.head }
        return next
      }
      this.#known = undefined
    }
    throw new LedgerError('Others write faster than this process can.')
  }

  /** What was written last was undone: where the chain ends must be looked up. */
  forget(): void {
    this.#known = undefined
  }

  /** The number of the next record. */
  get next(): number {
    return this.#readEnd().next
  }

  get #end(): Anchor {
    this.#known ??= this.#readEnd()
    return this.#known
  }

  #readEnd(): Anchor {
    const last = this.#database
      .prepare<Omit<BlockRow, 'lines'>>(
        `select first, count, cast(head as blob) as head from ${this.#name}
         order by first desc limit 1`,
      )
      .get()
    return last ? { next: last.first + last.count, head: toText(last.head) } : this.#anchor
  }

  /** Not where somebody else was, even if they have forgotten it since. */
  #insert(first: number, count: number, at: number, { head, text }: Lines): boolean {
    this.#inserting ??= this.#database.prepare(
      `insert into ${this.#name} (first, count, at, head, lines) select ?, ?, ?, ?, ?
       where not exists (select 1 from chain_anchors where chain = '${this.#name}' and next > ?)
       on conflict do nothing`,
    )
    return this.#inserting.run(first, count, at, head, text, first).changes === 1
  }

  /** Forgets whole blocks from the beginning, some at a time: where it begins now, if it did. */
  purge(before: number): { readonly begins: number; readonly more: boolean } | undefined {
    const oldest = this.#database
      .prepare<Omit<BlockRow, 'lines'> & { readonly at: number }>(
        `select first, count, at, cast(head as blob) as head from ${this.#name}
         order by first limit ${mostPurged}`,
      )
      .all()
    const young = oldest.findIndex(({ at }) => at >= before)
    const last = oldest.slice(0, young < 0 ? oldest.length : young).at(-1)
    if (!last) return undefined
    const next = last.first + last.count
    this.#database
      .prepare(
        `insert into chain_anchors (chain, next, head) values (?, ?, ?)
         on conflict do update set next = excluded.next, head = excluded.head`,
      )
      .run(this.#name, next, toText(last.head))
    this.#database.prepare(`delete from ${this.#name} where first < ?`).run(next)
    return { begins: next, more: young < 0 && oldest.length === mostPurged }
  }

  /** From a record on, oldest first. */
  *records(from: number): Generator<ChainRecord<Entry>> {
    for (const { first, lines } of this.#blocks(from))
      for (const [index, line] of lines.entries()) {
        if (first + index < from) continue
        const space = line.indexOf(' ')
        const entry = JSON.parse(line.slice(space + 1)) as Entry
        yield { number: first + index, hash: line.slice(0, space), entry }
      }
  }

  /** Follows the whole chain; the first record that is not what was written is named. */
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

  get #anchor(): Anchor {
    const row = this.#database
      .prepare<{ next: number; head: Uint8Array }>(
        'select next, cast(head as blob) as head from chain_anchors where chain = ?',
      )
      .get(this.#name)
    return row ? { next: row.next, head: toText(row.head) } : { next: 0, head: origin }
  }

  /** A page at a time: the trail may be larger than the memory. */
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
  /** The digest of the last of them, and so of all before. */
  readonly head: string
}

function toLines(before: string, entries: readonly string[]): Lines {
  let head = before
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
