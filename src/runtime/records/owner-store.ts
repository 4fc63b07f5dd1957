import { existsSync } from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import { RecordWriter } from '../../storage/records/writing/record-writer.ts'

/** A records store with everything its owner may do. */
export type OwnerStore = RecordWriter

/** Opens a records store for its owner. Only verbs that write may create a new file. */
export function openOwnerStore(file: string, mayCreate: boolean): OwnerStore {
  if (!mayCreate && !existsSync(file))
    throw new SetupError(`There is no store ${file}. "drawbridge records import" creates one.`)
  return new RecordWriter(file, Date.now)
}
