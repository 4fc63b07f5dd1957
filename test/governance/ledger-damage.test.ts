import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { createRandom, fuzzSeed, type Random } from '../fuzz/random.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { copyFolder, damageStore, storeName } from '../support/damage-files.ts'
import { eventually } from '../support/eventually.ts'
import { type PaymentAnswer, PaymentHost } from '../support/payment-host.ts'
import { drawbridge } from '../support/run-cli.ts'

const damageCount = amount(10, 500)
const runningDamageCount = amount(2, 100)
const restartCount = amount(2, 100)

/** Files of a store at one moment, an earlier copy of them, and the orders acknowledged until then. */
interface Snapshot {
  readonly folder: string
  readonly older: string
  readonly orders: readonly string[]
}

/** A store that was closed, and one whose process was killed and left its write-ahead log. */
async function takeSnapshots(folder: string, random: Random): Promise<readonly Snapshot[]> {
  const live = path.join(folder, 'live')
  mkdirSync(live)
  const store = path.join(live, storeName)
  const orders: string[] = []
  const take = (name: string, older: string): Snapshot => {
    const to = path.join(folder, name)
    copyFolder(live, to)
    return { folder: to, older: path.join(folder, older), orders: [...orders] }
  }
  let host = await PaymentHost.start()
  const payMore = async (count: number) => {
    const some = Array.from({ length: count }, (_, index) => `order-${orders.length + index}`)
    const { answers = [] } = await host.run('pay', { orders: some })
    expect(answers.filter(({ executed }) => executed)).toHaveLength(count)
    orders.push(...some)
  }
  await host.run('open', { store })
  await payMore(10 + random.below(20))
  await host.run('close')
  take('oldest', 'oldest')
  await host.run('open', { store })
  await payMore(20 + random.below(20))
  const beforeKill = take('old', 'oldest')
  await payMore(1 + random.below(10))
  await host.kill()
  const killed = take('killed', 'old')
  host = await PaymentHost.start()
  await host.run('open', { store })
  await payMore(1 + random.below(5))
  await host.run('close')
  await host.kill()
  const closed = take('closed', 'oldest')
  return [killed, closed, { ...killed, older: beforeKill.older }]
}

/** Answers that pay an acknowledged order again, or refuse without naming the next step. */
const findFaults = (answers: readonly PaymentAnswer[]): readonly PaymentAnswer[] =>
  answers.filter(
    ({ executed, code, text }) =>
      executed || (code === 'ledger_damaged' && !text.includes('drawbridge store check')),
  )

test(`${damageCount} random damages of a stopped store never repeat an acknowledged effect or end the process`, {
  timeout: 60_000 + damageCount * 5_000,
}, async () => {
  const random = createRandom(fuzzSeed)
  const folder = await aProject({})
  const verdicts = new Map<string, number>()
  const faults: string[] = []
  let snapshots: readonly Snapshot[] = []
  let host = await PaymentHost.start()
  for (let index = 0; index < damageCount; index++) {
    if (index % 100 === 0) snapshots = await takeSnapshots(await aProject({}), random)
    const snapshot = random.pick(snapshots)
    const copy = path.join(folder, String(index))
    copyFolder(snapshot.folder, copy)
    const damage = damageStore(copy, snapshot.older, random)
    try {
      const { error } = await host.run('open', { store: path.join(copy, storeName) })
      const isNamed = error === undefined || error.includes('drawbridge store')
      if (!isNamed) faults.push(`${damage}: ${error}`)
      if (error === undefined) {
        const { answers = [], problems = [] } = await host.run('pay', { orders: snapshot.orders })
        const { isError } = await host.run('look')
        await host.run('close')
        for (const answer of findFaults(answers))
          faults.push(`${damage}: ${JSON.stringify(answer)}`)
        if (isError) faults.push(`${damage}: a read was refused`)
        const isDamaged = answers.some(({ code }) => code === 'ledger_damaged')
        if (isDamaged && problems.length === 0) faults.push(`${damage}: not reported`)
        count(verdicts, isDamaged ? 'refused' : 'replayed')
      } else count(verdicts, 'not started')
    } catch (error) {
      faults.push(`${damage}: ${error}`)
      if (host.isAlive) throw error
      host = await PaymentHost.start()
    }
  }
  console.info(`damages: ${JSON.stringify(Object.fromEntries(verdicts))}`)
  expect(faults).toEqual([])
  expect(verdicts.get('refused')).toBeGreaterThan(damageCount / 4)
})

test.each([
  ['runs', 'outcome'],
  ['approvals', 'shown'],
  ['ledger_state', 'record'],
])('invalid UTF-8 in %s.%s is refused, and the process goes on', async (table, column) => {
  const store = path.join(await aProject({}), storeName)
  const orders = ['order-1', 'order-2']
  const host = await PaymentHost.start()
  await host.run('open', { store })
  await host.run('pay', { orders })
  await host.run('close')
  const database = openSqlite(store)
  if (table === 'approvals') database.exec(insertApproval)
  database.exec(`update ${table} set ${column} = cast(x'fffe41' as text)`)
  database.close()

  const { error } = await host.run('open', { store })
  const { answers = [] } = error === undefined ? await host.run('pay', { orders }) : {}

  expect(host.isAlive).toBe(true)
  expect(findFaults(answers)).toEqual([])
  expect(error ?? answers.map(({ code }) => code).join()).toMatch(/drawbridge store|ledger_damaged/)
})

