import { isUtf8 } from 'node:buffer'
import type { Sqlite, Value } from '../sqlite/sqlite.ts'
import { findReadableOrdinal, toText as ordinalToText, toOrdinal } from './key-ordinals.ts'

/** A row, or a range of rows, that could not be saved as it was. */
export interface LostRow {
  readonly table: string
  /** Its key, or the keys between which rows are lost. */
  readonly key: string
  readonly reason: string
}

export type SavedRow = Readonly<Record<string, Value>>

export interface TableLayout {
  readonly table: string
  /** Columns of the primary key. */
  readonly key: readonly string[]
  readonly columns: readonly Column[]
}

interface Column {
  readonly name: string
  readonly type: string
}

/** Reads the layout of a table from a sound database of the same version. */
export function readLayout(database: Sqlite, table: string): TableLayout {
  const columns = database
    .prepare<Column & { pk: number }>(
      'select name, type, pk from pragma_table_info(?) order by cid',
    )
    .all(table)
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  return { table, key: key.map(({ name }) => name), columns }
}

/**
 * Yields every row of a damaged table that can be read. Where its tree is damaged, the scan continues at the
 * next key that can be read; after the last one, it scans backwards from the end.
 */
export function* salvageTable(
  database: Sqlite,
  layout: TableLayout,
  onLost: (row: LostRow) => void,
): Generator<SavedRow> {
  const scan = new TableScan(database, layout, onLost)
  do yield* scan.forward()
  while (!scan.isAtEnd && scan.skipUnreadable())
  if (!scan.isAtEnd) yield* scan.backward()
}

const unreadable = 'the pages with these rows cannot be read'
const pageLength = 100

type RawRow = Readonly<Record<string, number | Uint8Array | ArrayBuffer | string | null>>

class TableScan {
  readonly #database: Sqlite
  readonly #layout: TableLayout
  readonly #onLost: (row: LostRow) => void
  readonly #select: string
  readonly #isText: boolean
  /** Key of the last row read forwards, as SQL parameters. */
  #position: readonly Value[] | undefined
  /** First key to read after a gap: a value of the first key column. */
  #start: Value | undefined
  /** Where the gap begins that is being skipped. */
  #gapStart: string | undefined
  isAtEnd = false

  constructor(database: Sqlite, layout: TableLayout, onLost: (row: LostRow) => void) {
    this.#database = database
    this.#layout = layout
    this.#onLost = onLost
    this.#isText = layout.columns.find(({ name }) => name === layout.key[0])?.type === 'TEXT'
    const casts = layout.columns.map(({ name, type }) =>
      type === 'TEXT' ? `cast(${name} as blob) as ${name}` : name,
    )
    this.#select = `select ${casts.join(', ')} from ${layout.table}`
  }

