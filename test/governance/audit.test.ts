import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Call } from '../../src/capability/call.ts'
import { done, type Outcome } from '../../src/capability/outcome.ts'
import { Approvals } from '../../src/governance/approvals.ts'
import { refused } from '../../src/governance/failures.ts'
import type { AuditEntry } from '../../src/governance/ledger.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aClock } from '../support/a-clock.ts'
import {
  aPayment,
  detailsOf,
  movesMoney,
  type PaymentParts,
  verdictOf,
} from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCaller, aContract, aLedger, aPipeline } from '../support/builders.ts'
import { startScript } from '../support/child-script.ts'

const aFile = async () => path.join(await aProject({}), 'ledger.db')

const thresholds = { alert: 80, reauthorise: 100, stop: 100 }
const nothingLeft = {
  id: 'b',
  unit: 'calls',
  limit: 0,
  per: 'caller',
  window: 'day',
  thresholds,
} as const

/** Every way a call can end, and whether a begin record is written. */
const endings: readonly [
  word: string,
  hasBegin: boolean,
  parts: PaymentParts,
  call?: Partial<Call>,
][] = [
  ['done', true, {}],
  ['done', false, { effects: { ...movesMoney, writes: false } }],
  ['declined', true, { invoke: async () => declined }],
  ['outcome_unknown', true, { invoke: async () => refused('outcome_unknown', 'Who knows?') }],
  ['timed_out', true, { rules: { timeout: 5 }, invoke: () => new Promise<never>(() => {}) }],
  ['internal', true, { invoke: async () => Promise.reject(new Error('a bug')) }],
  ['result_too_large', true, { invoke: async () => done('x'.repeat(20_000)) }],
  ['asking', true, { invoke: async () => ({ kind: 'asking', questions: {} }) }],
  ['insufficient_scope', false, { rules: { permissions: ['money:move'] } }],
  ['definition_changed', false, {}, { expectedFingerprint: 'f0' }],
  ['invalid_input', false, { input: aContract(z.object({ amount: z.number() })) }],
  ['idempotency_key_required', false, { rules: { idempotencyKey: true } }],
  ['budget_exceeded', false, { rules: { budgets: [nothingLeft] } }],
  ['approval_required', false, { rules: { approval: true } }],
]
const declined: Outcome = {
  kind: 'failed',
  failure: { code: 'declined', fixedBy: 'model', message: 'No.', retryable: false },
}

test.each(endings)(
  'a call that ends with %s has the right audit records; begin record: %s',
  async (verdict, hasBegin, parts, overrides) => {
    const { govern, readAudit } = aPipeline()
    const { pay } = aPayment(parts)
    const call = aCall({ capability: pay, ...overrides })

    const outcome = await govern(call)

    expect(verdictOf(outcome)).toBe(verdict)
    const entries = (await readAudit()).filter(({ id }) => id === call.id)
    expect(entries.map(({ event }) => event)).toEqual(hasBegin ? ['begin', 'end'] : ['end'])
    expect(entries.at(-1)).toMatchObject({
      outcome: outcome.kind,
      ...(outcome.kind === 'failed' && { code: verdict }),
      caller: 'ann',
      capability: 'pay',
      source: 'test',
      fingerprint: 'f1',
      digest: expect.stringMatching(/^[\w-]{43}$/),
      duration: expect.any(Number),
    })
  },
)

test('the decision of a refusing step is recorded', async () => {
  const { govern, readAudit } = aPipeline()
  const { pay } = aPayment({ rules: { budgets: [nothingLeft] } })
  await govern(aCall({ capability: pay }))
  expect(await readAudit()).toMatchObject([
    { decisions: [{ step: 'budget', decision: 'refused', code: 'budget_exceeded' }] },
  ])
})

test('1000 concurrent calls of every kind are all recorded in an intact chain', async () => {
  const { govern, ledger } = aPipeline({ file: await aFile() })
  const calls = Array.from({ length: 1000 }, (_, order) => {
    const [, hasBegin, parts, overrides] = endings[
      order % endings.length
    ] as (typeof endings)[number]
    const { pay } = aPayment({ name: `pay_${order % 7}`, ...parts })
    return { begins: hasBegin, call: aCall({ capability: pay, input: { order }, ...overrides }) }
  })

  const outcomes = await Promise.all(calls.map(({ call }) => govern(call)))
  await ledger.write(() => {})

  const records = [...ledger.audit.records(0)]
  const events = new Map<string, string[]>()
  for (const { entry } of records)
    events.set(entry.id ?? '', [...(events.get(entry.id ?? '') ?? []), entry.event])
  expect(calls.map(({ call }) => events.get(call.id))).toEqual(
    calls.map(({ begins: hasBegin }) => (hasBegin ? ['begin', 'end'] : ['end'])),
  )
  expect(outcomes).toHaveLength(1000)
  expect(records.map(({ number }) => number)).toEqual(records.map((_, index) => index))
  expect(ledger.audit.verify()).toEqual({ count: records.length })
})

