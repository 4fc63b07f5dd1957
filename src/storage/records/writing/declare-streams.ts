import type { Connection, RecordSource, Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { SegmentWriter } from '../columns/segment-writer.ts'
import { listReturned, numberFields } from '../field-numbers.ts'
import type { RecordCatalog } from '../record-catalog.ts'
import { createTables } from '../record-schema.ts'
import { rebuildSource, tellReturned } from './rebuild-source.ts'

interface StreamRow {
  readonly n: number
  readonly declaration: string
}

/** What an owner says there is: streams and connections. Within a transaction of somebody else. */
export class StreamDeclarations {
  readonly #database: Sqlite
  readonly #segments: SegmentWriter

  constructor(database: Sqlite, segments: SegmentWriter) {
    this.#database = database
    this.#segments = segments
  }

  /** Declares a stream, or declares it anew: then what is there is written again to fit. */
  declare(given: Stream): void {
    const known = this.#find(given)
    if (known) this.#declareAnew(known, given)
    else this.#declareFirst(given)
  }

  #declareFirst(given: Stream): void {
    this.#database
      .prepare(`insert into streams (connector, name, declaration) values (?, ?, '')`)
      .run(given.connector, given.name)
    const made = this.#find(given)
    if (!made) throw new Error(`${given.name} was not declared`)
    this.#put(made.n, numberFields(this.#database, made.n, given))
  }

  #declareAnew({ n, declaration }: StreamRow, given: Stream): void {
    const former: Stream = JSON.parse(declaration)
    const returned = listReturned(this.#database, n, former, given)
    const stream = numberFields(this.#database, n, given)
    if (JSON.stringify(stream) === declaration) return
    this.#put(n, stream)
    for (const source of this.#database
      .prepare<{ n: number }>('select n from sources where stream = ?')
      .all(n)) {
      rebuildSource(this.#database, source.n, former, stream)
      for (const field of stream.fields)
        if (returned.includes(field.name)) tellReturned(this.#database, source.n, field)
      this.#segments.settle(source.n, stream)
    }
  }

  #put(n: number, stream: Stream): void {
    this.#database
      .prepare('update streams set declaration = ? where n = ?')
      .run(JSON.stringify(stream), n)
    this.#touch()
  }

  #find({ connector, name }: Stream): StreamRow | undefined {
    return this.#database
      .prepare<StreamRow>('select n, declaration from streams where connector = ? and name = ?')
      .get(connector, name)
  }

  /** The source of a declared stream and a connection, which may be new. */
  connect(stream: Stream, connection: Connection): RecordSource {
    this.#database
      .prepare(
        `insert into connections (id, connector, label) values (?, ?, ?)
         on conflict do update set label = coalesce(excluded.label, label)`,
      )
      .run(connection.id, connection.connector, connection.label ?? null)
    const declared = this.#find(stream)
    if (!declared) throw new Error(`${stream.name} is not declared`)
    const { changes } = this.#database
      .prepare('insert or ignore into sources (connection, stream) values (?, ?)')
      .run(connection.id, declared.n)
    const made = this.#database
      .prepare<{ n: number }>('select n from sources where connection = ? and stream = ?')
      .get(connection.id, declared.n)
    if (!made) throw new Error(`${stream.name} of ${connection.id} was not made`)
    const present: Stream = JSON.parse(declared.declaration)
    if (changes > 0) createTables(this.#database, made.n, present)
    this.#touch()
    return { n: made.n, connection, stream: present }
  }

  /** Whoever has read the catalogue reads it again. */
  #touch(): void {
    this.#database.exec(
      `update meta set value = cast(cast(value as integer) + 1 as text) where name = 'catalogue'`,
    )
  }
}

/** The source of a stream and a connection, where there is nothing to be made for it. */
export function findSource(
  { sources }: Pick<RecordCatalog, 'sources'>,
  stream: Stream,
  connection: Connection,
): RecordSource | undefined {
  const known = sources.find(
    (one) =>
      one.stream.name === stream.name &&
      one.stream.connector === stream.connector &&
      one.connection.id === connection.id &&
      one.connection.label === (connection.label ?? one.connection.label),
  )
  return known && { n: known.n, connection, stream: known.stream }
}
