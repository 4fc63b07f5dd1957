import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toBlockSeal, toHash } from '../../src/storage/ledger/chain/chain-block.ts'
import { StateRow, serializeState } from '../../src/storage/ledger/damage/ledger-state.ts'
import { replaceWitness } from '../../src/storage/ledger/damage/witness.ts'
import { RowSeals } from '../../src/storage/ledger/seals/row-seals.ts'
import { toChainKey } from '../../src/storage/ledger/seals/seal.ts'
import { openSqlite, type Sqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aPayingBridge, aStoreFolder } from '../support/a-paying-bridge.ts'
import { type Edits, findUnnoticed } from '../support/edit-store.ts'
import { makeUnsealed } from '../support/remove-seals.ts'
import { drawbridge } from '../support/run-cli.ts'

/** A ledger with five side effects, each with blocks of its own, and checkpoints in a file. */
async function aTrail() {
  const { folder, file } = await aStoreFolder()
  const checkpoints = path.join(folder, 'checkpoints.ndjson')
  const audit = { checkpoints: { every: 3600, to: { file: checkpoints } } }
  for (const part of [1, 2]) {
    const { pay, close } = aPayingBridge(file, { audit })
    for (let n = 0; n < 3; n++) await pay(`k${part}${n}`)
    await close()
  }
  const verify = async (...flags: string[]) =>
    drawbridge(['audit', '--verify', ...flags], { cwd: folder })
  return { folder, file, checkpoints, verify }
}

interface Line {
  readonly first: number
  readonly count: number
  readonly lines: string
}

/** Recomputes the digests of all blocks as everybody can, without the key. */
function recompute(database: Sqlite, edit: (lines: string[]) => string[]): void {
  const blocks = database
    .prepare<Line>('select first, count, lines from audit order by first')
    .all()
  const texts = blocks.flatMap(({ lines }) => lines.split('\n').map((line) => line.slice(44)))
  let head = '0'.repeat(43)
  database.exec('delete from audit')
  for (const [first, text] of edit(texts).entries()) {
    head = toHash(head, text)
    database
      .prepare('insert into audit (first, count, at, head, lines) values (?, 1, 0, ?, ?)')
      .run(first, head, `${head} ${text}`)
  }
}

const edits: Edits = {
  'a changed record with recomputed digests': (database) =>
    recompute(database, (texts) => texts.map((text) => text.replace('k10', 'k99')).with(0, '{}')),
  'an inserted record with recomputed digests': (database) =>
    recompute(database, (texts) => ['{"event":"end","at":1}', ...texts]),
  'two records in another order with recomputed digests': (database) =>
    recompute(database, ([first = '', second = '', ...rest]) => [second, first, ...rest]),
  'a deleted end': (database) =>
    database.exec('delete from audit where first = (select max(first) from audit)'),
  'everything but the first block deleted': (database) =>
    database.exec('delete from audit where first > 0'),
  'a deleted beginning': (database) => database.exec('delete from audit where first < 2'),
  'a deleted beginning with an anchor': (database) => {
    const [block] = database
      .prepare<{ first: number; count: number; head: string }>(
        'select first, count, head from audit order by first limit 1',
      )
      .all()
    const next = (block?.first ?? 0) + (block?.count ?? 0)
    database.exec(`delete from audit where first < ${next}`)
    database
      .prepare(
        `insert or replace into chain_anchors (chain, next, head, seal) values ('audit', ?, ?, ?)`,
      )
      .run(next, block?.head ?? '', 'x'.repeat(43))
  },
  'a changed time': (database) =>
    database.exec('update audit set at = 0 where first = (select max(first) from audit)'),
  'seals removed, with the mark of the first sealed record': (database) =>
    database.exec(
      `update audit set seal = null; delete from chain_anchors where chain = 'audit:sealed'`,
    ),
  'the first sealed record moved to the end': (database) =>
    database.exec(
      `update audit set seal = null;
       update chain_anchors set next = 1000 where chain = 'audit:sealed'`,
    ),
  'another key': (_, file) => writeFileSync(`${file}.key`, `${'A'.repeat(43)}\n`),
  'no key': (_, file) => rmSync(`${file}.key`),
  'no witness': (_, file) => rmSync(`${file}.witness`),
}

test('every edit without the key is found, and the intact trail is not', async () => {
  const { file, verify } = await aTrail()
  expect(await verify()).toMatchObject({ code: 0, stdout: '12 records, all intact.\n' })

  expect(await findUnnoticed(file, edits, verify)).toEqual([])
})

