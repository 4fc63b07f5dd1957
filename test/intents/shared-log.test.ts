import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SqliteExecutionLog } from '../../src/storage/ledger/sqlite-execution-log.ts'
import { SqliteLedger } from '../../src/storage/ledger/sqlite-ledger.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aClock, day } from '../support/a-clock.ts'
import { aProject } from '../support/a-project.ts'
import { anAgent, anEnvelope, aPayer, aRouter } from '../support/agents.ts'

const pay = { name: 'Pay', version: '1.0' }

/** One of the processes that share a file, as far as the file can tell. */
function aProcess(file: string, { pid = process.pid, clock = aClock() } = {}) {
  const ledger = new SqliteLedger({
    file,
    processId: randomUUID(),
    pid,
    keepRunsMs: day,
    keepExecutionsMs: day,
    now: clock.now,
    isAlive: (one) => one === process.pid,
    onError: () => {},
  })
  onTestFinished(() => ledger.close())
  const log = new SqliteExecutionLog(ledger, clock.now)
  const agents = [anAgent('a'), aPayer('b')]
  const { route } = aRouter({ agents, log, now: clock.now })
  return { ledger, log, route, ids: () => log.read.list({ limit: 1000 }).map(({ id }) => id) }
}

const aStore = async () => path.join(await aProject({}), 'store.db')

test('processes that write in turn write one chain, and each sees what all have written', async () => {
  const file = await aStore()
  const [one, other] = [aProcess(file), aProcess(file, { pid: 1 })]

  for (let number = 0; number < 20; number++) {
    await one.route(anEnvelope(), { id: `one ${number}` })
    if (number % 3 === 0)
      await Promise.all([
        other.route(anEnvelope({ intent: pay }), { id: `other ${number}` }),
        one.route(anEnvelope({ intent: pay }), { id: `both ${number}` }),
      ])
  }

  expect(one.ids()).toHaveLength(34)
  expect(other.ids()).toEqual(one.ids())
  expect(other.ledger.executions.verify()).toEqual(one.ledger.executions.verify())
  expect(one.ledger.executions.verify()).not.toHaveProperty('broken')
})

test('what was written just before the end is found by the next one, with who began it', async () => {
  const file = await aStore()
  const gone = aProcess(file, { pid: 999_999 })
  await gone.route(anEnvelope(), { id: 'ended' })
  const begun = { source: 's', address: 'Pay', caller: 'ann' }
  await gone.log.append(
    [
      {
        event: 'begun',
        id: 'open',
        at: 1,
        ...begun,
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

  const next = aProcess(file)

  expect(next.log.read.list({ limit: 10 })).toMatchObject([
    { id: 'open', state: 'interrupted', caller: 'ann' },
    { id: 'ended', state: 'done' },
  ])
  expect(await next.log.claim('open')).toBe(true)
  expect(next.log.read.find('open')).toMatchObject({ state: 'running' })
})

test('an end that somebody else has written and forgotten since is not written over', async () => {
  const file = await aStore()
  const clock = aClock()
  const one = aProcess(file, { clock })
  const other = aProcess(file, { pid: 1, clock })
  await one.route(anEnvelope(), { id: 'first' })
  await other.route(anEnvelope(), { id: 'second' })
  clock.pass(3 * day)
  // Forgets everything, and writes nothing of its own into the chain.
  await other.ledger.write((writer) => writer.charge('a', 'w', 1))

  await one.route(anEnvelope(), { id: 'third' })

  expect(one.ids()).toEqual(['third'])
  expect(one.ledger.executions.verify()).not.toHaveProperty('broken')
  expect(other.ids()).toEqual(['third'])
})

test('what is undone beside it leaves no gap in the chain', async () => {
  const { ledger, route, ids } = aProcess(await aStore())
  const undo = () =>
    ledger
      .write(() => {
        throw new Error('undone')
      })
      .catch((error) => String(error))

  const [, before] = await Promise.all([
    route(anEnvelope({ intent: pay }), { id: 'first' }),
    undo(),
    route(anEnvelope({ intent: pay }), { id: 'second' }),
  ])
  await route(anEnvelope(), { id: 'third' })

  expect(before).toContain('undone')
  expect(ids().sort()).toEqual(['first', 'second', 'third'])
  expect(ledger.executions.verify()).not.toHaveProperty('broken')
})

test('a file from before is brought up to date: its executions are where they were', async () => {
  const file = await aStore()
  const former = aProcess(file)
  await former.route(anEnvelope(), { id: 'old' })
  former.ids()
  await former.ledger.close()
  const database = openSqlite(file)
  database.exec("delete from chain_anchors where chain = 'executions'")
  database.exec('pragma user_version = 2')
  database.close()

  const present = aProcess(file)
  await present.route(anEnvelope(), { id: 'new' })

  expect(present.ids()).toEqual(['new', 'old'])
  expect(present.log.read.find('old')?.events).toHaveLength(4)
})
