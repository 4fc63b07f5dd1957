import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { toWriteError } from '../../runtime/file-errors.ts'
import type { OwnerStore } from '../../runtime/records/owner-store.ts'
import { output } from '../terminal/print.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface ExportFlags {
  readonly file?: string | undefined
  readonly stream?: string | undefined
  readonly connection?: string | undefined
}

/** Writes every record as an NDJSON line that "import" accepts. */
export async function exportRecords(
  store: OwnerStore,
  { file, stream, connection }: ExportFlags,
): Promise<number> {
  const sources = store.sources.filter(
    (one) =>
      (stream ?? one.stream.name) === one.stream.name &&
      (connection ?? one.connection.id) === one.connection.id,
  )
  if (sources.length === 0)
    throw new UsageError(
      'The store has no such stream or connection. "drawbridge records" lists them.',
    )
  const lines = Readable.from(toChunks(store, sources))
  try {
    if (file === undefined) await pipeline(lines, output, { end: false })
    else await pipeline(lines, (await openPrivately(file)).createWriteStream())
  } catch (error) {
    const systemError = error as NodeJS.ErrnoException
    // EPIPE: the reader of the pipe, such as `head`, has closed it.
    if (file === undefined && systemError.code === 'EPIPE') return 0
    throw toWriteError(file ?? 'The output', systemError)
  }
  return 0
}

/** The records are private: only the user may read the exported file. */
const openPrivately = (file: string): Promise<FileHandle> => open(file, 'w', 0o600)

const chunkLength = 64 * 1024

function* toChunks(store: OwnerStore, sources: OwnerStore['sources']): Generator<string> {
  let chunk = ''
  for (const source of sources)
    for (const { key, at, body } of store.export(source)) {
      const head = {
        object: 'record',
        id: key,
        stream: source.stream.name,
        connection_id: source.connection.id,
        emitted_at: at,
      }
      // The body is JSON text already: splice it in instead of parsing it.
      chunk += `${JSON.stringify(head).slice(0, -1)},"data":${body}}\n`
      if (chunk.length < chunkLength) continue
      yield chunk
      chunk = ''
    }
  if (chunk !== '') yield chunk
}
