import { dropUndefined } from '../../json/drop-undefined.ts'
import type { Connection, RecordSource, Stream } from '../../sources/records/model/stream.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'

interface SourceRow {
  readonly n: number
  readonly connection: string
  readonly connector: string
  readonly label: string | null
  readonly declaration: string
}

/** The connections and streams of a file, cached until one of them changes. */
export class RecordCatalog {
  readonly #database: Sqlite
  #version: string | undefined
  #sources: readonly RecordSource[] = []
  /** Keyed by declaration, so that an unchanged stream stays the same object. */
  #streams: ReadonlyMap<string, Stream> = new Map()

  constructor(database: Sqlite) {
    this.#database = database
  }

  /** Incremented with every change of a connection or stream. */
  get version(): string {
    return (
      this.#database
        .prepare<{ value: string }>(`select value from meta where name = 'catalogue'`)
        .get()?.value ?? ''
    )
  }

  get sources(): readonly RecordSource[] {
    const version = this.version
    if (version !== this.#version) {
      this.#sources = this.#read()
      this.#version = version
    }
    return this.#sources
  }

  /** All declared streams, with or without a connection. */
  streams(): readonly (Stream & { readonly n: number })[] {
    return this.#database
      .prepare<{ n: number; declaration: string }>('select n, declaration from streams order by n')
      .all()
      .map(({ n, declaration }) => ({ ...(JSON.parse(declaration) as Stream), n }))
  }

  #read(): readonly RecordSource[] {
    const rows = this.#database
      .prepare<SourceRow>(
        `select sources.n, connection, connections.connector, label, declaration
         from sources
         join connections on connections.id = sources.connection
         join streams on streams.n = sources.stream
         order by connections.connector, connection, streams.name`,
      )
      .all()
    const streams = new Map<string, Stream>()
    const toStream = (declaration: string): Stream =>
      streams.get(declaration) ?? this.#streams.get(declaration) ?? JSON.parse(declaration)
    const sources = rows.map(({ n, connection, connector, label, declaration }) => {
      const stream = toStream(declaration)
      streams.set(declaration, stream)
      return { n, connection: toConnection(connection, connector, label), stream }
    })
    this.#streams = streams
    return sources
  }
}

/** Opens the catalog read-only: in WAL mode, readers do not wait for writers. */
export function openRecordCatalog(file: string): { catalog: RecordCatalog; close(): void } {
  const database = openSqlite(file)
  database.exec('pragma busy_timeout = 5000')
  database.exec('pragma query_only = on')
  return { catalog: new RecordCatalog(database), close: () => database.close() }
}

const toConnection = (id: string, connector: string, label: string | null): Connection =>
  dropUndefined({ id, connector, label: label ?? undefined })