  *forward(): Generator<SavedRow> {
    for (let limit = pageLength; ; ) {
      const page = this.#attempt(() => this.#readPage(limit))
      // Damaged pointers between pages may lead back to keys that were read already.
      if (page?.some((raw) => !this.#isNew(raw))) return
      if (page?.length === 0) {
        this.isAtEnd = true
        if (this.#gapStart !== undefined) this.#reportGap(' up to the end')
        return
      }
      if (page) {
        const [first] = page
        if (this.#gapStart !== undefined && first)
          this.#reportGap(` and before ${this.#name(first)}`)
        for (const raw of page) {
          this.#position = this.#toKey(raw)
          yield* this.#decode(raw)
        }
        this.#start = undefined
      } else if (limit === 1) return
      else limit = 1
    }
  }

  /** Moves behind the damaged pages; `false` when nothing behind them can be read. */
  skipUnreadable(): boolean {
    this.#gapStart ??= this.#position ? `after ${toKeyText(this.#position)}` : 'from the beginning'
    const { table, key } = this.#layout
    const [first = ''] = key
    const column = this.#isText ? `cast(${first} as blob)` : first
    const statement = this.#attempt(() =>
      this.#database.prepare<{ key: unknown }>(
        `select ${column} as key from ${table} where ${first} >= ? order by ${first} limit 1`,
      ),
    )
    const from = this.#start ?? this.#position?.[0]
    const toKey = (ordinal: number): Value => (this.#isText ? ordinalToText(ordinal) : ordinal)
    const ordinal = findReadableOrdinal(
      from === undefined ? undefined : toOrdinal(from),
      (candidate) => this.#attempt(() => statement?.get(toKey(candidate))) !== undefined,
    )
    if (ordinal === undefined) return false
    // The key may be far behind: if its row cannot be read either, the search goes on from there.
    const found = this.#attempt(() => statement?.get(toKey(ordinal)))?.key
    const foundKey = toBytes(found) ?? (found as Value)
    this.#start = toKey(Math.max(ordinal, toOrdinal(foundKey)))
    return true
  }

  *backward(): Generator<SavedRow> {
    const order = this.#layout.key.map((name) => `${name} desc`).join(', ')
    let end: readonly Value[] | undefined
    for (;;) {
      const where = end ? `where ${this.#compare('<', end)}` : ''
      const page = this.#attempt(() =>
        this.#database.prepare<RawRow>(`${this.#select} ${where} order by ${order} limit 1`).all(),
      )
      const [raw] = page ?? []
      if (!raw || !this.#isNew(raw)) break
      const key = this.#toKey(raw)
      if (end && compareKeys(key, end) >= 0) break
      end = key
      yield* this.#decode(raw)
    }
    this.#reportGap(end ? ` and before ${toKeyText(end)}` : ' up to the end')
  }

  #isNew(raw: RawRow): boolean {
    return !this.#position || compareKeys(this.#toKey(raw), this.#position) > 0
  }

  #reportGap(end: string): void {
    const { table } = this.#layout
    this.#onLost({ table, key: `${this.#gapStart}${end}`, reason: unreadable })
    this.#gapStart = undefined
  }

  #name(raw: RawRow): string {
    return toKeyText(this.#toKey(raw))
  }

  #readPage(limit: number): RawRow[] {
    const { key } = this.#layout
    const order = `order by ${key.join(', ')} limit ${limit}`
    if (this.#start !== undefined)
      return this.#database
        .prepare<RawRow>(`${this.#select} where ${key[0]} >= ? ${order}`)
        .all(this.#start)
    const where = this.#position ? `where ${this.#compare('>', this.#position)}` : ''
    return this.#database.prepare<RawRow>(`${this.#select} ${where} ${order}`).all()
  }

  #compare(operator: '<' | '>', key: readonly Value[]): string {
    return `(${this.#layout.key.join(', ')}) ${operator} (${key.map(toLiteral).join(', ')})`
  }

  #toKey(raw: RawRow): readonly Value[] {
    return this.#layout.key.map((name) => toBytes(raw[name]) ?? (raw[name] as Value))
  }

  *#decode(raw: RawRow): Generator<SavedRow> {
    const row: Record<string, Value> = {}
    const { table, columns } = this.#layout
    for (const { name, type } of columns) {
      const bytes = toBytes(raw[name])
      if (type === 'TEXT' && bytes && !isUtf8(bytes)) {
        this.#onLost({ table, key: this.#name(raw), reason: `${name} is not valid UTF-8` })
        return
      }
      const cell = bytes && type === 'TEXT' ? Buffer.from(bytes).toString() : bytes
      row[name] = cell ?? ((raw[name] ?? null) as Value)
    }
    yield row
  }

  #attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch {
      return undefined
    }
  }
}

/** The drivers return blobs as `Buffer`, `Uint8Array` or `ArrayBuffer`. */
function toBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return value instanceof Uint8Array ? value : undefined
}

function compareKeys(a: readonly Value[], b: readonly Value[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index] ?? null
    const order =
      part instanceof Uint8Array && other instanceof Uint8Array
        ? Buffer.compare(part, other)
        : Number(part) - Number(other)
    if (order !== 0) return order
  }
  return 0
}

/** Text as hexadecimal digits: it may be invalid UTF-8, which cannot be bound. */
const toLiteral = (part: Value): string =>
  part instanceof Uint8Array
    ? `cast(x'${Buffer.from(part).toString('hex')}' as text)`
    : String(Number(part))

const toKeyText = (key: readonly Value[]): string =>
  key.map((part) => (part instanceof Uint8Array ? Buffer.from(part).toString() : part)).join(' ')
