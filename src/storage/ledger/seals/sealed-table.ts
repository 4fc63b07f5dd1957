import { DamageError } from '../../../capability/storage-error.ts'
import { type Bytes, toText } from '../../sqlite/bytes.ts'
import type { Sqlite, Statement, Value } from '../../sqlite/sqlite.ts'
import { isSeal, type RowSeals, type Seal } from './row-seals.ts'

type Cell = string | number | null
export type ColumnType = 'text' | 'integer' | 'real'

export interface TableShape<Row> {
  readonly name: string
  readonly primaryKey: readonly (keyof Row & string)[]
  readonly columns: { readonly [Name in keyof Row & string]: ColumnType }
}

/** A row as it was read, with its seal. */
export type Sealed<Row> = Row & { readonly seal: Seal }

/**
 * A table whose rows carry a seal over all their columns: a row that was changed without the key is
 * damage, not data.
 */
export class SealedTable<Row extends { readonly [Name in keyof Row]: Cell }> {
  readonly #database: Sqlite
  readonly #shape: TableShape<Row>
  readonly #seals: RowSeals
  readonly #names: readonly (keyof Row & string)[]
  readonly #select: string
  readonly #keyCondition: string
  /** By the part that callers choose: hashing the whole text of a statement takes longer than sealing. */
  readonly #selects = new Map<string, Statement<RawRow>>()
  readonly #probes = new Map<string, Statement<object>>()
  readonly #updates = new Map<string, Statement<never>>()
  #insertStatement: Statement<never> | undefined

  constructor(database: Sqlite, shape: TableShape<Row>, seals: RowSeals) {
    this.#database = database
    this.#shape = shape
    this.#seals = seals
    this.#names = Object.keys(shape.columns) as (keyof Row & string)[]
    this.#select = toSelect(shape)
    this.#keyCondition = shape.primaryKey.map((name) => `${name} = ?`).join(' and ')
  }

  /** The first row that the rest of a `select` statement finds. */
  get(rest: string, ...values: Value[]): Sealed<Row> | undefined {
    const row = this.#prepareSelect(rest).get(...values)
    return row && this.#open(row)
  }

  /** Like `get`, for rows that seldom exist: a query without columns takes half as long. */
  find(rest: string, ...values: Value[]): Sealed<Row> | undefined {
    let probe = this.#probes.get(rest)
    if (!probe) {
      probe = this.#database.prepare(`select 1 from ${this.#shape.name} ${rest}`)
      this.#probes.set(rest, probe)
    }
    return probe.get(...values) === undefined ? undefined : this.get(rest, ...values)
  }

  all(rest: string, ...values: Value[]): Sealed<Row>[] {
    return this.#prepareSelect(rest)
      .all(...values)
      .map((row) => this.#open(row))
  }

  insert(row: Row): Sealed<Row> {
    const values = this.#toValues(row)
    const seal = this.#seals.sealRow(this.#shape.name, values)
    this.#insertStatement ??= this.#database.prepare(
      `insert into ${this.#shape.name} (${this.#names.join(', ')}, seal)
       values (${'?, '.repeat(values.length)}?)`,
    )
    this.#insertStatement.run(...values, seal)
    this.#seals.add(seal)
    return { ...row, seal }
  }

