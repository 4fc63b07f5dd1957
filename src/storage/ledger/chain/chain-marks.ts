import { toText } from '../../sqlite/bytes.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import { toSeal } from '../seals/seal.ts'
import type { ChainEnd, ChainName } from './chain-block.ts'

/** The head before the first record: as long as a SHA-256 in base64url. */
const genesis: ChainEnd = { next: 0, head: '0'.repeat(43) }

/** A position that a row of the database claims, and whether the key of the store confirms it. */
export interface ChainMark extends ChainEnd {
  readonly isValid: boolean
}

/** Lost records that `store repair` has confirmed: from `first` up to, without, `next`. */
export interface ChainGap {
  readonly first: number
  readonly next: number
  /** The digest of the line at `next`: its link to the lost records cannot be recomputed. */
  readonly digest: string
  readonly isValid: boolean
}

/**
 * Positions of a chain that its blocks do not tell: where it begins after a purge, from which record on
 * its blocks are sealed, and gaps. Each is sealed, so that nobody without the key can move one.
 */
export class ChainMarks {
  readonly #database: Sqlite
  readonly #chain: ChainName
  readonly #key: string

  constructor(database: Sqlite, chain: ChainName, key: string) {
    this.#database = database
    this.#chain = chain
    this.#key = key
  }

  /** The start of the chain: after the purged records. */
  get anchor(): ChainMark {
    return this.#read('anchor') ?? { ...genesis, isValid: true }
  }

  set anchor(end: ChainEnd) {
    this.#write('anchor', end)
  }

  /** The first sealed record. Blocks before it come from an earlier version. */
  get sealedFrom(): ChainMark | undefined {
    return this.#read('sealed')
  }

  /** Seals the anchor too, which an earlier version may have left without a seal. */
  startSealing(end: ChainEnd): void {
    this.#write('sealed', end)
    const { anchor } = this
    if (anchor.next > 0) this.#write('anchor', anchor)
  }

  get gaps(): readonly ChainGap[] {
    return this.#database
      .prepare<{ first: number; next: number; digest: Uint8Array; seal: Uint8Array }>(
        `select first, next, cast(digest as blob) as digest, cast(seal as blob) as seal
         from chain_gaps where chain = ? order by first`,
      )
      .all(this.#chain)
      .map((row) => {
        const gap = { first: row.first, next: row.next, digest: toText(row.digest) }
        return { ...gap, isValid: toText(row.seal) === this.#toGapSeal(gap) }
      })
  }

  addGap(gap: Omit<ChainGap, 'isValid'>): void {
    this.#database
      .prepare('insert into chain_gaps (chain, first, next, digest, seal) values (?, ?, ?, ?, ?)')
      .run(this.#chain, gap.first, gap.next, gap.digest, this.#toGapSeal(gap))
  }

  /** Removes all marks that need the key; the anchor stays, without a seal. */
  remove(): void {
    this.#database
      .prepare('delete from chain_anchors where chain = ?')
      .run(this.#toRowName('sealed'))
    this.#database.prepare('delete from chain_gaps where chain = ?').run(this.#chain)
  }

  #read(kind: MarkKind): ChainMark | undefined {
    const row = this.#database
      .prepare<{ next: number; head: Uint8Array; seal: Uint8Array | null }>(
        `select next, cast(head as blob) as head, cast(seal as blob) as seal
         from chain_anchors where chain = ?`,
      )
      .get(this.#toRowName(kind))
    if (!row) return undefined
    const end = { next: row.next, head: toText(row.head) }
    return { ...end, isValid: row.seal !== null && toText(row.seal) === this.#toSeal(kind, end) }
  }

  #write(kind: MarkKind, end: ChainEnd): void {
    this.#database
      .prepare(
        `insert into chain_anchors (chain, next, head, seal) values (?, ?, ?, ?)
         on conflict do update set next = excluded.next, head = excluded.head, seal = excluded.seal`,
      )
      .run(this.#toRowName(kind), end.next, end.head, this.#toSeal(kind, end))
  }

  #toRowName(kind: MarkKind): string {
    return kind === 'anchor' ? this.#chain : `${this.#chain}:${kind}`
  }

  #toSeal(kind: MarkKind, { next, head }: ChainEnd): string {
    return toSeal(this.#key, `${this.#chain}\n${kind}\n${next}\n${head}`)
  }

  #toGapSeal({ first, next, digest }: Omit<ChainGap, 'isValid'>): string {
    return toSeal(this.#key, `${this.#chain}\ngap\n${first}\n${next}\n${digest}`)
  }
}

type MarkKind = 'anchor' | 'sealed'
