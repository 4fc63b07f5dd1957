import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createGrant } from '../dist/sources/records/grants/issue-tokens.js'
import { toEntry } from '../dist/sources/records/import/to-entry.js'
import { RecordWriter } from '../dist/storage/records/writing/record-writer.js'
import {
  connections,
  createRandom,
  createRecord,
  grantedFields,
  sizeOf,
  streamNames,
  streams,
} from './records-data.mjs'

export const emittedAt = '2026-06-01T00:00:00.000Z'
const batchSize = 1000

export const toFile = (name) => path.join(os.tmpdir(), `drawbridge-${name}-${process.pid}.db`)

export const removeStore = async (file) => {
  for (const ending of ['', '-wal', '-shm']) await rm(`${file}${ending}`, { force: true })
}

/** Fills a store as an import does, stream after stream; one that is there already is taken as it is. */
export function fillStore(file, records) {
  if (existsSync(file)) return
  const random = createRandom(6)
  const writer = new RecordWriter(file, Date.now)
  for (const name of streamNames) {
    const stream = streams.get(name)
    writer.declare(stream)
    for (const connection of connections) {
      const source = writer.open(stream, { id: connection, connector: 'mail' })
      const size = sizeOf(connection, name, records)
      for (let at = 0; at < size; at += batchSize) {
        const length = Math.min(batchSize, size - at)
        writer.write(
          source,
          Array.from({ length }, (_, n) =>
            toEntry(stream, createRecord(random, `${name}-${at + n}`), emittedAt),
          ),
        )
      }
    }
  }
  writer.close()
}

/** A grant over all sources, and the same with a time range. */
export function giveGrants(file) {
  const writer = new RecordWriter(file, Date.now)
  const give = (terms) =>
    createGrant(
      writer,
      {
        client: 'bench',
        mode: 'continuous',
        streams: streamNames.map((stream) => ({ stream, fields: grantedFields, ...terms })),
      },
      Date.now(),
    )
  const grants = { whole: give({}), since: give({ since }) }
  writer.close()
  return grants
}

export const since = '2017-01-01T00:00:00Z'
