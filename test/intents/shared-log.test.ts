import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SqliteExecutionLog } from '../../src/storage/ledger/sqlite-execution-log.ts'
import { SqliteLedger } from '../../src/storage/ledger/sqlite-ledger.ts'
import { aClock, day } from '../support/a-clock.ts'
import { aProject } from '../support/a-project.ts'
import { anAgent, anEnvelope, aPayer, aRouter } from '../support/agents.ts'
import { aServerProcess, clocksAt } from '../support/builders.ts'
import { makeUnsealed } from '../support/remove-seals.ts'

const pay = { name: 'Pay', version: '1.0' }

/** Simulates one of several processes that share a ledger file. */
function aProcess(file: string, { pid = process.pid, clock = aClock() } = {}) {
  const ledger = new SqliteLedger({
    file,
    process: { ...aServerProcess((candidate) => candidate === process.pid), pid },
    keepRunsMs: day,
    keepExecutionsMs: day,
    clocks: clocksAt(clock.now),
    onError: () => {},
    onWarning: () => {},
  })
  onTestFinished(() => ledger.close())
  const log = new SqliteExecutionLog(ledger)
  const agents = [anAgent('a'), aPayer('b')]
  const { route } = aRouter({ agents, log, now: clock.now })
  return { ledger, log, route, ids: () => log.read.list({ limit: 1000 }).map(({ id }) => id) }
}

const aStore = async () => path.join(await aProject({}), 'store.db')

test("alternating writers share one hash chain and see each other's executions", async () => {
  const file = await aStore()
  const [first, second] = [aProcess(file), aProcess(file, { pid: 1 })]

  for (let number = 0; number < 20; number++) {
    await first.route(anEnvelope(), { id: `one ${number}` })
    if (number % 3 === 0)
      await Promise.all([
        second.route(anEnvelope({ intent: pay }), { id: `other ${number}` }),
        first.route(anEnvelope({ intent: pay }), { id: `both ${number}` }),
      ])
  }

  expect(first.ids()).toHaveLength(34)
  expect(second.ids()).toEqual(first.ids())
  expect(second.ledger.executions.verify()).toEqual(first.ledger.executions.verify())
  expect(first.ledger.executions.verify()).not.toHaveProperty('broken')
})

test('an execution open at a crash is found interrupted by the next process, with its caller', async () => {
  const file = await aStore()
  const crashedProcess = aProcess(file, { pid: 999_999 })
  await crashedProcess.route(anEnvelope(), { id: 'ended' })
  const begunFields = { source: 's', address: 'Pay', caller: 'ann' }
  await crashedProcess.log.append(
    [
      {
        event: 'begun',
        id: 'open',
        at: 1,
        ...begunFields,
        effects: { writes: true, irreversible: true, repeatable: false, reachesOut: false },
        envelope: anEnvelope({ intent: pay }),
        decision: {
          intent: 'Pay',
          version: '1.0',
          strategy: 'fallback',
          order: 'registry',
          candidates: [],
          plan: [],
          registry: '',
          policy: '',
          health: {},
        },
      },
    ],
    'synced',
  )

  const restartedProcess = aProcess(file)

  expect(restartedProcess.log.read.list({ limit: 10 })).toMatchObject([
    { id: 'open', state: 'interrupted', caller: 'ann' },
    { id: 'ended', state: 'done' },
  ])
  expect(await restartedProcess.log.claim('open')).toBe(true)
  expect(restartedProcess.log.read.find('open')).toMatchObject({ state: 'running' })
})

test('a writer does not overwrite a chain anchor that another process moved while purging', async () => {
  const file = await aStore()
  const clock = aClock()
  const first = aProcess(file, { clock })
  const second = aProcess(file, { pid: 1, clock })
  await first.route(anEnvelope(), { id: 'first' })
  await second.route(anEnvelope(), { id: 'second' })
  clock.pass(3 * day)
  // Purges all executions without appending to the chain.
  await second.ledger.write((writer) => writer.charge('a', 'w', 1))

  await first.route(anEnvelope(), { id: 'third' })

  expect(first.ids()).toEqual(['third'])
  expect(first.ledger.executions.verify()).not.toHaveProperty('broken')
  expect(second.ids()).toEqual(['third'])
})

test('a rolled-back write leaves no gap in the chain', async () => {
  const { ledger, route, ids } = aProcess(await aStore())
  const undo = () =>
    ledger
      .write(() => {
        throw new Error('undone')
      })
      .catch((error) => String(error))

  const [, rollbackError] = await Promise.all([
    route(anEnvelope({ intent: pay }), { id: 'first' }),
    undo(),
    route(anEnvelope({ intent: pay }), { id: 'second' }),
  ])
  await route(anEnvelope(), { id: 'third' })

  expect(rollbackError).toContain('undone')
  expect(ids().sort()).toEqual(['first', 'second', 'third'])
  expect(ledger.executions.verify()).not.toHaveProperty('broken')
})

test('a store of an earlier schema version is migrated with its executions', async () => {
  const file = await aStore()
  const oldProcess = aProcess(file)
  await oldProcess.route(anEnvelope(), { id: 'old' })
  oldProcess.ids()
  await oldProcess.ledger.close()
  makeUnsealed(file)

  const newProcess = aProcess(file)
  await newProcess.route(anEnvelope(), { id: 'new' })

  expect(newProcess.ids()).toEqual(['new', 'old'])
  expect(newProcess.log.read.find('old')?.events).toHaveLength(4)
})
