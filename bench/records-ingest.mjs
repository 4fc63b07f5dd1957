import { readFile, rm, writeFile } from 'node:fs/promises'
import { importRecords } from '../dist/runtime/records/import-records.js'
import { RecordWriter } from '../dist/storage/records/writing/record-writer.js'
import { createRandom, createRecord, streams } from './records-data.mjs'
import { createLoader, openDriver } from './records-floor.mjs'
import { busyBlock, cleanUp, longestBlock, quantile } from './records-measure.mjs'
import { removeStore, toFile } from './records-store.mjs'

const records = 60_000
const rounds = 5
const stream = streams.get('messages')

/** The same file into a new store, by hand and as an import does it, taking turns. */
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
      for (const who of ['floor', 'ours', 'blocks']) {
        const file = toFile(`records-${who}`)
        const writer = new RecordWriter(file, Date.now)
        writer.declare(stream)
        const source = writer.open(stream, { id: 'work', connector: 'mail' })
        const load = who === 'floor' ? byHand : asImport
        const work = () => load({ file, writer, source, lines })
        await cleanUp('major')
        const before = process.cpuUsage()
        // Looking for blocks costs time of its own: that is another run.
        if (who === 'blocks') blocks.push(await longestBlock(work))
        else {
          await work()
          const { user, system } = process.cpuUsage(before)
          rates[who].push((records / (user + system)) * 1e6)
        }
        if (writer.count(source) !== records) throw new Error('not all records are there')
        writer.close()
        await removeStore(file)
      }
  } finally {
    await rm(lines, { force: true })
  }
  const [floor, ours] = [quantile(rates.floor, 0.5), quantile(rates.ours, 0.5)]
  const longest = quantile(blocks, 0.5)
  console.error(
    `a loop beside a thread that only counts waits up to ${(await busyBlock(3000)).toFixed(1)} ms`,
  )
  return [
    {
      what: 'ingest, records per second of CPU',
      floor,
      ours,
      ratio: ours / floor,
      asked: 0.7,
      atLeast: true,
      unit: '/s',
    },
    { what: 'loop blocked by an import', ours: longest, ratio: longest, asked: 20 },
  ]
}

async function byHand({ file, source, lines }) {
  const driver = openDriver(file)
  driver.exec('pragma synchronous = normal')
  driver.exec('pragma cache_size = -65536')
  const load = createLoader(driver, source)
  const all = (await readFile(lines, 'utf8')).split('\n')
  for (let at = 0; at < all.length; at += 1000) load(all.slice(at, at + 1000))
  driver.close()
}

async function asImport({ file, writer, source, lines }) {
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
