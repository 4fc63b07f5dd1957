import {
  BackgroundWriter,
  findPart,
  holdsRecords,
  importNothing,
  importRecords,
  type RecordWriter,
  redeclareStreams,
  type Stream,
  type TypeMismatch,
  toConnection,
} from '../../runtime/records/owner-store.ts'
import { count, print, printJson, say, toLine } from '../terminal/print.ts'
import { createProgressBar } from '../terminal/progress.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface ImportOptions {
  readonly file: string
  readonly store: string
  /** The connection. */
  readonly id: string
  /** Of a file that declares them, with its name. */
  readonly declared?: { readonly file: string; readonly streams: readonly Stream[] }
  readonly stream?: string | undefined
  readonly connector?: string | undefined
  readonly label?: string | undefined
  readonly again?: boolean | undefined
  readonly json?: boolean | undefined
}

export async function importFile(writer: RecordWriter, options: ImportOptions): Promise<number> {
  const { id, file, declared, json } = options
  const stream = findStream(declared?.streams ?? writer.streams, options)
  if (declared) for (const one of redeclareStreams(writer, stream, declared.file)) say(toLine(one))
  const imported = await take(writer, stream, options)
  if (!imported) return interruptedExitCode
  const { added, changed, removed, same, skipped, others, rejected, aside, misfits = [] } = imported
  for (const misfit of misfits) say(toMisfitLine(file, misfit))
  if (json) printJson({ stream: stream.name, connection_id: id, ...imported })
  else
    print(
      `${stream.name} of ${id}: ${added} added, ${changed} changed, ${removed} removed, ${same} unchanged${skipped > 0 ? `, ${count(skipped, 'line')} taken before (--again takes them once more)` : ''}${others > 0 ? `, ${count(others, 'line')} of other streams or connections left out` : ''}${rejected > 0 ? `, ${count(rejected, 'line')} set aside in ${aside}` : ''}`,
    )
  if (!hasSource(writer, stream, id))
    say(`${id} was not made: ${file} has nothing for ${stream.name}.`)
  return rejected > 0 ? 1 : 0
}

const toMisfitLine = (file: string, { field, type, count: times, line }: TypeMismatch): string =>
  `${file}:${line} ${field} is no ${type}${times > 1 ? `, nor in ${count(times - 1, 'later record')}` : ''}: it is kept and shown, but no filter, order, time range or sum finds it`

async function take(writer: RecordWriter, stream: Stream, options: ImportOptions) {
  const { file, store, id, label, again } = options
  const connection = toConnection(writer, { id, connector: stream.connector, label })
  const part = findPart(file, { stream: stream.name, connection: id })
  const onRejected = (line: number, fault: string) => say(`${file}:${line} is set aside: ${fault}`)
  // One that is new may be mistyped, and would be there for good.
  if (!hasSource(writer, stream, id) && !holdsRecords(file, stream, Date.now()))
    return importNothing({ file, stream, now: Date.now(), onRejected })
  const background = new BackgroundWriter(store)
  const progress = createProgressBar(file)
  let stop = () => {}
  const interruption = new Promise<undefined>((resolve) => {
    stop = () => {
      progress.end()
      say('Stopped. The lines imported so far are in the store; run the same command to continue.')
      resolve(undefined)
    }
  })
  process.once('SIGINT', stop)
  try {
    const imported = importRecords({
      writer,
      background,
      source: writer.open(stream, connection),
      file,
      part,
      again,
      now: Date.now,
      onProgress: progress.show,
      onRejected,
    })
    return await Promise.race([imported, interruption])
  } finally {
    process.off('SIGINT', stop)
    progress.end()
    await background.close()
  }
}

/** Shell convention: 128 plus the signal number. */
const interruptedExitCode = 130

const hasSource = (writer: RecordWriter, { name, connector }: Stream, id: string): boolean =>
  writer.sources.some(
    ({ connection, stream }) =>
      connection.id === id && stream.name === name && stream.connector === connector,
  )

/** The one that is meant, of those that are declared. */
export function findStream(
  streams: readonly Stream[],
  { stream: name, connector, declared }: ImportOptions,
): Stream {
  const meant = streams.filter(
    (one) => (name ?? one.name) === one.name && (connector ?? one.connector) === one.connector,
  )
  const [stream, ...others] = meant
  if (stream && others.length === 0) return stream
  const known = streams.map((one) => one.name).join(', ') || 'none'
  if (stream) throw new UsageError(`Say which stream with --stream. There is: ${known}`)
  throw new UsageError(
    declared === undefined
      ? `The store declares no such stream. Declare it: --streams streams.yaml ("drawbridge records streams FILE" drafts one). There is: ${known}`
      : `${declared.file} declares no stream ${name ?? ''}. There is: ${known}`,
  )
}