  /** Returns `undefined` if the row has changed since it was read, or is gone. */
  update(row: Sealed<Row>, changes: Partial<Row>): Sealed<Row> | undefined {
    const changed = { ...row, ...changes }
    const seal = this.#seals.sealRow(this.#shape.name, this.#toValues(changed))
    const names = Object.keys(changes) as (keyof Row & string)[]
    const { changes: count } = this.#prepareUpdate(names).run(
      ...names.map((name) => (changed as Row)[name] as Cell),
      seal,
      ...this.#toKey(row),
      row.seal,
    )
    if (count !== 1) return undefined
    this.#seals.remove(row.seal)
    this.#seals.add(seal)
    return { ...changed, seal }
  }

  /** Deletes the rows that the rest of a `delete` statement finds; returns their number. */
  delete(rest: string, ...values: Value[]): number {
    return this.deleteReturning([], rest, ...values).length
  }

  /** The same; returns some columns of the rows, unchecked. */
  deleteReturning<Name extends keyof Row & string>(
    names: readonly Name[],
    rest: string,
    ...values: Value[]
  ): Pick<Row, Name>[] {
    const { name, columns } = this.#shape
    const casts = [...names.map((one) => toCast(one, columns[one])), toCast('seal', 'text')]
    const deleted = this.#database
      .prepare<RawRow>(`delete from ${name} ${rest} returning ${casts.join(', ')}`)
      .all(...values)
    for (const { seal } of deleted) this.#seals.remove(this.#toSeal(seal))
    return deleted.map((raw) => decode(raw, names) as Pick<Row, Name>)
  }

  /** Every row, page by page (keyset pagination): the table may be larger than the memory. */
  *rows(): Generator<Sealed<Row>> {
    const { primaryKey } = this.#shape
    const order = `order by ${primaryKey.join(', ')} limit 1000`
    let page = this.all(order)
    while (page.length > 0) {
      yield* page
      const last = page.at(-1) as Sealed<Row>
      const key = `(${primaryKey.join(', ')}) > (${primaryKey.map(() => '?').join(', ')})`
      page = this.all(`where ${key} ${order}`, ...this.#toKey(last))
    }
  }

  /** Seals the rows of earlier versions, which have no seal yet. */
  sealAll(): void {
    const { name } = this.#shape
    const setSeal = this.#database.prepare(
      `update ${name} set seal = ? where ${this.#keyCondition} and seal is null`,
    )
    for (const raw of this.#prepareSelect('where seal is null').all()) {
      const row = decode(raw, this.#names) as Row
      const seal = this.#seals.sealRow(name, this.#toValues(row))
      setSeal.run(seal, ...this.#toKey(row))
      this.#seals.add(seal)
    }
  }

  removeSeals(): void {
    this.#database.prepare(`update ${this.#shape.name} set seal = null`).run()
  }

  #open(raw: RawRow): Sealed<Row> {
    const row = decode(raw, this.#names) as Row
    const seal = this.#toSeal(raw.seal)
    const { name } = this.#shape
    if (this.#seals.sealRow(name, this.#toValues(row)) === seal) return { ...row, seal }
    throw new DamageError(
      `the row ${this.#toKey(row).map(String).join(' ')} of ${name} was changed: its seal does not match`,
    )
  }

  #toSeal(bytes: unknown): Seal {
    const seal = bytes == null ? '' : toText(bytes as Uint8Array)
    if (isSeal(seal)) return seal
    throw new DamageError(`a row of ${this.#shape.name} has no valid seal`)
  }

  /** Unpaired surrogates are replaced, as they are by the drivers. */
  #toValues(row: Row): Cell[] {
    const values: Cell[] = []
    for (const name of this.#names) {
      const value: Cell = row[name]
      values.push(typeof value === 'string' ? value.toWellFormed() : value)
    }
    return values
  }

  #toKey(row: Row): Cell[] {
    return this.#shape.primaryKey.map((name) => row[name])
  }

  #prepareSelect(rest: string): Statement<RawRow> {
    let statement = this.#selects.get(rest)
    if (!statement) {
      statement = this.#database.prepare<RawRow>(this.#select + rest)
      this.#selects.set(rest, statement)
    }
    return statement
  }

  #prepareUpdate(names: readonly string[]): Statement<never> {
    const key = names.join()
    let statement = this.#updates.get(key)
    if (!statement) {
      const assignments = names.map((name) => `${name} = ?, `).join('')
      statement = this.#database.prepare(
        `update ${this.#shape.name} set ${assignments}seal = ? where ${this.#keyCondition} and seal = ?`,
      )
      this.#updates.set(key, statement)
    }
    return statement
  }
}

/** Text as bytes. */
type RawRow = Readonly<Record<string, number | Bytes | null>>

/**
 * Every column is cast, because the type of a damaged value is arbitrary. Text is read as bytes: one of the
 * drivers aborts the process on invalid UTF-8.
 */
function toSelect<Row>({ name, columns }: TableShape<Row>): string {
  const casts = Object.entries<ColumnType>(columns).map(([column, type]) => toCast(column, type))
  return `select ${casts.join(', ')}, ${toCast('seal', 'text')} from ${name} `
}

const toCast = (column: string, type: ColumnType): string =>
  `cast(${column} as ${type === 'text' ? 'blob' : type}) as ${column}`

function decode(raw: RawRow, names: readonly string[]): Record<string, Cell> {
  const row: Record<string, Cell> = {}
  for (const name of names) {
    const value = raw[name]
    row[name] = typeof value === 'number' || value == null ? (value ?? null) : toText(value)
  }
  return row
}
