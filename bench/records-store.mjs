import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import {
  connections,
  countRecords,
  createRandom,
  createRecord,
  grantedFields,
  streamNames,
  streams,
} from './records-data.mjs'
import { importSource } from './sources.mjs'

const { createGrant } = await importSource('sources/records/grants/issue-tokens')
const { toRecordEntry } = await importSource('sources/records/import/to-entry')
const { RecordWriter } = await importSource('storage/records/writing/record-writer')

export const emittedAt = '2026-06-01T00:00:00.000Z'
const batchSize = 1000

export const toFile = (name) => path.join(os.tmpdir(), `drawbridge-${name}-${process.pid}.db`)

export const removeStore = async (file) => {
  for (const suffix of ['', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true })
}

/** Fills a store stream by stream, like an import. An existing store is used without changes. */
export function fillStore(file, records) {
  if (existsSync(file)) return
  const random = createRandom(6)
  const writer = new RecordWriter(file, Date.now)
  for (const name of streamNames) {
    const stream = streams.get(name)
    writer.declare(stream)
    for (const connection of connections) {
      const source = writer.open(stream, { id: connection, connector: 'mail' })
      const size = countRecords(connection, name, records)
      for (let at = 0; at < size; at += batchSize) {
        const length = Math.min(batchSize, size - at)
        writer.write(
          source,
          Array.from({ length }, (_, n) =>
            toRecordEntry(stream, createRecord(random, `${name}-${at + n}`), emittedAt),
          ),
        )
      }
    }
  }
  writer.close()
}

/** A grant for all sources, and the same with a time range. */
export function createGrants(file) {
  const writer = new RecordWriter(file, Date.now)
  const grant = (terms) =>
    createGrant(
      writer,
      {
        client: 'bench',
        mode: 'continuous',
        streams: streamNames.map((stream) => ({ stream, fields: grantedFields, ...terms })),
      },
      Date.now(),
    )
  const grants = { unlimited: grant({}), since: grant({ since }) }
  writer.close()
  return grants
}

export const since = '2017-01-01T00:00:00Z'
