import { existsSync } from 'node:fs'
import { defineCommand } from 'citty'
import {
  checkReadable,
  type RecordWriter,
  readStreams,
  redeclareStreams,
} from '../../runtime/records/owner-store.ts'
import { jsonFlag, storeFlag } from '../terminal/flags.ts'
import { count, print, printJson, say, toLine } from '../terminal/print.ts'
import { readAction } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { draftStreams } from './draft-streams.ts'
import { exportRecords } from './export-records.ts'
import { findStream, importFile } from './import-file.ts'
import { withNewOwnerStore, withOwnerStore } from './with-owner-store.ts'

const actions = ['streams', 'declare', 'import', 'export'] as const

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
    store: storeFlag,
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
    const { file, store, json = false } = args
    switch (readAction(actions, args.action)) {
      case 'streams':
        return file === undefined
          ? withOwnerStore(store, (writer) => listStreams(writer, json))
          : draftStreams(file, args)
      case 'declare':
        return declareStreams(args)
      case 'import':
        return importInto(args)
      case 'export':
        return withOwnerStore(store, (writer) => exportRecords(writer, args))
    }
  },
})

interface Arguments {
  readonly file?: string | undefined
  readonly store: string
  readonly streams?: string | undefined
  readonly stream?: string | undefined
  readonly connection?: string | undefined
  readonly connector?: string | undefined
  readonly label?: string | undefined
  readonly again?: boolean | undefined
  readonly json?: boolean | undefined
}

function listStreams(writer: RecordWriter, json: boolean): number {
  const rows = writer.sources.map((source) => ({
    id: `${source.connection.id}/${source.stream.name}`,
    stream: source.stream.name,
    connection_id: source.connection.id,
    connector_key: source.connection.connector,
    ...(source.connection.label !== undefined && { display_name: source.connection.label }),
    fields: source.stream.fields.map(({ name }) => name),
    records: writer.count(source),
  }))
  if (json) {
    printJson(rows)
    return 0
  }
  for (const { id, connector_key, records } of rows)
    print(toRow(id, connector_key, count(records, 'record')))
  const filled = new Set(writer.sources.map(({ stream }) => `${stream.connector}/${stream.name}`))
  for (const { name, connector } of writer.streams)
    if (!filled.has(`${connector}/${name}`))
      print(toRow(name, connector, 'declared, in no connection yet'))
  return 0
}

const toRow = (id: string, connector: string, what: string): string =>
  `${id.padEnd(40)} ${connector.padEnd(16)} ${what}`

/** For records that come by HTTP: nothing is taken in yet. */
async function declareStreams({ file, streams = file, store, connector }: Arguments) {
  if (streams === undefined)
    throw new UsageError('Say which declaration: drawbridge records declare streams.yaml')
  const declared = await readStreams(streams, connector)
  return withNewOwnerStore(store, (writer) => {
    for (const [, stream] of declared)
      for (const one of redeclareStreams(writer, stream, streams)) say(toLine(one))
    print(`Declared: ${[...declared.keys()].join(', ')}`)
    return 0
  })
}

async function importInto({ file, connection: id, streams, ...rest }: Arguments): Promise<number> {
  if (file === undefined || id === undefined)
    throw new UsageError('Say what and where to: drawbridge records import FILE --connection ID')
  await checkReadable(file)
  const declared = streams === undefined ? undefined : await readStreams(streams, rest.connector)
  const options = {
    ...rest,
    file,
    id,
    ...(streams !== undefined &&
      declared && { declared: { file: streams, streams: [...declared.values()] } }),
  }
  // A store is not made for what could not be put there.
  if (!existsSync(rest.store)) findStream(options.declared?.streams ?? [], options)
  return withNewOwnerStore(rest.store, (writer) => importFile(writer, options))
}
