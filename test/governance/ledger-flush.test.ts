import { fdatasyncSync } from 'node:fs'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { DamageError } from '../../src/capability/storage-error.ts'
import { DamageGuard } from '../../src/storage/ledger/damage/damage-guard.ts'
import { Witness } from '../../src/storage/ledger/damage/witness.ts'
import type { SyncFile } from '../../src/storage/ledger/jobs/write-ahead-log.ts'
import { SqliteExecutionLog } from '../../src/storage/ledger/sqlite-execution-log.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aPayment, countVerdicts, verdictOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { aCall, aCapability, aPipeline } from '../support/builders.ts'
import { aWhile, eventually } from '../support/eventually.ts'

const aFile = async () => path.join(await aProject({}), 'ledger.db')

/** A disk whose flushes wait until the test lets them end. */
function aSlowDisk() {
  const waiting: { end: () => void; fail: (error: Error) => void }[] = []
  const syncFile: SyncFile = (descriptor) =>
    new Promise((resolve, reject) => {
      const end = () => {
        fdatasyncSync(descriptor)
        resolve()
      }
      waiting.push({ end, fail: reject })
    })
  const next = () => eventually(() => waiting.shift() ?? expect.fail('no flush'))
  return { syncFile, waiting, next }
}

const pause = () => aWhile(20)

test('an effect begins, and its result is sent, only after a flush has ended', async () => {
  const disk = aSlowDisk()
  const { govern, ledger } = aPipeline({ file: await aFile(), syncFile: disk.syncFile })
  const { pay, ran } = aPayment()
  let outcome: string | undefined
  void govern(aCall({ capability: pay, idempotencyKey: 'k' })).then((result) => {
    outcome = verdictOf(result)
  })

  const first = await disk.next()
  await pause()
  const ranBefore = ran.length
  first.end()
  const second = await disk.next()
  await pause()
  const seen = { ranBefore, ran: ran.length, outcome }
  second.end()
  await eventually(() => expect(outcome).toBe('done'))

  expect(seen).toEqual({ ranBefore: 0, ran: 1, outcome: undefined })
  await ledger.close()
})

test('calls without effects do not wait for a flush', async () => {
  const disk = aSlowDisk()
  const { govern, ledger } = aPipeline({ file: await aFile(), syncFile: disk.syncFile })
  const { pay } = aPayment()
  const paid = govern(aCall({ capability: pay }))
  const flush = await disk.next()

  const read = await govern(aCall({ capability: aCapability() }))

  expect(verdictOf(read)).toBe('done')
  flush.end()
  const second = await disk.next()
  second.end()
  await paid
  await ledger.close()
})

test('everybody who waits while a flush runs shares the next one', async () => {
  const disk = aSlowDisk()
  const { ledger } = aPipeline({ file: await aFile(), syncFile: disk.syncFile })
  const write = () => ledger.write((writer) => writer.charge('a', 'w', 1))
  const first = write()
  const flush = await disk.next()
  const others = Array.from({ length: 50 }, write)
  await pause()
  const spentMeanwhile = ledger.read.spent('a', 'w')
  flush.end()
  await first
  const second = await disk.next()
  second.end()

  await Promise.all(others)

  expect([spentMeanwhile, ledger.read.spent('a', 'w')]).toEqual([1, 51])
  expect(disk.waiting).toEqual([])
  await ledger.close()
})

test('a repeat is not answered before the result it repeats is on disk', async () => {
  const disk = aSlowDisk()
  const { govern, ledger } = aPipeline({ file: await aFile(), syncFile: disk.syncFile })
  const { pay } = aPayment()
  const call = () => govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  const answers: string[] = []
  const first = call().then(() => answers.push('first'))
  const begun = await disk.next()
  begun.end()
  const ended = await disk.next()
  const repeat = call().then((outcome) => answers.push(`repeat ${verdictOf(outcome)}`))
  await pause()
  const answeredMeanwhile = [...answers]
  ended.end()
  const repeated = await disk.next()
  repeated.end()
  await Promise.all([first, repeat])

  expect(answeredMeanwhile).toEqual([])
  expect(answers).toEqual(['first', 'repeat done'])
  await ledger.close()
})

