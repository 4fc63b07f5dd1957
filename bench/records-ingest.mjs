import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRandom, createRecord, streams } from './records-data.mjs'
import { createLoader, openDriver } from './records-floor.mjs'
import {
  collectGarbage,
  measureBusyBlock,
  measureLongestBlock,
  quantile,
} from './records-measure.mjs'
import { removeStore, toFile } from './records-store.mjs'
import { importSource } from './sources.mjs'

const { importRecords } = await importSource('runtime/records/import-records')
const { RecordWriter } = await importSource('storage/records/writing/record-writer')

const records = 60_000
const rounds = 5
const stream = streams.get('messages')

/** Loads the same file into a new store with the minimal loader and with an import, interleaved. */
export async function measureIngest() {
  const lines = toFile('records-lines').replace(/db$/, 'ndjson')
  const random = createRandom(7)
  await writeFile(
    lines,
    Array.from({ length: records }, (_, n) => JSON.stringify(createRecord(random, `m-${n}`))).join(
      '\n',
    ),
  )
  const rates = { floor: [], ours: [] }
  const blocks = []
  try {
    for (let round = 0; round < rounds; round++)
      for (const contestant of ['floor', 'ours', 'blocks']) {
        const file = toFile(`records-${contestant}`)
        const writer = new RecordWriter(file, Date.now)
        writer.declare(stream)
        const source = writer.open(stream, { id: 'work', connector: 'mail' })
        const load = contestant === 'floor' ? loadMinimally : loadByImport
        const work = () => load({ file, writer, source, lines })
        await collectGarbage('major')
        const cpuBefore = process.cpuUsage()
        // Measuring blocks costs CPU time, so it has a run of its own.
        if (contestant === 'blocks') blocks.push(await measureLongestBlock(work))
        else {
          await work()
          const { user, system } = process.cpuUsage(cpuBefore)
          rates[contestant].push((records / (user + system)) * 1e6)
        }
        if (writer.count(source) !== records) throw new Error('Not all records were imported.')
        writer.close()
        await removeStore(file)
      }
  } finally {
    await rm(lines, { force: true })
  }
  const [floor, ours] = [quantile(rates.floor, 0.5), quantile(rates.ours, 0.5)]
  const longestMs = quantile(blocks, 0.5)
  console.error(
    `an idle event loop beside a busy thread is blocked up to ${(await measureBusyBlock(3000)).toFixed(1)} ms`,
  )
  return [
    {
      title: 'ingest, records per second of CPU',
      floor,
      ours,
      ratio: ours / floor,
      target: 0.7,
      atLeast: true,
      unit: '/s',
    },
    { title: 'longest block by an import', ours: longestMs, ratio: longestMs, target: 20 },
  ]
}

async function loadMinimally({ file, source, lines }) {
  const driver = openDriver(file)
  driver.exec('pragma synchronous = normal')
  driver.exec('pragma cache_size = -65536')
  const load = createLoader(driver, source)
  const allLines = (await readFile(lines, 'utf8')).split('\n')
  for (let at = 0; at < allLines.length; at += 1000) load(allLines.slice(at, at + 1000))
  driver.close()
}

async function loadByImport({ file, writer, source, lines }) {
  await importRecords({
    writer,
    store: file,
    source,
    file: lines,
    now: Date.now,
    onProgress: () => {},
    onRejected: (line, fault) => {
      throw new Error(`${line}: ${fault}`)
    },
  })
}
