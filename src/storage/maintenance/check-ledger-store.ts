import { DamageError } from '../../capability/storage-error.ts'
import { readSecret, toCompanionFile } from '../companion-files.ts'
import { ChainTable } from '../ledger/chain/chain-table.ts'
import { checkLedger } from '../ledger/damage/check-ledger.ts'
import { verifyLedger } from '../ledger/damage/verify-ledger.ts'
import { readWitness } from '../ledger/damage/witness.ts'
import { latestVersion, readVersion } from '../ledger/ledger-schema.ts'
import { RowSeals } from '../ledger/seals/row-seals.ts'
import { toChainKey } from '../ledger/seals/seal.ts'
import { openReadOnly, type Sqlite } from '../sqlite/sqlite.ts'
import type { Finding } from './check-files.ts'

/** Compares a ledger with its seals, its witness and its chains. Throws for damage of the file itself. */
export function* checkLedgerStore(file: string): Generator<Finding> {
  const secret = readSecret(toCompanionFile(file, 'key'))
  const seals = new RowSeals(secret ?? '')
  const witness = readWitness(toCompanionFile(file, 'witness'), seals)
  const database = openReadOnly(file)
  try {
    const version = readVersion(database)
    if (version < latestVersion) return yield* checkFormer(database, file, version)
    if (version > latestVersion)
      throw new DamageError(`it was written by a later version of Drawbridge (schema ${version})`)
    if (secret === undefined)
      throw new DamageError(`its key file ${toCompanionFile(file, 'key')} is missing`)
    checkLedger(database, seals, witness)
    const key = toChainKey(secret)
    const audit = new ChainTable(database, 'audit', key)
    const events = new ChainTable(database, 'execution_events', key)
    for (const { name } of [audit, events]) {
      const { broken } = verifyLedger({ audit, events, secret, witness }, name)
      if (broken)
        yield {
          severity: 'error',
          where: name,
          message: `record ${broken.number}: ${broken.reason}`,
          next: `Run "drawbridge ${name === 'audit' ? 'audit' : 'executions'} --verify", and compare with a backup or with checkpoints.`,
        }
    }
  } finally {
    database.close()
  }
}

function* checkFormer(database: Sqlite, file: string, version: number): Generator<Finding> {
  const [problem] = database.prepare<{ quick_check: string }>('pragma quick_check(1)').all()
  if (problem?.quick_check !== 'ok') throw new DamageError(problem?.quick_check ?? 'no answer')
  yield {
    severity: 'warning',
    where: file,
    message: `it has the schema ${version} of an earlier version, without seals`,
    next: '"drawbridge serve" migrates it.',
  }
}
