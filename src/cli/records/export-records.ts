import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type RecordWriter, toWriteError } from '../../runtime/records/owner-store.ts'
import { output } from '../terminal/print.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface ExportOptions {
  readonly file?: string | undefined
  readonly stream?: string | undefined
  readonly connection?: string | undefined
}

/** Every record as a line that "import" takes again. */
export async function exportRecords(
  writer: RecordWriter,
  { file, stream, connection }: ExportOptions,
): Promise<number> {
  const sources = writer.sources.filter(
    (one) =>
      (stream ?? one.stream.name) === one.stream.name &&
      (connection ?? one.connection.id) === one.connection.id,
  )
  if (sources.length === 0) throw new UsageError('There is nothing of that name in the store.')
  const lines = Readable.from(toChunks(writer, sources))
  try {
    if (file === undefined) await pipeline(lines, output, { end: false })
    else await pipeline(lines, (await openForOwner(file)).createWriteStream())
  } catch (error) {
    const trouble = error as NodeJS.ErrnoException
    // Whoever reads along has seen enough, as `head` has.
    if (file === undefined && trouble.code === 'EPIPE') return 0
    throw toWriteError(file ?? 'The output', trouble)
  }
  return 0
}

/** Nobody else reads what was private in the store. */
const openForOwner = (file: string): Promise<FileHandle> => open(file, 'w', 0o600)

const chunkLength = 64 * 1024

function* toChunks(writer: RecordWriter, sources: RecordWriter['sources']): Generator<string> {
  let chunk = ''
  for (const source of sources)
    for (const { key, at, body } of writer.export(source)) {
      const head = {
        object: 'record',
        id: key,
        stream: source.stream.name,
        connection_id: source.connection.id,
        emitted_at: at,
      }
      chunk += `${JSON.stringify(head).slice(0, -1)},"data":${body}}\n`
      if (chunk.length < chunkLength) continue
      yield chunk
      chunk = ''
    }
  if (chunk !== '') yield chunk
}