test('the trail of an earlier version verifies after the update, and later edits are found', async () => {
  const { file, verify } = await aTrail()
  makeUnsealed(file)
  const { pay, close } = aPayingBridge(file)
  await pay('k3')
  await close()

  expect(await verify()).toMatchObject({
    code: 0,
    stdout:
      '14 records, all intact.\nThe first 12 were written by an earlier version, without a key.\n',
  })
  const editsOfUpdated: Edits = {
    ...edits,
    'an old record changed with recomputed digests': (database) => recomputeOld(database, 12),
    'the records since the update deleted': (database) =>
      database.exec('delete from audit where first >= 12'),
    'a changed record since the update': (database) =>
      database.exec(
        'update audit set lines = replace(lines, \'"pay"\', \'"pey"\') where first >= 12',
      ),
    'the first sealed record moved to the end': (database) =>
      database.exec("update chain_anchors set next = 14 where chain = 'audit:sealed'"),
  }
  expect(await findUnnoticed(file, editsOfUpdated, verify)).toEqual([])
})

/** Changes the first record, and recomputes the digests of all blocks that have no seal. */
function recomputeOld(database: Sqlite, count: number): void {
  const sealed = database
    .prepare<Line & { seal: string; at: number; head: string }>(
      'select * from audit where first >= ?',
    )
    .all(count)
  recompute(database, (texts) => texts.slice(0, count).with(0, '{}'))
  for (const { first, count, at, head, lines, seal } of sealed)
    database
      .prepare('insert into audit (first, count, at, head, lines, seal) values (?, ?, ?, ?, ?, ?)')
      .run(first, count, at, head, lines, seal)
}

test('edits by someone with the key are found with checkpoints, and only with them', async () => {
  const { file, checkpoints, verify } = await aTrail()
  expect(await verify('--checkpoints', checkpoints)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('2 checkpoints compared'),
  })
  const secret = readFileSync(`${file}.key`, 'utf8').trim()
  const database = openSqlite(file)
  forgeAll(database, file, secret)
  database.close()

  expect(await verify()).toMatchObject({ code: 0 })
  expect(await verify('--checkpoints', checkpoints)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/line \d of .*checkpoints/),
  })
})

/** Drops the last record and seals the rest again, in the database and in the witness. */
function forgeAll(database: Sqlite, file: string, secret: string): void {
  recompute(database, (texts) => texts.slice(0, -1))
  const key = toChainKey(secret)
  const blocks = database
    .prepare<{ first: number; count: number; at: number; head: string }>(
      'select first, count, at, head from audit order by first',
    )
    .all()
  for (const block of blocks)
    database
      .prepare('update audit set seal = ? where first = ?')
      .run(toBlockSeal(key, 'audit', block), block.first)
  const seals = new RowSeals(secret)
  const last = blocks.at(-1)
  const state = new StateRow(database, seals).read()
  const audit = { next: blocks.length, head: last?.head ?? '' }
  const record = serializeState({ ...state, audit }, seals)
  database.prepare('update ledger_state set record = ?').run(record)
  replaceWitness(`${file}.witness`, seals, record, '0:0')
}

test('a forged checkpoint, and one of another store, are named by their line', async () => {
  const { checkpoints, verify } = await aTrail()
  const other = await aTrail()
  const [first = ''] = readFileSync(checkpoints, 'utf8').split('\n')
  const lines = [first.replace(/"count":\d+/, '"count":1'), '{}', readFileSync(other.checkpoints)]
  writeFileSync(checkpoints, lines.join('\n'))
  const { code, stdout } = await verify('--checkpoints', checkpoints)
  expect(code).toBe(1)
  expect(stdout).toMatch(/Line 1 of .* has an invalid signature/)
  expect(stdout).toMatch(/Line 2 of .* is not a checkpoint/)
  expect(stdout).toMatch(/Line 3 of .* is signed with another key/)
})

test('a command and a URL receive checkpoints; a failing one is reported and does not stop calls', async () => {
  const { folder, file } = await aStoreFolder()
  const received: string[] = []
  const server = createServer(async (request, response) => {
    if (request.url === '/moved') return void response.writeHead(307, { location: '/' }).end()
    for await (const chunk of request) received.push(String(chunk))
    response.end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const copy = path.join(folder, 'copy')
  const script = `process.stdin.pipe(require('node:fs').createWriteStream(${JSON.stringify(copy)}))`
  const errors: string[] = []
  const targets = [
    { url: `http://127.0.0.1:${port}/checkpoints` },
    { command: [process.execPath, '-e', script] },
    { command: [process.execPath, '-e', 'process.exit(3)'] },
    { url: `http://127.0.0.1:${port}/moved` },
  ]
  for (const [index, to] of targets.entries()) {
    const { pay, close, executed } = aPayingBridge(file, {
      audit: { checkpoints: { to } },
      onOperationalError: (error) => errors.push(String((error as Error).cause)),
    })
    await pay(`k${index}`)
    expect(executed).toEqual([`k${index}`])
    await close()
  }
  expect(JSON.parse(received.join(''))).toMatchObject({ chain: 'audit', count: 2 })
  expect(JSON.parse(readFileSync(copy, 'utf8'))).toMatchObject({ chain: 'audit', count: 4 })
  expect(errors).toEqual([
    expect.stringContaining('ended with 3'),
    expect.stringContaining('redirects are not followed'),
  ])
})
