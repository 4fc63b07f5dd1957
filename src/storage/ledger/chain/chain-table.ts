import type { Fault } from '../../../capability/fault.ts'
import { StorageError } from '../../../capability/storage-error.ts'
import { toText } from '../../sqlite/bytes.ts'
import type { Sqlite, Statement } from '../../sqlite/sqlite.ts'
import {
  type ChainBlock,
  type ChainEnd,
  type ChainName,
  splitLine,
  toBlockSeal,
  toHash,
} from './chain-block.ts'
import { ChainMarks } from './chain-marks.ts'
import { type ChainPin, type ChainVerification, type Restart, verifyChain } from './verify-chain.ts'

export interface ChainRecord<Entry> {
  readonly number: number
  readonly hash: string
  readonly entry: Entry
}

/** Text is read as bytes: one of the drivers aborts the process on invalid UTF-8. */
interface BlockRow {
  readonly first: number
  readonly count: number
  readonly at: number
  readonly head: Uint8Array
  readonly seal: Uint8Array | null
  readonly lines: Uint8Array
}

const maxPurgedBlocks = 200
const maxAttempts = 1000

/**
 * A hash chain: each record carries the digest of all records before it. Records are written in blocks, one
 * row per batch, because a row per record would cost as much as a call. Each block is sealed: a keyed hash of its
 * head, with a key outside the database. The head is a digest of every record before it, so one seal per
 * commit authenticates them all, at a third of the cost of one per record.
 */
export class ChainTable<Entry> {
  readonly #database: Sqlite
  readonly name: ChainName
  readonly #key: string
  readonly marks: ChainMarks
  /** The end of the chain as this process last saw it. */
  #cachedEnd: ChainEnd | undefined
  /** Kept here: it runs so often that a lookup in the statement cache counts. */
  #insertStatement: Statement<never> | undefined

  constructor(database: Sqlite, name: ChainName, key: string) {
    this.#database = database
    this.name = name
    this.#key = key
    this.marks = new ChainMarks(database, name, key)
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
      `Could not append to ${this.name}: lost ${maxAttempts} consecutive write conflicts to other processes.`,
    )
  }

  /** Drops the cached end after a rollback. */
  forget(): void {
    this.#cachedEnd = undefined
  }

  /** The end of the chain as this process last saw it. */
  get end(): ChainEnd {
    return this.#end
  }

  /** Seals blocks from now on. Runs inside a transaction, once for each file. */
  startSealing(): void {
    if (!this.marks.sealedFrom) this.marks.startSealing(this.readEnd())
  }

  /** Gives up all seals, because their key is lost. `startSealing` starts again. */
  removeSeals(): void {
    this.#database.exec(`update ${this.name} set seal = null`)
    this.marks.remove()
  }

  get #end(): ChainEnd {
    this.#cachedEnd ??= this.readEnd()
    return this.#cachedEnd
  }

  /** The end of the chain, with the records of other processes. */
  readEnd(): ChainEnd {
    const last = this.#database
      .prepare<Pick<BlockRow, 'first' | 'count' | 'head'>>(
        `select first, count, cast(head as blob) as head from ${this.name}
         order by first desc limit 1`,
      )
      .get()
    return last ? { next: last.first + last.count, head: toText(last.head) } : this.marks.anchor
  }

  /** Inserts nothing if another process has used the number, even if it has purged that record since. */
  #insert(first: number, count: number, at: number, { head, text }: Lines): boolean {
    this.#insertStatement ??= this.#database.prepare(
      `insert into ${this.name} (first, count, at, head, lines, seal) select ?, ?, ?, ?, ?, ?
       where not exists (select 1 from chain_anchors where chain = '${this.name}' and next > ?)
       on conflict do nothing`,
    )
    const seal = toBlockSeal(this.#key, this.name, { first, count, at, head })
    return this.#insertStatement.run(first, count, at, head, text, seal, first).changes === 1
  }

  /**
   * Deletes whole blocks from the beginning, a bounded number at a time. Returns the new first record;
   * `undefined` when nothing was old enough.
   */
  purge(before: number): PurgedRecords | Fault | undefined {
    // The mark may pass the end as this process knows it: another process may have appended, and been killed.
    this.#cachedEnd = undefined
    const oldest = this.#database
      .prepare<Omit<BlockRow, 'lines'>>(
        `select first, count, at, cast(head as blob) as head, cast(seal as blob) as seal
         from ${this.name} order by first limit ${maxPurgedBlocks}`,
      )
      .all()
    const firstKept = oldest.findIndex(({ at }) => at >= before)
    const last = oldest.slice(0, firstKept < 0 ? oldest.length : firstKept).at(-1)
    if (!last) return undefined
    const [head, next] = [toText(last.head), last.first + last.count]
    const sealedFrom = this.marks.sealedFrom?.next ?? 0
    // A changed time must not make this process delete records, and then vouch for the deletion.
    if (last.first >= sealedFrom && !this.hasValidSeal({ ...last, head, seal: toSealText(last) }))
      return {
        fault: `Block ${last.first} of ${this.name} was changed, so old records are not deleted. Run "drawbridge audit --verify".`,
      }
    const { next: first } = this.marks.anchor
    this.marks.anchor = { next, head }
    this.#database.prepare(`delete from ${this.name} where first < ?`).run(next)
    const hasMore = firstKept < 0 && oldest.length === maxPurgedBlocks
    return { first: next, count: next - first, hasMore }
  }

  hasValidSeal(block: Omit<ChainBlock, 'lines'>): boolean {
    return block.seal === toBlockSeal(this.#key, this.name, block)
  }

  /** The records from a number on, oldest first. */
  *records(from: number): Generator<ChainRecord<Entry>> {
    for (const { first, lines } of this.blocks(from))
      for (const [index, line] of lines.entries()) {
        if (first + index < from) continue
        const [hash, text] = splitLine(line)
        yield { number: first + index, hash, entry: JSON.parse(text) as Entry }
      }
  }

  /** Recomputes the whole chain, and compares it with copies of its end that were kept elsewhere. */
  verify(pins: readonly ChainPin[] = [], restarts: readonly Restart[] = []): ChainVerification {
    return verifyChain(this, pins, restarts)
  }

  /** Reads page by page (keyset pagination): the chain may be larger than the memory. */
  *blocks(from: number): Generator<ChainBlock> {
    const statement = this.#database.prepare<BlockRow>(
      `select first, count, at, cast(head as blob) as head, cast(seal as blob) as seal,
         cast(lines as blob) as lines
       from ${this.name}
       where first >= (select coalesce(max(first), 0) from ${this.name} where first <= ?)
       and first > ?
       order by first limit 100`,
    )
    for (let last = -1, page: BlockRow[]; ; ) {
      page = statement.all(from, last)
      for (const row of page)
        yield {
          ...row,
          head: toText(row.head),
          seal: toSealText(row),
          lines: toText(row.lines).split('\n'),
        }
      const end = page.at(-1)
      if (!end) return
      last = end.first
    }
  }
}

export interface PurgedRecords {
  /** The first record that is left. */
  readonly first: number
  /** Number of deleted records. */
  readonly count: number
  readonly hasMore: boolean
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

const toSealText = ({ seal }: Pick<BlockRow, 'seal'>): string | undefined =>
  seal === null ? undefined : toText(seal)
