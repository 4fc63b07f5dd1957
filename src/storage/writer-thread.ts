import { parentPort, workerData } from 'node:worker_threads'
import type { Stream } from '../sources/records/model.ts'
import { type Entry, toEntry } from '../sources/records/to-entry.ts'
import type { Task, TaskResult } from './background-writer.ts'
import { fitEntries } from './fit-entries.ts'
import { RecordWriter } from './record-writer.ts'

/** Runs on a thread of its own, for one `BackgroundWriter`. */
const port = parentPort
const writer = new RecordWriter(String(workerData), Date.now)

port?.on('message', (task: Task | undefined) => {
  if (!task) {
    writer.close()
    port.close()
    return
  }
  port.postMessage(toResult(task))
})

function toResult({ source: n, content, layout = '', now, place }: Task): TaskResult {
  try {
    const source = writer.sources.find((one) => one.n === n)
    if (!source) return { failure: `There is no source ${n}.` }
    const faults: [number, string][] = []
    const entries =
      typeof content === 'string'
        ? toEntries(source.stream, content, now, faults)
        : fitEntries(content, layout, source.stream)
    return { written: writer.write(source, entries, place), faults }
  } catch (error) {
    return { failure: (error as Error).message }
  }
}

function toEntries(
  stream: Stream,
  lines: string,
  now: number,
  faults: [number, string][],
): readonly Entry[] {
  const at = new Date(now).toISOString()
  const texts = lines === '' ? [] : lines.split('\n')
  return texts.flatMap((text, index) => {
    const entry = readEntry(stream, text, at)
    if (typeof entry !== 'string') return [entry]
    faults.push([index, entry])
    return []
  })
}

function readEntry(stream: Stream, text: string, at: string): Entry | string {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch (error) {
    return `it is no JSON: ${(error as Error).message}`
  }
  return toEntry(stream, line, at)
}
