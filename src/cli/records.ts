import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { defineCommand } from 'citty'
import {
  BackgroundWriter,
  importRecords,
  inferStream,
  openOwnerStore,
  readLines,
  readStreams,
  type Stream,
  toConnection,
} from '../runtime/owner-store.ts'
import { jsonFlag } from './flags.ts'
import { count, output, print, printJson, say } from './print.ts'
import { createProgress } from './progress.ts'
import { UsageError } from './usage-error.ts'

const actions = ['streams', 'declare', 'import', 'export'] as const
type Action = (typeof actions)[number]

export const records = defineCommand({
  meta: {
    name: 'records',
    description:
      "The owner's side of a store of records: drawbridge records [streams|declare|import|export] [FILE].",
  },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'streams',
      description: actions.join(', '),
    },
    file: {
      type: 'positional',
      required: false,
      description: 'NDJSON, JSON or CSV; "streams FILE" drafts a declaration',
    },
    store: { type: 'string', default: './personal.db', description: 'the store (./personal.db)' },
    streams: { type: 'string', description: 'a streams.yaml that declares the streams' },
    stream: { type: 'string', description: 'which stream the records are of' },
    connection: { type: 'string', description: 'which connection they come from; made when new' },
    connector: { type: 'string', description: 'what kind of source that is, such as gmail' },
    label: { type: 'string', description: 'what people call the connection' },
    again: {
      type: 'boolean',
      description: 'import a file from its first line, though it was taken before',
    },
    json: jsonFlag,
  },
  async run({ args }) {
    const action = actions.find((one) => one === args.action)
    if (!action)
      throw new UsageError(`There is no "${args.action}". There is: ${actions.join(', ')}`)
    return run[action](args as Arguments)
  },
})

interface Arguments {
  readonly file?: string
  readonly store: string
  readonly streams?: string
  readonly stream?: string
  readonly connection?: string
  readonly connector?: string
  readonly label?: string
  readonly again?: boolean
  readonly json?: boolean
}

const run: Readonly<Record<Action, (args: Arguments) => Promise<number>>> = {
  streams: (args) => (args.file === undefined ? listStreams(args) : draftStream(args.file, args)),
  declare: (args) => declareStreams(args),
  import: (args) => importFile(args),
  export: (args) => exportRecords(args),
}

async function listStreams({ store, json }: Arguments): Promise<number> {
  const writer = openOwnerStore(store, false)
  try {
    const rows = writer.sources.map((source) => ({
      id: `${source.connection.id}/${source.stream.name}`,
      stream: source.stream.name,
      connection_id: source.connection.id,
      connector_key: source.connection.connector,
      ...(source.connection.label !== undefined && { display_name: source.connection.label }),
      fields: source.stream.fields.map(({ name }) => name),
      records: writer.count(source),
    }))
    if (json) printJson(rows)
    else
      for (const row of rows)
        print(
          `${row.id.padEnd(40)} ${row.connector_key.padEnd(16)} ${count(row.records, 'record')}`,
        )
    return 0
  } finally {
    writer.close()
  }
}

/** For a person to look at, correct and keep as streams.yaml: JSON is YAML, too. */
async function draftStream(file: string, { stream, connector }: Arguments): Promise<number> {
  const sample: unknown[] = []
  for await (const { value } of readLines(file, (_, text) => text)) {
    if (value !== undefined) sample.push(value)
    if (sample.length === 1000) break
  }
  printJson({ streams: { [stream ?? 'records']: inferStream(connector ?? 'local', sample) } })
  say('A draft: say what may be searched, summed and filtered, and keep it as streams.yaml.')
  return 0
}

/** For records that come by HTTP: nothing is taken in yet. */
async function declareStreams({ file, streams = file, store, connector }: Arguments) {
  if (streams === undefined)
    throw new UsageError('Say which declaration: drawbridge records declare streams.yaml')
  const declared = await readStreams(streams, connector)
  const writer = openOwnerStore(store, true)
  try {
    for (const [, stream] of declared) writer.declare(stream)
    print(`Declared: ${[...declared.keys()].join(', ')}`)
    return 0
  } finally {
    writer.close()
  }
}

async function importFile(args: Arguments): Promise<number> {
  const { file, store, stream: name, connection: id, again, json } = args
  if (file === undefined || id === undefined)
    throw new UsageError('Say what and where to: drawbridge records import FILE --connection ID')
  const declared =
    args.streams === undefined ? undefined : await readStreams(args.streams, args.connector)
  const writer = openOwnerStore(store, true)
  const background = new BackgroundWriter(store)
  const progress = createProgress(file)
  try {
    const stream = findStream(
      [...(declared ?? writer.streams.map((one) => [one.name, one] as const))].map(
        ([, one]) => one,
      ),
      name,
      args,
    )
    if (declared) writer.declare(stream)
    const connection = toConnection(writer, { id, connector: stream.connector, label: args.label })
    const source = writer.open(stream, connection)
    const imported = await importRecords({
      writer,
      background,
      source,
      file,
      again,
      now: Date.now,
      onProgress: progress.show,
      onRejected: (line, fault) => say(`${file}:${line} is set aside: ${fault}`),
    })
    progress.end()
    const { added, changed, removed, same, skipped, rejected, aside } = imported
    if (json) printJson({ stream: stream.name, connection_id: id, ...imported })
    else
      print(
        `${stream.name} of ${id}: ${added} added, ${changed} changed, ${removed} removed, ${same} unchanged${skipped > 0 ? `, ${count(skipped, 'line')} taken before (--again takes them once more)` : ''}${rejected > 0 ? `, ${count(rejected, 'line')} set aside in ${aside}` : ''}`,
      )
    return rejected > 0 ? 1 : 0
  } finally {
    progress.end()
    await background.close()
    writer.close()
  }
}

function findStream(
  streams: readonly Stream[],
  name: string | undefined,
  { connector, streams: file }: Arguments,
): Stream {
  const meant = streams.filter(
    (one) => (name ?? one.name) === one.name && (connector ?? one.connector) === one.connector,
  )
  const [stream, ...others] = meant
  if (stream && others.length === 0) return stream
  const known = streams.map((one) => one.name).join(', ') || 'none'
  if (stream) throw new UsageError(`Say which stream with --stream. There is: ${known}`)
  throw new UsageError(
    file === undefined
      ? `The store declares no such stream. Declare it: --streams streams.yaml ("drawbridge records streams FILE" drafts one). There is: ${known}`
      : `${file} declares no stream ${name ?? ''}. There is: ${known}`,
  )
}

async function exportRecords({ store, stream, connection, file }: Arguments): Promise<number> {
  const writer = openOwnerStore(store, false)
  const target = file === undefined ? output : createWriteStream(file, { mode: 0o600 })
  try {
    const sources = writer.sources.filter(
      (one) =>
        (stream ?? one.stream.name) === one.stream.name &&
        (connection ?? one.connection.id) === one.connection.id,
    )
    if (sources.length === 0) throw new UsageError('There is nothing of that name in the store.')
    for (const source of sources)
      for (const { key, at, body } of writer.export(source)) {
        const head = {
          object: 'record',
          id: key,
          stream: source.stream.name,
          connection_id: source.connection.id,
          emitted_at: at,
        }
        const line = `${JSON.stringify(head).slice(0, -1)},"data":${body}}\n`
        if (!target.write(line)) await once(target, 'drain')
      }
    if (target !== output) {
      target.end()
      await once(target, 'finish')
    }
    return 0
  } finally {
    writer.close()
  }
}