test('invalid UTF-8 in a block of the audit is found by check, and the process goes on', async () => {
  const store = path.join(await aProject({}), storeName)
  const orders = ['order-1', 'order-2']
  const host = await PaymentHost.start()
  await host.run('open', { store })
  await host.run('pay', { orders })
  await host.run('close')
  const database = openSqlite(store)
  database.exec(`update audit set lines = cast(x'fffe41' as text)`)
  database.close()

  await host.run('open', { store })
  const { answers = [] } = await host.run('pay', { orders })
  await host.run('close')
  const { code, stdout } = await drawbridge(['store', 'check', '--store', store])

  expect(findFaults(answers)).toEqual([])
  expect([code, stdout]).toEqual([1, expect.stringContaining('audit')])
})

const insertApproval = `
  insert into approvals (id, binding, caller, capability, state, created, expires, shown)
  values ('a1', 'b', 'c', 'pay', 'waiting', 0, 9000000000000, '{}')`

test(`${runningDamageCount} random damages under a running process never repeat an acknowledged effect`, {
  timeout: 60_000 + runningDamageCount * 10_000,
}, async () => {
  const random = createRandom(fuzzSeed + 1)
  const folder = await aProject({})
  const snapshots = await takeSnapshots(folder, random)
  const verdicts = new Map<string, number>()
  const faults: string[] = []
  let host = await PaymentHost.start()
  for (let index = 0; index < runningDamageCount; index++) {
    const snapshot = random.pick(snapshots)
    const copy = path.join(folder, String(index))
    copyFolder(snapshot.folder, copy)
    const store = path.join(copy, storeName)
    await host.run('open', { store })
    const orders = [...snapshot.orders, 'new-1', 'new-2']
    const { answers: before = [] } = await host.run('pay', { orders: orders.slice(-3) })
    expect(before.map(({ executed }) => executed)).toEqual([false, true, true])
    // Truncating a mapped file ends any process that reads it (SIGBUS): the index of the log is mapped.
    const damage = damageStore(
      copy,
      snapshot.older,
      random,
      (file, kind) => file !== '-shm' || kind !== 'truncate',
    )
    try {
      // A payment that is new needs a commit, before or after the acknowledged ones are looked up.
      const attempts = random.chance(0.5) ? ['later', ...orders] : [...orders, 'later']
      const { answers = [] } = await host.run('pay', { orders: attempts })
      expect(answers).toHaveLength(attempts.length)
      const isLaterDone = answers.some(({ order, code }) => order === 'later' && code === 'done')
      await host.kill()
      host = await PaymentHost.start()
      const { error } = await host.run('open', { store })
      const acknowledged = isLaterDone ? [...orders, 'later'] : orders
      const again = error === undefined ? await host.run('pay', { orders: acknowledged }) : {}
      if (error === undefined) await host.run('close')
      else expect(error).toContain('drawbridge store')
      for (const answer of [
        ...findFaults(answers.filter(({ order, executed }) => order !== 'later' || !executed)),
        ...answers.filter(({ code }) => code !== 'done' && code !== 'ledger_damaged'),
        ...answers.filter(({ executed, code }) => executed && code !== 'done'),
        ...findFaults(again.answers ?? []),
      ])
        faults.push(`${damage}: ${JSON.stringify(answer)}`)
      const isDamaged = (some: readonly PaymentAnswer[]) =>
        some.some(({ code }) => code === 'ledger_damaged')
      count(verdicts, isLaterDone ? 'paid while damaged' : 'new payment refused')
      count(verdicts, isDamaged(answers) ? 'refused while running' : 'replayed while running')
      count(verdicts, isDamaged(again.answers ?? []) ? 'refused later' : 'replayed later')
    } catch (error) {
      faults.push(`${damage}: ${error}`)
      if (!host.isAlive) host = await PaymentHost.start()
    }
  }
  console.info(`damages while running: ${JSON.stringify(Object.fromEntries(verdicts))}`)
  expect(faults).toEqual([])
})

test(`${restartCount} restarts after kill -9 under load, with two processes, raise no false alarm`, {
  timeout: 60_000 + restartCount * 30_000,
}, async () => {
  const random = createRandom(fuzzSeed + 2)
  const store = path.join(await aProject({}), storeName)
  const orders: string[] = []
  const faults: unknown[] = []
  for (let round = 0; round < restartCount; round++) {
    const hosts = await Promise.all([PaymentHost.start(), PaymentHost.start()])
    for (const [index, host] of hosts.entries()) {
      const { error } = await host.run('open', { store })
      if (error !== undefined) faults.push(error)
      await host.run('load', { name: `r${round}-p${index}`, lanes: 4 })
    }
    await eventually(() =>
      expect(Math.min(...hosts.map(({ acknowledged }) => acknowledged.length))).toBeGreaterThan(0),
    )
    await sleep(random.below(100))
    const [first, second] = random.chance(0.5) ? hosts : hosts.toReversed()
    await first?.kill()
    // The survivor goes on for a moment, and is killed or closed.
    await sleep(random.below(30))
    if (random.chance(0.3)) await second?.run('close').catch(() => {})
    await second?.kill()
    for (const { acknowledged } of hosts) {
      // A host that is being closed cancels calls before they take effect.
      const answered = acknowledged.filter(({ code, executed }) => code !== 'cancelled' || executed)
      faults.push(...answered.filter(({ code }) => code !== 'done'))
      orders.push(...answered.map(({ order }) => order))
    }
  }
  const host = await PaymentHost.start()
  await host.run('open', { store })
  const { answers = [], problems } = await host.run('pay', { orders: orders.slice(-200) })
  expect(problems).toEqual([])
  expect(faults).toEqual([])
  expect(findFaults(answers)).toEqual([])
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(['done']))
})

const count = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1)
