import { hash } from 'node:crypto'
import type { AuditEntry } from '../governance/record-audit.ts'
import type { Sqlite } from './sqlite.ts'

/** Before the first record. */
const origin = '0'.repeat(43)

export interface AuditRecord {
  readonly number: number
  readonly hash: string
  readonly entry: AuditEntry
}

/** Where the chain breaks, and how. */
export interface AuditBreak {
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

/**
 * The audit trail: records that each carry the digest of all before them. They are written in
 * blocks, one row for all that came together, because a row for each would cost as much as a call.
 */
export class AuditTable {
  readonly #database: Sqlite

  constructor(database: Sqlite) {
    this.#database = database
  }

  /** Inside a transaction: another process may have written since the last time. */
  append(entries: readonly string[], lost: number, at: number): void {
    if (entries.length === 0) return
    const last = this.#database
      .prepare<Omit<BlockRow, 'lines'>>(
        'select first, count, cast(head as blob) as head from audit order by first desc limit 1',
      )
      .get()
    let head = last ? toText(last.head) : origin
    const lines: string[] = []
    const gap = lost > 0 ? [JSON.stringify({ event: 'lost', at, count: lost })] : []
    for (const text of [...gap, ...entries]) {
      head = toHash(head, text)
      lines.push(`${head} ${text}`)
    }
    this.#database
      .prepare('insert into audit (first, count, at, head, lines) values (?, ?, ?, ?, ?)')
      .run((last?.first ?? 0) + (last?.count ?? 0), lines.length, at, head, lines.join('\n'))
  }

  /** From a record on, oldest first. */
  *records(from: number): Generator<AuditRecord> {
    for (const { first, lines } of this.#blocks(from))
      for (const [index, line] of lines.entries()) {
        if (first + index < from) continue
        const space = line.indexOf(' ')
        const entry = JSON.parse(line.slice(space + 1)) as AuditEntry
        yield { number: first + index, hash: line.slice(0, space), entry }
      }
  }

  /** Follows the whole chain; the first record that is not what was written is named. */
  verify(): { readonly count: number; readonly broken?: AuditBreak } {
    let head = origin
    let next = 0
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

  /** A page at a time: the trail may be larger than the memory. */
  *#blocks(from: number): Generator<Block> {
    const statement = this.#database.prepare<BlockRow>(
      `select first, count, cast(head as blob) as head, cast(lines as blob) as lines from audit
       where first >= (select coalesce(max(first), 0) from audit where first <= ?) and first > ?
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

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const toHash = (previous: string, text: string): string =>
  hash('sha256', `${previous}\n${text}`, 'base64url')
