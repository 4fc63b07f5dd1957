import { openOwnerStore, type RecordWriter } from '../../runtime/records/owner-store.ts'

/** For verbs that work on the records of a store that is there. */
export async function withOwnerStore(
  file: string,
  work: (writer: RecordWriter) => number | Promise<number>,
): Promise<number> {
  return withWriter(openOwnerStore(file, false), work)
}

/** The same where something will be put in: the store is made when it is new. */
export async function withNewOwnerStore(
  file: string,
  work: (writer: RecordWriter) => number | Promise<number>,
): Promise<number> {
  return withWriter(openOwnerStore(file, true), work)
}

async function withWriter(
  writer: RecordWriter,
  work: (writer: RecordWriter) => number | Promise<number>,
): Promise<number> {
  try {
    return await work(writer)
  } finally {
    writer.close()
  }
}
