import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aPayment, verdictOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { aCall, aCapability, aLedger, aPipeline } from '../support/builders.ts'
import { copyFolder, storeName } from '../support/damage-files.ts'
import { eventually } from '../support/eventually.ts'

const runCount = 6000

/** A store of several megabytes; `closed` tells whether its process ended properly. */
async function aLargeStore({ closed }: { readonly closed: boolean }): Promise<string> {
  const file = path.join(await aProject({}), storeName)
  const ledger = aLedger(file)
  await ledger.write((writer) => {
    for (let index = 0; index < runCount; index++) {
      const id = `run-${index}`
      writer.beginRun({
        id,
        caller: 'ann',
        capability: 'pay',
        key: `key-${index}`,
        digest: `digest-${index}`,
        fingerprint: 'f1',
        started: Date.now(),
        charges: [],
      })
      const outcome = { kind: 'done', data: 'x'.repeat(200) } as const
      writer.endRun(id, { state: 'done', finished: Date.now(), outcome })
    }
  })
  if (closed) {
    await ledger.close()
    return file
  }
  // A copy of the files of an open ledger is what kill -9 leaves.
  const copy = await aProject({})
  copyFolder(path.dirname(file), copy)
  await ledger.close()
  return path.join(copy, storeName)
}

function aPayingPipeline(file: string) {
  const warnings: string[] = []
  const pipeline = aPipeline({
    file,
    isAlive: () => false,
    onWarning: (text) => warnings.push(text),
  })
  onTestFinished(() => pipeline.ledger.close())
  const { pay, ran } = aPayment()
  let count = 0
  const buy = (key = `new-${count++}`) =>
    pipeline.govern(aCall({ capability: pay, idempotencyKey: key, input: { key } }))
  const look = () => pipeline.govern(aCall({ capability: aCapability() }))
  const buyOnceChecked = () =>
    eventually(async () => {
      const outcome = await buy()
      expect(verdictOf(outcome)).not.toBe('ledger_checking')
      return outcome
    })
  return { ...pipeline, warnings, buy, look, ran, buyOnceChecked }
}

test('a large store that was not closed properly serves reads at once, and effects after its check', async () => {
  const { buy, look, ran, warnings, buyOnceChecked, readAudit } = aPayingPipeline(
    await aLargeStore({ closed: false }),
  )

  const [read, refused] = [await look(), await buy()]
  const paid = await buyOnceChecked()

  expect([verdictOf(read), verdictOf(refused), verdictOf(paid)]).toEqual([
    'done',
    'ledger_checking',
    'done',
  ])
  expect(refused).toMatchObject({
    failure: {
      fixedBy: 'model',
      retryable: true,
      message: expect.stringMatching(/Nothing was executed.*being checked: \d+ %/),
      details: { retry_after_ms: expect.any(Number) },
    },
  })
  expect(ran).toHaveLength(1)
  expect(warnings).toEqual([
    expect.stringContaining('checked in the background'),
    expect.stringContaining('sound'),
  ])
  // Calls from before the check was complete are in the audit.
  const codes = (await readAudit()).map(({ event, code }) => code ?? event)
  expect(codes.slice(0, 2)).toEqual(['end', 'ledger_checking'])
})

test('a large store that was closed properly accepts effects at once, and finds its old keys', async () => {
  const { buy, warnings } = aPayingPipeline(await aLargeStore({ closed: true }))

  const outcomes = [await buy(), await buy('key-7')]

  expect(outcomes.map(verdictOf)).toEqual(['done', 'idempotency_conflict'])
  expect(warnings).toEqual([])
})

test('damage that is found in the background refuses effects from then on', async () => {
  const file = await aLargeStore({ closed: true })
  const database = openSqlite(file)
  database.exec("delete from runs where id = 'run-77'")
  database.close()
  const { buy, look, ran, ledger, buyOnceChecked } = aPayingPipeline(file)

  const before = await buy('key-77')
  const outcomes = [await buyOnceChecked(), await buy('key-77'), await look()]

  expect(verdictOf(before)).toBe('ledger_checking')
  expect(outcomes.map(verdictOf)).toEqual(['ledger_damaged', 'ledger_damaged', 'done'])
  expect(ran).toEqual([])
  expect(ledger.damage?.message).toContain('rows of runs, approvals or spending are missing')
})

test('a store that is closed during its check is checked again', async () => {
  const file = await aLargeStore({ closed: false })
  const first = aPayingPipeline(file)
  expect(verdictOf(await first.buy())).toBe('ledger_checking')
  await first.ledger.close()

  const second = aPayingPipeline(file)

  expect(verdictOf(await second.buy())).toBe('ledger_checking')
  expect(verdictOf(await second.buyOnceChecked())).toBe('done')
  await second.ledger.close()
  const third = aPayingPipeline(file)
  expect(verdictOf(await third.buy())).toBe('done')
})