test('a failed flush executes nothing, and refuses effects from then on', async () => {
  const disk = aSlowDisk()
  const { govern, ledger } = aPipeline({ file: await aFile(), syncFile: disk.syncFile })
  const { pay, ran } = aPayment()
  const buy = (order: number) =>
    govern(aCall({ capability: pay, idempotencyKey: `k${order}`, input: { order } }))
  const first = [buy(1), buy(2)]
  const flush = await disk.next()
  const second = [buy(3), buy(4)]
  await pause()
  flush.fail(new Error('EIO: i/o error, fdatasync'))

  const refused = await Promise.all([...first, ...second])
  const later = await buy(5)
  const read = await govern(aCall({ capability: aCapability() }))

  expect(countVerdicts([...refused, later])).toEqual({ ledger_damaged: 5 })
  expect(verdictOf(read)).toBe('done')
  expect(ran).toEqual([])
  expect(disk.waiting).toEqual([])
  expect(ledger.damage).toBeInstanceOf(DamageError)
  expect(ledger.damage?.message).toContain('EIO')
  await ledger.close()
})

test('close waits for the flush of the jobs before it', async () => {
  const disk = aSlowDisk()
  const file = await aFile()
  const { ledger } = aPipeline({ file, syncFile: disk.syncFile })
  const order: string[] = []
  const written = ledger
    .write((writer) => writer.charge('a', 'w', 1))
    .then(() => order.push('written'))
  const flush = await disk.next()
  const closed = ledger.close().then(() => order.push('closed'))
  await pause()
  const meanwhile = [...order]
  flush.end()
  await Promise.all([written, closed])

  expect([meanwhile, order]).toEqual([[], ['written', 'closed']])
})

test('a commit that the witness cannot confirm is never run again', async () => {
  const { ledger } = aPipeline({ file: await aFile() })
  await ledger.write((writer) => writer.charge('a', 'w', 3))
  const confirm = vi.spyOn(Witness.prototype, 'confirm').mockImplementationOnce(() => {
    throw new Error('ENOSPC: no space left on device, write')
  })

  const refund = () => ledger.write((writer) => writer.charge('a', 'w', -1))
  const first = await refund().catch((error: unknown) => error)
  const second = await refund().catch((error: unknown) => error)
  confirm.mockRestore()

  expect([first, second]).toEqual([expect.any(DamageError), expect.any(DamageError)])
  expect(ledger.damage?.message).toContain('ENOSPC')
  await ledger.close()
})

test('a key that is used again after its run was purged, or rolled back, causes no check of all rows', async () => {
  let time = Date.now()
  const { govern, ledger } = aPipeline({ file: await aFile(), now: () => time })
  const { pay, ran } = aPayment()
  const buy = (order: number) =>
    govern(aCall({ capability: pay, idempotencyKey: `k${order}`, input: { order } }))
  await buy(0)
  const verify = vi.spyOn(DamageGuard.prototype, 'verify')

  const bought = [buy(1), buy(2)]
  const thrown = ledger.write(() => {
    throw new Error('a bug')
  })
  await expect(thrown).rejects.toThrow()
  await Promise.all(bought)
  time += 25 * 60 * 60_000
  await ledger.write(() => {})
  await Promise.all([buy(1), buy(2)])
  const checks = verify.mock.calls.length
  verify.mockRestore()

  expect([ran.length, checks]).toEqual([5, 0])
  await ledger.close()
})

test('while another process holds the lock, an event that must be on disk is not acknowledged; later ones are written', {
  timeout: 30_000,
}, async () => {
  const disk = aSlowDisk()
  const file = await aFile()
  const { ledger } = aPipeline({ file, syncFile: disk.syncFile })
  const log = new SqliteExecutionLog(ledger)
  const append = (id: string, durability: 'written' | 'synced') =>
    log
      .append(
        [{ event: 'late', id, at: 1, number: 1, agent: 'a', outcome: 'ok' } as never],
        durability,
      )
      .then(
        () => 'written',
        () => 'refused',
      )
  const charge = ledger.write((writer) => writer.charge('a', 'w', 1))
  const flush = await disk.next()
  const other = openSqlite(file)
  other.exec('begin immediate')

  const during = [append('A', 'written'), append('B', 'synced')]
  const first = await during[0]
  other.exec('rollback')
  other.close()
  flush.end()
  await charge
  void disk.next().then(({ end }) => end())
  const second = await during[1]
  const later = [append('C', 'written'), ledger.write(() => {})]
  void disk.next().then(({ end }) => end())
  await Promise.all(later)
  const ids = [...ledger.executions.events.records(0)].map(
    ({ entry }) => (entry as { id: string }).id,
  )

  expect([first, second, ids]).toEqual(['refused', 'refused', ['C']])
  await ledger.close()
})
