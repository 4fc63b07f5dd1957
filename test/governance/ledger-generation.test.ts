import {
  copyFileSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { toCompanionFile } from '../../src/storage/companion-files.ts'
import { startGeneration } from '../../src/storage/ledger/damage/start-generation.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aProject } from '../support/a-project.ts'
import { aLedger } from '../support/builders.ts'

const aFile = async () => path.join(await aProject({}), 'ledger.db')

async function charge(file: string): Promise<void> {
  const ledger = aLedger(file)
  await ledger.write((writer) => writer.charge('a', 'w', 1))
  await ledger.close()
}

test('an older copy is damage until a new generation accepts it', async () => {
  const file = await aFile()
  await charge(file)
  copyFileSync(file, `${file}.backup`)
  await charge(file)
  copyFileSync(`${file}.backup`, file)
  const { damage } = aLedger(file)

  const { generation } = startGeneration(file, { event: 'restored', by: 'ann', at: 1 })

  const ledger = aLedger(file)
  expect(damage?.message).toContain('was acknowledged')
  expect({ generation, damage: ledger.damage }).toEqual({ generation: 2, damage: undefined })
  expect(ledger.read.spent('a', 'w')).toBe(1)
  expect([...ledger.audit.records(0)].at(-1)?.entry).toMatchObject({ event: 'restored', by: 'ann' })
  await ledger.close()
})

test('a row edited with a SQL client, and a lost witness, key or database, are damage', async () => {
  const damages: Record<string, (file: string) => void> = {
    edited: (file) => {
      const database = openSqlite(file)
      database.exec('update spending set spent = 0')
      database.close()
    },
    deleted: (file) => {
      const database = openSqlite(file)
      database.exec('delete from spending')
      database.close()
    },
    witness: (file) => rmSync(toCompanionFile(file, 'witness')),
    key: (file) => rmSync(toCompanionFile(file, 'key')),
    database: (file) => rmSync(file),
  }
  for (const [name, damage] of Object.entries(damages)) {
    const file = await aFile()
    await charge(file)
    damage(file)
    const ledger = aLedger(file)
    expect(ledger.damage?.message, name).toContain('drawbridge store check')
    expect(() => ledger.read.spent('a', 'w'), name).toThrow(/damaged/)
    await ledger.close()
  }
})

test('rows deleted while the ledger is open, or from a file whose time is set back, are damage', async () => {
  const file = await aFile()
  await charge(file)
  const deleteRows = (then = '') => {
    const database = openSqlite(file)
    database.exec(`delete from spending; ${then}`)
    database.close()
  }
  const copies = ['', '.key', '.witness'].map((suffix) => file + suffix)
  for (const copy of copies) copyFileSync(copy, `${copy}.backup`)
  const { atime, mtime } = statSync(file)

  deleteRows('pragma wal_checkpoint(truncate)')
  utimesSync(file, atime, mtime)
  const timeSetBack = aLedger(file)
  await timeSetBack.close()

  for (const copy of copies) copyFileSync(`${copy}.backup`, copy)
  const open = aLedger(file)
  deleteRows()
  await open.close()
  const nextStart = aLedger(file)
  await nextStart.close()

  for (const { damage } of [timeSetBack, nextStart])
    expect(damage?.message).toContain('rows of runs, approvals or spending are missing')
})

test('a row that is deleted through a symbolic link to the store, or with a forged witness, is damage', async () => {
  const file = await aFile()
  await charge(file)
  const link = `${file}.link`
  symlinkSync(file, link)
  for (const name of ['key', 'witness'] as const)
    copyFileSync(toCompanionFile(file, name), toCompanionFile(link, name))
  const database = openSqlite(file)
  database.exec('delete from spending')
  const linked = aLedger(link)
  await linked.close()

  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
  const { size, mtimeMs, ctimeMs } = statSync(file)
  const witness = toCompanionFile(file, 'witness')
  const forged = readFileSync(witness, 'latin1').replace(
    /file=\S+:closed/,
    `file=${size}:${mtimeMs}:${ctimeMs}:closed`,
  )
  writeFileSync(witness, forged, 'latin1')
  const withForgedWitness = aLedger(file)
  await withForgedWitness.close()

  for (const { damage } of [linked, withForgedWitness]) expect(damage).toBeDefined()
})