test('the begin record is on disk before the capability runs', async () => {
  const file = await aFile()
  const { govern } = aPipeline({ file })
  const lastEntries: (AuditEntry | undefined)[] = []
  const { pay } = aPayment({
    invoke: async () => {
      // A second connection sees only committed records.
      const onDisk = aLedger(file)
      lastEntries.push([...onDisk.audit.records(0)].at(-1)?.entry)
      expect(onDisk.audit.verify().broken).toBeUndefined()
      await onDisk.close()
      return done({})
    },
  })
  const calls = Array.from({ length: 20 }, (_, order) =>
    aCall({ capability: pay, idempotencyKey: `k${order}`, input: { order } }),
  )

  for (const call of calls) await govern(call)

  expect(lastEntries).toMatchObject(calls.map(({ id }) => ({ event: 'begin', id, caller: 'ann' })))
})

test('arguments, results and messages are not audited unless policy records arguments', async () => {
  const canary = 'canary-4711'
  const invoke = async () => done({ secret: canary })
  const { govern, readAudit } = aPipeline()
  const silentPayment = aPayment({ invoke, description: canary })
  const throwingPayment = aPayment({ invoke: async () => Promise.reject(new Error(canary)) })
  const strictPayment = aPayment({ input: aContract(z.object({ card: z.number() })) })
  const recordingPayment = aPayment({ invoke, rules: { recordArguments: true } })
  for (const { pay } of [silentPayment, throwingPayment, strictPayment])
    await govern(
      aCall({ capability: pay, input: { card: canary }, idempotencyKey: canary.repeat(2) }),
    )
  const auditText = JSON.stringify(await readAudit())

  await govern(aCall({ capability: { ...recordingPayment.pay, name: 'keep' }, input: { card: 1 } }))

  expect(auditText).not.toContain(canary)
  expect((await readAudit()).slice(-2)).toMatchObject([
    { event: 'begin', arguments: { card: 1 } },
    { event: 'end', arguments: { card: 1 } },
  ])
})

test('an approval is audited from request to run', async () => {
  const clock = aClock()
  const { govern, readAudit, ledger } = aPipeline({ now: clock.now })
  const { pay } = aPayment({ rules: { approval: true } })
  const refusal = await govern(aCall({ capability: pay }))
  const id = String(detailsOf(refusal).approval)
  await new Approvals(ledger).decide(id, 'approved', 'eve')
  await govern(aCall({ capability: pay }))

  expect(await readAudit()).toMatchObject([
    { event: 'asked', id, caller: 'ann', capability: 'pay' },
    { event: 'end', code: 'approval_required' },
    { event: 'approved', id, caller: 'ann', by: 'eve' },
    { event: 'begin', decisions: [{ step: 'approval', note: `approved by eve (${id})` }] },
    { event: 'end', outcome: 'done', decisions: [{ step: 'approval' }] },
  ])
})

/** An audit trail of several blocks with direct access to the table. */
async function aTrail() {
  const file = await aFile()
  const { govern, ledger } = aPipeline({ file })
  const { pay } = aPayment()
  for (let block = 0; block < 12; block++)
    await Promise.all(
      Array.from({ length: 1 + (block % 4) * 3 }, (_, order) =>
        govern(
          aCall({
            capability: { ...pay, name: `päy_${order}` },
            caller: { ...aCaller(), subject: `ann-${block}😀` },
            input: { block },
          }),
        ),
      ),
    )
  await ledger.write(() => {})
  const database = openSqlite(file)
  const blocks = () =>
    database
      .prepare<{
        first: number
        count: number
        at: number
        head: string
        hex: string
        seal: string
      }>('select first, count, at, head, hex(lines) as hex, seal from audit order by first')
      .all()
  return { ledger, database, blocks, total: ledger.audit.verify().count }
}

test('a changed byte is reported at its record', async () => {
  const { ledger, database, blocks, total } = await aTrail()
  let attempts = 0
  for (const { first, hex } of blocks()) {
    const bytes = Buffer.from(hex, 'hex')
    // About a hundred offsets per block, with a different bit each time.
    for (
      let offset = first % 3;
      offset < bytes.length;
      offset += Math.max(1, Math.floor(bytes.length / 100))
    ) {
      const damaged = Buffer.from(bytes)
      damaged[offset] = (bytes[offset] as number) ^ (1 << (attempts % 8))
      writeLines(damaged)
      const record = first + bytes.subarray(0, offset).filter((byte) => byte === 10).length
      const verdict = ledger.audit.verify()
      expect(verdict).toMatchObject({ count: record, broken: { number: record } })
      attempts++
    }
    writeLines(bytes)
    function writeLines(lines: Buffer) {
      database.exec(
        `update audit set lines = cast(x'${lines.toString('hex')}' as text) where first = ${first}`,
      )
    }
  }
  expect(attempts).toBeGreaterThan(1000)
  expect(ledger.audit.verify()).toEqual({ count: total })
})

