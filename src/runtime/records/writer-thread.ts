import { parentPort, workerData } from 'node:worker_threads'
import { SetupError } from '../../capability/setup-error.ts'
import { digestFile, FileImport } from '../../sources/records/import/file-import.ts'
import { fitEntries } from '../../storage/records/writing/fit-entries.ts'
import { RecordWriter } from '../../storage/records/writing/record-writer.ts'
import type { Task, TaskResult, Tasks } from './background-writer.ts'

/** The worker thread of one `BackgroundWriter`: it may block on the disk and on the write lock. */
const port = parentPort
const writer = new RecordWriter(String(workerData), Date.now)
const imports = new Map<number, FileImport>()

const handlers: {
  [Name in keyof Tasks]: (input: Tasks[Name]['input']) => Tasks[Name]['result']
} = {
  write({ source: n, entries, layout }) {
    const source = writer.find(n)
    return writer.write(source, fitEntries(entries, layout, source.stream))
  },
  open: ({ stream, connection }) => writer.open(stream, connection),
  storeBlob: ({ blob, binding }) => writer.storeBlob(blob, binding),
  digest: (file) => digestFile(file),
  begin({ id, source, ...file }) {
    imports.set(id, new FileImport(writer, writer.find(source), file))
  },
  load({ id, now }) {
    const fileImport = imports.get(id)
    if (!fileImport) throw new Error(`Unknown import ${id}.`)
    return fileImport.next(now)
  },
  end(id) {
    imports.get(id)?.close()
    imports.delete(id)
  },
}

port?.on('message', (task: Task | undefined) => {
  if (task) return port.postMessage(toResult(task))
  for (const fileImport of imports.values()) fileImport.close()
  writer.close()
  port.close()
})

function toResult({ name, input }: Task): TaskResult {
  try {
    return { result: handlers[name](input as never) }
  } catch (error) {
    return { fault: (error as Error).message, isSetup: error instanceof SetupError }
  }
}
