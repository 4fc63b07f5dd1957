import { expect, test } from 'vitest'
import { createDrawbridge, intentSource } from '../../src/index.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'
import { openSqlite, type Sqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aStoreFolder, copyLedger } from '../support/a-paying-bridge.ts'
import { anAgent } from '../support/agents.ts'
import { type Edits, findUnnoticed } from '../support/edit-store.ts'
import { makeUnsealed } from '../support/remove-seals.ts'
import { drawbridge } from '../support/run-cli.ts'

/** Routes intents in a process of its own, as far as the store can tell. */
async function route(store: string, count: number, policy: DrawbridgeOptions['policy'] = {}) {
  const sources = [intentSource({ agents: [anAgent('a')] })]
  const bridge = createDrawbridge({ store, sources, policy, onOperationalError: () => {} })
  for (let n = 0; n < count; n++) await bridge.call('Look', { question: `number ${n}` })
  await bridge.close()
}

/** A store whose intent log was written by two processes. */
async function aLog() {
  const { folder, file } = await aStoreFolder()
  await route(file, 2)
  await route(file, 2)
  const verify = () => drawbridge(['executions', '--verify'], { cwd: folder })
  const verifyAudit = () => drawbridge(['audit', '--verify'], { cwd: folder })
  return { file, verify, verifyAudit }
}

const lastBlock = 'first = (select max(first) from execution_events)'
const firstBlock = 'first = (select min(first) from execution_events)'
const secondBlock = 'first = (select first from execution_events order by first limit 1 offset 1)'

const edits: Edits = {
  'a changed event': (database) =>
    database.exec("update execution_events set lines = replace(lines, 'number 1', 'number 7')"),
  'a changed time': (database) =>
    database.exec(`update execution_events set at = at - 1 where ${lastBlock}`),
  'a removed seal': (database) =>
    database.exec(`update execution_events set seal = null where ${lastBlock}`),
  'a deleted beginning': (database) =>
    database.exec(`delete from execution_events where ${firstBlock}`),
  'a deleted end': (database) => database.exec(`delete from execution_events where ${lastBlock}`),
  'all events deleted': (database) => database.exec('delete from execution_events'),
  'a deleted end that was followed by new events': async (database, file) => {
    database.exec(`delete from execution_events where ${lastBlock}`)
    await route(file, 2)
  },
}

/** Needs three blocks: a purge may leave fewer. */
const middleEdits: Edits = {
  'a deleted event in the middle': (database) =>
    database.exec(`delete from execution_events where ${secondBlock}`),
}

test('every edit of the intent log without the key is found, and the intact log is not', async () => {
  const { file, verify } = await aLog()
  expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringContaining('all intact') })

  expect(await findUnnoticed(file, { ...edits, ...middleEdits }, verify)).toEqual([])
})

const anchor = "chain = 'execution_events'"

test('the log verifies after a purge, and every edit of the mark of purged events is found', async () => {
  const { file, verify, verifyAudit } = await aLog()
  await route(file, 2, { executions: { keep: 0 } })

  expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringContaining('all intact') })
  expect(await verifyAudit()).toMatchObject({ code: 0 })
  const markEdits: Edits = {
    ...edits,
    'a deleted mark': (database) => database.exec(`delete from chain_anchors where ${anchor}`),
    'a mark without a seal': (database) =>
      database.exec(`update chain_anchors set seal = null where ${anchor}`),
    'a mark that was moved forward with a deleted beginning': moveAnchor,
    'all events deleted with the mark': (database) =>
      database.exec(`delete from execution_events; delete from chain_anchors where ${anchor}`),
  }
  expect(await findUnnoticed(file, markEdits, verify)).toEqual([])
})

/** Deletes the first block as a purge would, without the key. */
function moveAnchor(database: Sqlite): void {
  database.exec(
    `update chain_anchors set (next, head) =
       (select first + count, head from execution_events where ${firstBlock}) where ${anchor};
     delete from execution_events where ${firstBlock}`,
  )
}

test('the log of an earlier version verifies after the update, and later edits are found', async () => {
  const { file, verify } = await aLog()
  makeUnsealed(file)
  await route(file, 2)

  expect(await verify()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/all intact\.\nThe first \d+ were written by an earlier version/),
  })
  expect(await findUnnoticed(file, edits, verify)).toEqual([])
})

test('store repair reports the events of a deleted end, and the log verifies afterwards', async () => {
  const { file: edited } = await aLog()
  const database = openSqlite(edited)
  database.exec(`delete from execution_events where ${lastBlock}`)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
  // A file that this process has not opened: libsql may still hold the lock of the other one.
  const { folder, file } = await aStoreFolder()
  copyLedger(edited, file)

  const { code, stdout } = await drawbridge(['store', 'repair', '--json'], { cwd: folder })

  expect(code).toBe(1)
  expect(JSON.parse(stdout).lost).toMatchObject([
    { table: 'execution_events', reason: 'they are missing at the end' },
  ])
  expect(await drawbridge(['executions', '--verify'], { cwd: folder })).toMatchObject({ code: 0 })
})
