import { createRequire } from 'node:module'

/** Opens a file with the SQLite driver that the store uses on this version of Node. */
export function openDriver(file) {
  const builtIn = process.getBuiltinModule?.('node:sqlite')
  if (builtIn) return new builtIn.DatabaseSync(file)
  const Database = createRequire(import.meta.url)('libsql')
  return new Database(file)
}

const columnsOf = ({ fields }) => new Map(fields.map(({ name, n }) => [name, `f${n}`]))

/** Hand-written SQL for one source with known tables, without grant and cursor. */
export function createFloor(database, source, sources) {
  const table = `r${source.n}`
  const column = columnsOf(source.stream)
  const [at, channel, amount, status, author] = [
    'sent_at',
    'channel',
    'amount',
    'status',
    'author',
  ].map((name) => column.get(name))
  const page = database.prepare(
    `select id, key, at, body, ${at} from ${table} where ${at} is not null order by ${at} desc, key desc limit 51`,
  )
  const pageSince = database.prepare(
    `select id, key, at, body, ${at} from ${table} where ${at} >= ? order by ${at} desc, key desc limit 51`,
  )
  // Bodies are parsed, because a page consists of records and not of strings.
  const parse = (rows) =>
    rows
      .slice(0, 50)
      .map(({ key, at: emittedAt, body }) => ({ key, emittedAt, data: JSON.parse(body) }))
  const prepare = (sql) => {
    const statement = database.prepare(sql)
    return (...values) => statement.all(...values)
  }
  const indexes = sources.map(({ n }) => ({
    n,
    find: database.prepare(
      `select rowid as id, rank from s${n} where s${n} match ? order by rank limit 10`,
    ),
    read: database.prepare(`select key, at, body from r${n} where id = ?`),
  }))
  return {
    page: () => parse(page.all()),
    pageSince: (since) => parse(pageSince.all(since)),
    byChannel: prepare(
      `select ${channel}, count(*), sum(${amount}) from ${table} group by 1 order by 2 desc`,
    ),
    byMonth: prepare(
      `select strftime('%Y-%m', ${at} / 1000, 'unixepoch') as month, count(*), sum(${amount}) from ${table} group by 1 order by 1`,
    ),
    byDay: prepare(
      `select strftime('%Y-%m-%d', ${at} / 1000, 'unixepoch') as day, count(*) from ${table} group by 1 order by 1`,
    ),
    count: prepare(`select count(*) from ${table} where ${status} = ? and ${amount} >= ?`),
    distinct: prepare(`select count(distinct ${author}) from ${table}`),
    search(term) {
      const matches = indexes.flatMap((index) =>
        index.find.all(term).map(({ id, rank }) => ({ index, id, rank })),
      )
      matches.sort((a, b) => a.rank - b.rank)
      return matches.slice(0, 10).flatMap(({ index, id }) => parse(index.read.all(id)))
    },
  }
}

/**
 * A minimal loader: the same tables, indexes and full-text index from the same lines of JSON, without
 * word folding, former versions, change log, bookmarks and column segments.
 */
export function createLoader(database, { n, stream }) {
  const scalars = stream.fields.filter(({ type }) => type !== 'other')
  const lexical = stream.fields.filter((field) => field.lexical).map(({ name }) => name)
  const insert = database.prepare(
    `insert into r${n} (id, key, seq, at, ${scalars.map((field) => `f${field.n}`).join(', ')}, body)
     values (?, ?, ?, ?, ${scalars.map(() => '?').join(', ')}, ?)`,
  )
  const index = database.prepare(
    `insert into s${n} (rowid, ${stream.fields
      .filter((field) => field.lexical)
      .map((field) => `c${field.n}`)
      .join(', ')}) values (?, ${lexical.map(() => '?').join(', ')})`,
  )
  let id = 0
  return (lines) => {
    database.exec('begin immediate')
    for (const line of lines) {
      const record = JSON.parse(line)
      const values = scalars.map(({ name, type }) =>
        type === 'date-time'
          ? Date.parse(record[name])
          : type === 'boolean'
            ? Number(record[name])
            : record[name],
      )
      id += 1
      insert.run(id, record.id, id, '2026-06-01T00:00:00.000Z', ...values, line)
      index.run(id, ...lexical.map((name) => record[name]))
    }
    database.exec('commit')
  }
}