test('a changed hash or count is reported at the last record of its block', async () => {
  const { ledger, database, blocks } = await aTrail()
  for (const { first, count, head } of blocks()) {
    const forged = `${head.slice(0, -1)}${head.endsWith('A') ? 'B' : 'A'}`
    database.exec(`update audit set head = '${forged}' where first = ${first}`)
    expect(ledger.audit.verify()).toMatchObject({ broken: { number: first + count - 1 } })
    database.exec(`update audit set head = '${head}', count = ${count + 1} where first = ${first}`)
    expect(ledger.audit.verify()).toMatchObject({ broken: { number: first + count - 1 } })
    database.exec(`update audit set count = ${count} where first = ${first}`)
  }
  expect(ledger.audit.verify().broken).toBeUndefined()
})

test('a deleted block is reported where it is missing', async () => {
  const { ledger, database, blocks } = await aTrail()
  // The last block is excluded: no later block references it.
  for (const { first, count, at, head, hex, seal } of blocks().slice(0, -1)) {
    database.exec(`delete from audit where first = ${first}`)
    expect(ledger.audit.verify()).toEqual({
      count: first,
      broken: { number: first, reason: 'records are missing here' },
    })
    database.exec(
      `insert into audit values (${first}, ${count}, ${at}, '${head}', cast(x'${hex}' as text), '${seal}')`,
    )
  }
  expect(ledger.audit.verify().broken).toBeUndefined()
})

test('a record removed inside a block is reported at its number', async () => {
  const { ledger, database, blocks } = await aTrail()
  const block = blocks().find(({ count }) => count > 4)
  const lines = Buffer.from(block?.hex ?? '', 'hex')
    .toString()
    .split('\n')
  const forged = Buffer.from(lines.toSpliced(2, 1).join('\n')).toString('hex')
  database.exec(`update audit set lines = cast(x'${forged}' as text) where first = ${block?.first}`)
  expect(ledger.audit.verify()).toMatchObject({ broken: { number: (block?.first ?? 0) + 2 } })
})

test('swapped records are reported at the first of them', async () => {
  const { ledger, database, blocks } = await aTrail()
  const block = blocks().find(({ count }) => count > 4)
  const lines = Buffer.from(block?.hex ?? '', 'hex')
    .toString()
    .split('\n')
  const [a = '', b = ''] = lines.slice(1, 3)
  const forged = Buffer.from(lines.with(1, b).with(2, a).join('\n')).toString('hex')
  database.exec(`update audit set lines = cast(x'${forged}' as text) where first = ${block?.first}`)
  expect(ledger.audit.verify()).toMatchObject({ broken: { number: (block?.first ?? 0) + 1 } })
})

test('reading can start at any record', async () => {
  const { ledger, total } = await aTrail()
  const records = [...ledger.audit.records(0)]
  for (let from = 0; from <= total + 1; from += 5)
    expect([...ledger.audit.records(from)]).toEqual(records.slice(from))
})

test('a long trail is read in pages', async () => {
  const ledger = aLedger(await aFile())
  for (let count = 0; count < 250; count++)
    await ledger.write((writer) => writer.append({ event: 'begin', at: count }))
  expect([...ledger.audit.records(0)].map(({ entry }) => entry.at)).toEqual([...Array(250).keys()])
  expect(ledger.audit.verify()).toEqual({ count: 250 })
})

test('records beyond the pending limit are counted as lost', async () => {
  const ledger = aLedger()
  for (let count = 0; count < 100_005; count++) ledger.record(() => ({ event: 'end', at: count }))
  await ledger.write(() => {})
  const [gap, first] = ledger.audit.records(0)
  expect(gap?.entry).toMatchObject({ event: 'lost', count: 5 })
  expect(first?.entry).toMatchObject({ event: 'end', at: 5 })
  expect(ledger.audit.verify()).toEqual({ count: 100_001 })
})

const kills = amount(3, 10)

test('SIGKILL during writes leaves an intact chain with every acknowledged record', async () => {
  const file = await aFile()
  const code = `
    const mine = ledger(args[0])
    for (let n = 0; ; n++) {
      const ids = Array.from({ length: 1 + n % 20 }, (_, at) => args[1] + '-' + n + '-' + at)
      await Promise.all(ids.map((id) => mine.write((writer) => {
        writer.append({ event: 'begin', at: n, id })
        writer.charge('a', 'w', 1)
      })))
      for (const id of ids) mine.record(() => ({ event: 'end', at: n, id }))
      process.stdout.write(ids.join('\\n') + '\\n')
    }`
  const acknowledged: string[] = []
  for (let cycle = 0; cycle < kills; cycle++) {
    const child = startScript(code, [file, `c${cycle}`])
    await child.waitForOutput(/\n/)
    await sleep((cycle * 7) % 50)
    child.process.kill('SIGKILL')
    await child.exited
    acknowledged.push(...child.stdout().split('\n').slice(0, -1))

    const ledger = aLedger(file)
    const { broken } = ledger.audit.verify()
    expect(broken).toBeUndefined()
    const beginRecords = [...ledger.audit.records(0)].filter(({ entry }) => entry.event === 'begin')
    const ids = new Set(beginRecords.map(({ entry }) => entry.id))
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([])
    // The charge and its begin record are one transaction.
    expect(ledger.read.spent('a', 'w')).toBe(beginRecords.length)
    await ledger.close()
  }
  console.info(`audit: ${acknowledged.length} acknowledged records after ${kills} kills, none lost`)
})
