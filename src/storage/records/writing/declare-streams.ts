import type { Connection, RecordSource, Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { SegmentWriter } from '../columns/segment-writer.ts'
import { listReturningFields, numberFields } from '../field-numbers.ts'
import type { RecordCatalog } from '../record-catalog.ts'
import { createSourceTables } from '../source-tables.ts'
import { markAllChanged, rebuildSource } from './rebuild-source.ts'

interface StreamRow {
  readonly n: number
  readonly declaration: string
}

/** The owner's declarations of streams and connections. The caller opens the transaction. */
export class StreamDeclarations {
  readonly #database: Sqlite
  readonly #segments: SegmentWriter

  constructor(database: Sqlite, segments: SegmentWriter) {
    this.#database = database
    this.#segments = segments
  }

  /** Declares a stream. If its declaration changed, its sources are rebuilt to fit. */
  declare(stream: Stream): void {
    const row = this.#find(stream)
    if (row) this.#redeclare(row, stream)
    else this.#declareFirst(stream)
  }

  #declareFirst(stream: Stream): void {
    this.#database
      .prepare(`insert into streams (connector, name, declaration) values (?, ?, '')`)
      .run(stream.connector, stream.name)
    const row = this.#find(stream)
    if (!row) throw new Error(`The stream ${stream.name} was not stored`)
    this.#put(row.n, numberFields(this.#database, row.n, stream))
  }

  #redeclare({ n, declaration }: StreamRow, newStream: Stream): void {
    const former: Stream = JSON.parse(declaration)
    const returningFields = listReturningFields(this.#database, n, former, newStream)
    const stream = numberFields(this.#database, n, newStream)
    if (JSON.stringify(stream) === declaration) return
    this.#put(n, stream)
    for (const source of this.#database
      .prepare<{ n: number }>('select n from sources where stream = ?')
      .all(n)) {
      rebuildSource(this.#database, source.n, former, stream)
      for (const field of stream.fields)
        if (returningFields.includes(field.name)) markAllChanged(this.#database, source.n, field)
      this.#segments.maintain(source.n, stream)
    }
  }

  #put(n: number, stream: Stream): void {
    this.#database
      .prepare('update streams set declaration = ? where n = ?')
      .run(JSON.stringify(stream), n)
    this.#incrementVersion()
  }

  #find({ connector, name }: Stream): StreamRow | undefined {
    return this.#database
      .prepare<StreamRow>('select n, declaration from streams where connector = ? and name = ?')
      .get(connector, name)
  }

  /** The source of a declared stream and a connection; creates the connection and the source if needed. */
  connect(stream: Stream, connection: Connection): RecordSource {
    this.#database
      .prepare(
        `insert into connections (id, connector, label) values (?, ?, ?)
         on conflict do update set label = coalesce(excluded.label, label)`,
      )
      .run(connection.id, connection.connector, connection.label ?? null)
    const row = this.#find(stream)
    if (!row) throw new Error(`The stream ${stream.name} is not declared`)
    const { changes } = this.#database
      .prepare('insert or ignore into sources (connection, stream) values (?, ?)')
      .run(connection.id, row.n)
    const source = this.#database
      .prepare<{ n: number }>('select n from sources where connection = ? and stream = ?')
      .get(connection.id, row.n)
    if (!source) throw new Error(`The source ${stream.name} of ${connection.id} was not stored`)
    const declaration: Stream = JSON.parse(row.declaration)
    if (changes > 0) createSourceTables(this.#database, source.n, declaration)
    this.#incrementVersion()
    return { n: source.n, connection, stream: declaration }
  }

  /** Invalidates every cached `RecordCatalog`, in all processes. */
  #incrementVersion(): void {
    this.#database.exec(
      `update meta set value = cast(cast(value as integer) + 1 as text) where name = 'catalogue'`,
    )
  }
}

/** The source of a stream and a connection, if both are stored already and the label is the same. */
export function findSource(
  { sources }: Pick<RecordCatalog, 'sources'>,
  stream: Stream,
  connection: Connection,
): RecordSource | undefined {
  const source = sources.find(
    (candidate) =>
      candidate.stream.name === stream.name &&
      candidate.stream.connector === stream.connector &&
      candidate.connection.id === connection.id &&
      candidate.connection.label === (connection.label ?? candidate.connection.label),
  )
  return source && { n: source.n, connection, stream: source.stream }
}
