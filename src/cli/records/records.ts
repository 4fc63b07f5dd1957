import { existsSync } from 'node:fs'
import { defineCommand } from 'citty'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { checkReadable } from '../../runtime/file-errors.ts'
import type { OwnerStore } from '../../runtime/records/owner-store.ts'
import { readStreams } from '../../runtime/records/read-streams.ts'
import { redeclareStream } from '../../sources/records/streams/redeclare-stream.ts'
import { descriptions } from '../descriptions.ts'
import { jsonFlag, storeFlag } from '../terminal/flags.ts'
import { count, print, printJson, printMessage, toLine } from '../terminal/print.ts'
import { readAction } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { draftStreams } from './draft-streams.ts'
import { exportRecords } from './export-records.ts'
import { findStream, importFile } from './import-file.ts'
import { withNewOwnerStore, withOwnerStore } from './with-owner-store.ts'

const actions = ['streams', 'declare', 'import', 'export'] as const

export const records = defineCommand({
  meta: { name: 'records', description: descriptions.records },
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
    stream: { type: 'string', description: 'the stream of the records' },
    connection: {
      type: 'string',
      description: 'the connection of the records; created if it is new',
    },
    connector: { type: 'string', description: 'the kind of connection, such as gmail' },
    label: { type: 'string', description: 'display name of the connection' },
    again: {
      type: 'boolean',
      description: 'import from the first line, even if the file was imported before',
    },
    json: jsonFlag,
  },
  async run({ args }) {
    const { file, json = false } = args
    switch (readAction(actions, args.action)) {
      case 'streams':
        return file === undefined
          ? withOwnerStore(args.store, (store) => listStreams(store, json))
          : draftStreams(file, args)
      case 'declare':
        return declareStreams(args)
      case 'import':
        return importInto(args)
      case 'export':
        return withOwnerStore(args.store, (store) => exportRecords(store, args))
    }
  },
})

interface Flags {
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

function listStreams(store: OwnerStore, json: boolean): number {
  const rows = store.sources.map((source) => ({
    id: `${source.connection.id}/${source.stream.name}`,
    stream: source.stream.name,
    connection_id: source.connection.id,
    connector_key: source.connection.connector,
    ...dropUndefined({ display_name: source.connection.label }),
    fields: source.stream.fields.map(({ name }) => name),
    records: store.count(source),
  }))
  if (json) {
    printJson(rows)
    return 0
  }
  for (const row of rows) print(toRow(row.id, row.connector_key, count(row.records, 'record')))
  const connectedStreams = new Set(
    store.sources.map(({ stream }) => `${stream.connector}/${stream.name}`),
  )
  for (const { name, connector } of store.streams)
    if (!connectedStreams.has(`${connector}/${name}`))
      print(toRow(name, connector, 'declared, without a connection yet'))
  return 0
}

const toRow = (id: string, connector: string, status: string): string =>
  `${id.padEnd(40)} ${connector.padEnd(16)} ${status}`

/** Declares streams without importing, for records that will arrive over HTTP. */
async function declareStreams({ file, streams = file, store: storeFile, connector }: Flags) {
  if (streams === undefined)
    throw new UsageError('Name a declaration: drawbridge records declare streams.yaml')
  const streamsByName = await readStreams(streams, connector)
  return withNewOwnerStore(storeFile, (store) => {
    for (const [, stream] of streamsByName)
      for (const one of redeclareStream(store, stream, streams)) printMessage(toLine(one))
    print(`Declared: ${[...streamsByName.keys()].join(', ')}`)
    return 0
  })
}

async function importInto({ file, connection, streams, ...rest }: Flags): Promise<number> {
  if (file === undefined || connection === undefined)
    throw new UsageError(
      'Name a file and a connection: drawbridge records import FILE --connection ID',
    )
  await checkReadable(file)
  const declaration =
    streams === undefined
      ? undefined
      : { file: streams, streams: [...(await readStreams(streams, rest.connector)).values()] }
  const flags = { ...rest, file, connection, declaration }
  // Find the stream before a new store is created, so that a wrong --stream leaves no file behind.
  if (!existsSync(rest.store)) findStream(flags.declaration?.streams ?? [], flags)
  return withNewOwnerStore(rest.store, (store) => importFile(store, flags))
}
