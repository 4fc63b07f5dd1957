// Cost of reading and writing records, as ratios to hand-written SQL on the same driver and file.
import { parseArgs } from 'node:util'
import { measureGrowth } from './records-growth.mjs'
import { measureIngest } from './records-ingest.mjs'
import { measureIdleBlock, printTable } from './records-measure.mjs'
import { measureReads } from './records-reads.mjs'
import { measureStdio } from './records-stdio.mjs'
import { createGrants, fillStore, removeStore, toFile } from './records-store.mjs'

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
const isSelected = (part) => values.only === undefined || values.only === part
const file = values.store ?? toFile('records')

try {
  const startedAt = performance.now()
  fillStore(file, records)
  const grants = createGrants(file)
  console.error(
    `${records.toLocaleString('en')} records in ${((performance.now() - startedAt) / 1000).toFixed(0)} s; Node ${process.version}`,
  )
  console.error(
    `an idle event loop is blocked up to ${(await measureIdleBlock(2000)).toFixed(1)} ms`,
  )
  const rows = []
  if (isSelected('reads')) rows.push(...(await measureReads(file, grants)))
  if (isSelected('stdio')) rows.push(...(await measureStdio(file, grants, values.peer)))
  if (isSelected('ingest')) rows.push(...(await measureIngest()))
  if (values.growth) rows.push(...(await measureGrowth()))
  printTable(rows)
} finally {
  if (values.store === undefined) await removeStore(file)
}
