// What reading and writing records costs, in ratios to hand-written SQL on the same driver and file.
import { parseArgs } from 'node:util'
import { measureGrowth } from './records-growth.mjs'
import { measureIngest } from './records-ingest.mjs'
import { idleBlock, printTable } from './records-measure.mjs'
import { measureReads } from './records-reads.mjs'
import { measureStdio } from './records-stdio.mjs'
import { fillStore, giveGrants, removeStore, toFile } from './records-store.mjs'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    growth: { type: 'boolean', default: false },
    only: { type: 'string' },
    store: { type: 'string' },
    peer: { type: 'string' },
  },
})
const records = Number(values.records)
const isWanted = (part) => values.only === undefined || values.only === part
const file = values.store ?? toFile('records')

try {
  const began = performance.now()
  fillStore(file, records)
  const grants = giveGrants(file)
  console.error(
    `${records.toLocaleString('en')} records in ${((performance.now() - began) / 1000).toFixed(0)} s; Node ${process.version}`,
  )
  console.error(`a loop that does nothing waits up to ${(await idleBlock(2000)).toFixed(1)} ms`)
  const rows = []
  if (isWanted('reads')) rows.push(...(await measureReads(file, grants)))
  if (isWanted('stdio')) rows.push(...(await measureStdio(file, grants, values.peer)))
  if (isWanted('ingest')) rows.push(...(await measureIngest()))
  if (values.growth) rows.push(...(await measureGrowth()))
  printTable(rows)
} finally {
  if (values.store === undefined) await removeStore(file)
}
