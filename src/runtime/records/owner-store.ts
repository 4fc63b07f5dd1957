import { existsSync } from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import type { Connection, Stream } from '../../sources/records/model/stream.ts'
import { BackgroundWriter } from '../../storage/records/writing/background-writer.ts'
import { RecordWriter } from '../../storage/records/writing/record-writer.ts'

export {
  type GrantPackage,
  type OwnerToken,
  type StreamTerms,
  toGrantStatus,
  toOwnerTokenStatus,
} from '../../sources/records/grants/grant.ts'
export { findPart } from '../../sources/records/import/export-part.ts'
export { inferStream } from '../../sources/records/import/infer-stream.ts'
export { isTable, readLines } from '../../sources/records/import/read-lines.ts'
export { typeColumns } from '../../sources/records/import/type-columns.ts'
export type { TypeMismatch } from '../../sources/records/import/type-mismatches.ts'
export { toMilliseconds } from '../../sources/records/model/to-comparable.ts'
export { checkReadable, toWriteError } from '../file-errors.ts'
export { holdsRecords, importNothing } from './import-nothing.ts'
export { importRecords } from './import-records.ts'
export {
  createGrant,
  createOwner,
  issueToken,
  tokenPrefix,
  type WantedTerms,
} from './issue-tokens.ts'
export { readStreams } from './read-streams.ts'
export { redeclareStreams } from './redeclare-streams.ts'
export { BackgroundWriter, type RecordWriter, type Stream }

/** The store as its owner opens it; a new one only where something will be put in. */
export function openOwnerStore(file: string, mayBeNew: boolean): RecordWriter {
  if (!mayBeNew && !existsSync(file))
    throw new SetupError(`There is no store ${file}. "drawbridge records import" makes one.`)
  return new RecordWriter(file, Date.now)
}

/** The connection of an import: as it is known, or a new one. */
export function toConnection(
  writer: RecordWriter,
  { id, connector, label }: { id: string; connector: string; label: string | undefined },
): Connection {
  const known = writer.sources.find(({ connection }) => connection.id === id)?.connection
  if (known && known.connector !== connector)
    throw new SetupError(
      `${id} is a connection of ${known.connector}, and this stream is one of ${connector}.`,
    )
  return { id, connector, ...(label !== undefined && { label }) }
}
