import { parentPort, workerData } from 'node:worker_threads'
import { DamageError } from '../../../capability/storage-error.ts'
import { readSecret, toCompanionFile } from '../../companion-files.ts'
import { openReadOnly, type Sqlite } from '../../sqlite/sqlite.ts'
import { checkLedger } from '../damage/check-ledger.ts'
import { readKeyHashes } from '../damage/seen-keys.ts'
import { readWitness } from '../damage/witness.ts'
import { RowSeals } from '../seals/row-seals.ts'
import type { CheckMessage, CheckTask } from './background-check.ts'

const { file, checksRows } = workerData as CheckTask

/** Progress is reported this often, in rows. */
const reportInterval = 1000

post(check())

/** Changes no byte of the file. */
function check(): CheckMessage {
  try {
    const seals = new RowSeals(readSecret(toCompanionFile(file, 'key')) ?? '')
    const witness = readWitness(toCompanionFile(file, 'witness'), seals)
    const database = openReadOnly(file)
    try {
      if (checksRows) checkLedger(database, seals, witness, toReporter(countRows(database)))
      for (const hashes of readKeyHashes(database)) post({ kind: 'keys', hashes })
    } finally {
      database.close()
    }
    return { kind: 'sound' }
  } catch (error) {
    const { message } = error as Error
    return { kind: error instanceof DamageError ? 'damaged' : 'failed', message }
  }
}

function post(message: CheckMessage): void {
  parentPort?.postMessage(message)
}

function countRows(database: Sqlite): number {
  const row = database
    .prepare<{ count: number }>(
      `select cast((select count(*) from runs) + (select count(*) from approvals)
         + (select count(*) from spending) as integer) as count`,
    )
    .get()
  return Math.max(1, row?.count ?? 0)
}

/** Called for each row. */
function toReporter(total: number): () => void {
  let done = 0
  return () => {
    if (++done % reportInterval === 0) post({ kind: 'progress', share: Math.min(1, done / total) })
  }
}
