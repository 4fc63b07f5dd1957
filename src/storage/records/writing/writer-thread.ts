import { parentPort, workerData } from 'node:worker_threads'
import { SetupError } from '../../../capability/setup-error.ts'
import type { Task, TaskResult, Tasks } from './background-writer.ts'
import { digestFile, FileImport } from './file-import.ts'
import { fitEntries } from './fit-entries.ts'
import { RecordWriter } from './record-writer.ts'

/** Runs on a thread of its own, for one `BackgroundWriter`: it may wait for the disk and for others. */
const port = parentPort
const writer = new RecordWriter(String(workerData), Date.now)
const imports = new Map<number, FileImport>()

const work: { [Name in keyof Tasks]: (given: Tasks[Name]['given']) => Tasks[Name]['result'] } = {
  write({ source, entries, layout }) {
    const present = writer.find(source)
    return writer.write(present, fitEntries(entries, layout, present.stream))
  },
  open: ({ stream, connection }) => writer.open(stream, connection),
  keep: ({ blob, binding }) => writer.keep(blob, binding),
  digest: (file) => digestFile(file),
  begin({ id, source, ...file }) {
    imports.set(id, new FileImport(writer, writer.find(source), file))
  },
  load({ id, now }) {
    const begun = imports.get(id)
    if (!begun) throw new Error(`There is no import ${id}.`)
    return begun.next(now)
  },
  end(id) {
    imports.get(id)?.close()
    imports.delete(id)
  },
}

port?.on('message', (task: Task | undefined) => {
  if (task) return port.postMessage(toResult(task))
  for (const begun of imports.values()) begun.close()
  writer.close()
  port.close()
})

function toResult({ name, given }: Task): TaskResult {
  try {
    return { result: work[name](given as never) }
  } catch (error) {
    return { failure: (error as Error).message, isSetup: error instanceof SetupError }
  }
}
