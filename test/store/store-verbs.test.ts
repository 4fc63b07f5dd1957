import { hash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { checkStore } from '../../src/storage/maintenance/check-store.ts'
import type { LostRow } from '../../src/storage/maintenance/salvage-table.ts'
import { openReadOnly, openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { createRandom, type Random } from '../fuzz/random.ts'
import { aPayingBridge, aStoreFolder, copyLedger, payInto } from '../support/a-paying-bridge.ts'
import { aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { amount } from '../support/amount.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { drawbridge } from '../support/run-cli.ts'

const toKeys = (length: number, prefix = 'k') => Array.from({ length }, (_, n) => `${prefix}${n}`)

/** Content and time of change of every file of a store. */
const takeSnapshot = (file: string) =>
  readdirSync(path.dirname(file))
    .filter((name) => name.startsWith(path.basename(file)) && !/-shm$|\.paying/.test(name))
    .map((name) => path.join(path.dirname(file), name))
    .filter((name) => statSync(name).size > 0)
    .map((name) => [name, hash('sha256', readFileSync(name)), statSync(name).mtimeMs])

/** A store with 300 records that no process has open. */
async function aClosedRecordStore(): Promise<string> {
  const store = await aRecordStore()
  store.put(
    messages(),
    'work',
    someMessages(300, (n) => ({ body: `bridge ${n} ${'x'.repeat(200)}` })),
  )
  store.grant({ stream: 'messages' })
  const file = `${store.file}.closed`
  const database = openSqlite(store.file)
  database.exec(`vacuum into '${file}'`)
  database.close()
  return file
}

test('check finds a ledger in use sound, and changes none of its files', async () => {
  const { folder, file } = await aStoreFolder()
  const { pay, bridge } = aPayingBridge(file)
  await Promise.all(toKeys(5).map(pay))
  // Reading the audit writes pending entries.
  expect(bridge.audit).toHaveLength(10)
  const before = takeSnapshot(file)

  const { code, stdout } = await drawbridge(['store', 'check'], { cwd: folder })

  expect(stdout).toContain('the ledger is sound')
  expect(code).toBe(0)
  expect(takeSnapshot(file)).toEqual(before)
})

test('check does not checkpoint a ledger that was not closed, also when its connection is collected', async () => {
  const { folder, file } = await aStoreFolder()
  const { pay, close } = aPayingBridge(file)
  await Promise.all(toKeys(5).map(pay))
  const copy = path.join(folder, 'copy.db')
  copyLedger(file, copy)
  copyFileSync(`${file}-wal`, `${copy}-wal`)
  const before = takeSnapshot(copy)

  const { findings } = checkStore(copy)
  await collectGarbage()

  expect(findings).toEqual([])
  expect(takeSnapshot(copy)).toEqual(before)
  await close()
})

test('check reports a file that others can read, without failing', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  chmodSync(`${file}.key`, 0o644)
  const { code, stdout } = await drawbridge(['store', 'check', '--json'], { cwd: folder })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)[0].findings).toMatchObject([
    { severity: 'warning', where: `${file}.key`, next: expect.stringContaining('chmod 600') },
  ])
})

test('check names a changed row and the next step', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  const database = openSqlite(file)
  database.exec("update runs set key = 'other'")
  database.close()
  const { code, stdout } = await drawbridge(['store', 'check'], { cwd: folder })
  expect(code).toBe(1)
  expect(stdout).toMatch(/runs.*seal.*drawbridge store repair/)
})

test('check recognizes a records store, also in a configuration', async () => {
  const file = await aClosedRecordStore()
  const { folder, file: ledger } = await aStoreFolder()
  await payInto(ledger, ['k1'])
  writeFileSync(
    path.join(folder, 'drawbridge.yaml'),
    `store: ./ledger.db\nsources: [{ records: ${file} }]\n`,
  )
  const both = await drawbridge(['store', 'check'], { cwd: folder })
  const one = await drawbridge(['store', 'check', '--store', file])
  expect(both.stdout).toMatch(/the ledger is sound[\s\S]*the records store is sound/)
  expect(one.stdout).toContain('the records store is sound')
})

test('a backup during writes has every key that was acknowledged before it started', async () => {
  const { folder, file } = await aStoreFolder()
  const { pay, close } = aPayingBridge(file)
  const acknowledged = toKeys(100)
  await Promise.all(acknowledged.map(pay))
  let isDone = false
  const writing = (async () => {
    for (let n = 0; !isDone; n++) await pay(`later${n}`)
  })()

  const { code, stdout } = await drawbridge(['store', 'backup', 'backup.db', '--json'], {
    cwd: folder,
  })
  isDone = true
  await writing
  await close()

  expect(code).toBe(0)
  const { files } = JSON.parse(stdout)
  for (const name of files) expect(statSync(name).mode & 0o077).toBe(0)
  const copy = aPayingBridge(path.join(folder, 'backup.db'))
  await Promise.all(acknowledged.map(copy.pay))
  expect(copy.executed).toEqual([])
})

test('a backup never replaces another one without --force', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  const backUp = (...flags: string[]) =>
    drawbridge(['store', 'backup', 'backup.db', ...flags], { cwd: folder })
  expect((await backUp()).code).toBe(0)
  expect(await backUp()).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') })
  expect((await backUp('--force')).code).toBe(0)
  expect(readdirSync(folder).filter((name) => name.includes('draft'))).toEqual([])
})

test('restore keeps the effects since the backup, and starts a generation that the audit names', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, toKeys(3, 'before'))
  await drawbridge(['store', 'backup', 'backup.db'], { cwd: folder })
  await payInto(file, toKeys(3, 'after'))

  const { code, stdout } = await drawbridge(
    ['store', 'restore', 'backup.db', '--as', 'olga', '--json'],
    { cwd: folder },
  )

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ generation: 2, kept: { runs: 6 }, lost: [] })
  const { pay, executed, bridge } = aPayingBridge(file)
  await Promise.all([...toKeys(3, 'before'), ...toKeys(3, 'after')].map(pay))
  expect(executed).toEqual([])
  expect(bridge.audit).toContainEqual(
    expect.objectContaining({ event: 'restored', by: 'olga', generation: 2 }),
  )
  const { stdout: check } = await drawbridge(['store', 'check'], { cwd: folder })
  expect(check).toContain('sound')
})

test('restore after the loss of the database names the time in which effects may be missing', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  await drawbridge(['store', 'backup', 'backup.db'], { cwd: folder })
  await payInto(file, ['k2'])
  writeFileSync(file, '')

  const { code, stdout } = await drawbridge(['store', 'restore', 'backup.db'], { cwd: folder })

  expect(code).toBe(0)
  expect(stdout).toMatch(/Effects between .+Z and .+Z may be missing/)
  const { bridge } = aPayingBridge(file)
  expect(bridge.audit.at(-1)).toMatchObject({ event: 'restored', from: expect.any(Number) })
})

test('a used approval of the time after a backup is not revived', async () => {
  const { folder, file } = await aStoreFolder()
  const policy = { rules: [{ match: 'pay', approval: true }] }
  const first = aPayingBridge(file, { policy })
  await first.pay('k1')
  const [approval] = first.bridge.approvals.list(false)
  await first.bridge.approvals.decide(approval?.id ?? '', 'approved', 'olga')
  await drawbridge(['store', 'backup', 'backup.db'], { cwd: folder })
  await first.pay('k1')
  expect(first.executed).toEqual(['k1'])
  await first.close()
  writeFileSync(file, '')

  await drawbridge(['store', 'restore', 'backup.db'], { cwd: folder })

  const second = aPayingBridge(file, { policy })
  const answer = await second.pay('k1')
  expect(JSON.stringify(answer)).toContain('approval_required')
  expect(second.executed).toEqual([])
})

test('restore and repair refuse a store that is open in another process', async () => {
  const { folder, file } = await aStoreFolder()
  const { pay } = aPayingBridge(file)
  await pay('k1')
  await drawbridge(['store', 'backup', 'backup.db'], { cwd: folder })
  for (const args of [['restore', 'backup.db'], ['repair']])
    expect(await drawbridge(['store', ...args], { cwd: folder })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('open in another process'),
    })
})

test('restore refuses a damaged backup, and leaves the store as it is', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  await drawbridge(['store', 'backup', 'backup.db'], { cwd: folder })
  const backup = path.join(folder, 'backup.db')
  const bytes = readFileSync(backup)
  bytes[5000] = (bytes[5000] ?? 0) ^ 1
  writeFileSync(backup, bytes)
  const before = takeSnapshot(file)
  const { code, stderr } = await drawbridge(['store', 'restore', 'backup.db'], { cwd: folder })
  expect(code).toBe(2)
  expect(stderr).toContain('damaged')
  expect(takeSnapshot(file)).toEqual(before)
})

test('repair keeps a run whose row was changed, with an unknown outcome, and reports it', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1', 'k2'])
  const database = openSqlite(file)
  database.exec("update runs set state = 'failed' where key = 'k1'")
  database.close()

  const { code, stdout } = await drawbridge(['store', 'repair', '--json'], { cwd: folder })

  const { lost, saved, generation, damaged } = JSON.parse(stdout)
  expect({ code, generation, runs: saved.runs }).toEqual({ code: 1, generation: 2, runs: 2 })
  expect(lost).toMatchObject([
    { table: 'runs', reason: expect.stringContaining('unknown outcome') },
  ])
  for (const name of damaged) expect(existsSync(name)).toBe(true)
  const { pay, executed } = aPayingBridge(file)
  expect(JSON.stringify(await pay('k1'))).toContain('outcome_unknown')
  expect((await pay('k2')).isError).toBeFalsy()
  expect(executed).toEqual([])
})

test('repair reports acknowledged commits that are missing, although every row is intact', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  copyFileSync(file, `${file}.old`)
  await payInto(file, ['k2'])
  copyFileSync(`${file}.old`, file)

  const { code, stdout } = await drawbridge(['store', 'repair'], { cwd: folder })

  expect(code).toBe(1)
  expect(stdout).toMatch(
    /lost {4}\* commits after \d+, up to \d+: they are missing: .*may run again/,
  )
  expect(stdout).not.toContain('nothing is lost')
})

test('repair of a store whose key is lost starts with a new key, and says that nothing was verified', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  rmSync(`${file}.key`)
  const { stdout } = await drawbridge(['store', 'repair'], { cwd: folder })
  expect(stdout).toContain('no seal was verified')
  expect((await drawbridge(['store', 'check'], { cwd: folder })).stdout).toContain('sound')
  const verified = await drawbridge(['audit', '--verify'], { cwd: folder })
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('without a key') })
})

test('a records store is repaired from a damaged page, and restored from a backup', async () => {
  const file = await aClosedRecordStore()
  const backup = `${file}.backup`
  expect((await drawbridge(['store', 'backup', backup, '--store', file])).code).toBe(0)
  const bytes = readFileSync(file)
  const pageStart = Math.floor(bytes.indexOf('bridge 150 ') / 4096) * 4096
  bytes.fill(0xff, pageStart, pageStart + 4096)
  writeFileSync(file, bytes)
  expect((await drawbridge(['store', 'check', '--store', file])).code).toBe(1)

  const { code, stdout } = await drawbridge(['store', 'repair', '--store', file, '--json'])

  const { saved, lost } = JSON.parse(stdout)
  expect(code).toBe(1)
  expect(lost).toContainEqual(expect.objectContaining({ table: 'r1' }))
  expect(saved.r1).toBeGreaterThan(250)
  expect(saved).toMatchObject({ packages: 1, grants: 1, tokens: 1 })
  expect((await drawbridge(['store', 'check', '--store', file])).stdout).toContain('sound')
  expect(await exportedRecords(file)).toHaveLength(saved.r1)

  expect((await drawbridge(['store', 'restore', backup, '--store', file])).code).toBe(0)
  expect(await exportedRecords(file)).toHaveLength(300)
})

const exportedRecords = async (file: string) =>
  (await drawbridge(['records', 'export', '--store', file])).stdout.trim().split('\n')

test('no acknowledged key runs again after the repair of a randomly damaged ledger, unless its loss is reported', async () => {
  const { file: original } = await aStoreFolder()
  const keys = toKeys(150)
  await payInto(original, keys)
  const runIds = readRunIds(original)
  for (let seed = 1; seed <= amount(4, 60); seed++) {
    const { folder, file } = await aStoreFolder()
    copyLedger(original, file)
    damage(file, createRandom(seed))

    const { code, stdout, stderr } = await drawbridge(['store', 'repair', '--json'], {
      cwd: folder,
    })

    expect([0, 1], stderr).toContain(code)
    const { lost } = JSON.parse(stdout)
    const check = await drawbridge(['store', 'check'], { cwd: folder })
    expect(check.code, `seed ${seed}: ${check.stdout}`).toBe(0)
    const verified = await drawbridge(['audit', '--verify'], { cwd: folder })
    expect(verified.code, `seed ${seed}: ${verified.stdout}`).toBe(0)
    const { pay, executed, close } = aPayingBridge(file)
    for (const key of keys) await pay(key)
    await close()
    const unreported = executed.filter((key) => !isReported(lost, runIds.get(key) ?? ''))
    expect(unreported, `seed ${seed}: ${JSON.stringify(lost)}`).toEqual([])
  }
})

function readRunIds(file: string): ReadonlyMap<string, string> {
  const database = openReadOnly(file)
  const rows = database.prepare<{ id: string; key: string }>('select id, key from runs').all()
  database.close()
  return new Map(rows.map(({ id, key }) => [key, id]))
}

/** True if a loss names the run, a range of runs that contains it, or the whole ledger. */
const isReported = (lost: readonly LostRow[], runId: string): boolean =>
  lost.some(
    ({ table, key }) =>
      table === '*' || (table === 'runs' && (key === runId || isInRange(key, runId))),
  )

/** Ranges are written as "after A and before B", "from the beginning and before B" or "… up to the end". */
function isInRange(range: string, id: string): boolean {
  if (!/^(after|from the beginning) /.test(range)) return false
  const [, after = ''] = /^after (\S+)/.exec(range) ?? []
  const [, before = '~'] = /and before (\S+)$/.exec(range) ?? []
  return after < id && id < before
}

/** Changes bits, or overwrites a part, of one to three pages. */
function damage(file: string, random: Random): void {
  const bytes = readFileSync(file)
  for (let count = 1 + random.below(3); count > 0; count--) {
    const offset = random.below(bytes.length)
    const length = random.pick([1, 16, 512, 4096])
    if (random.chance(0.3)) bytes.fill(0, offset, Math.min(bytes.length, offset + length))
    else
      for (let at = offset; at < Math.min(bytes.length, offset + length); at++)
        bytes[at] = random.below(256)
  }
  writeFileSync(file, random.chance(0.2) ? bytes.subarray(0, random.below(bytes.length)) : bytes)
}

test('an older copy put in place of the database is found by check', async () => {
  const { folder, file } = await aStoreFolder()
  await payInto(file, ['k1'])
  copyFileSync(file, `${file}.old`)
  await payInto(file, ['k2'])
  copyFileSync(`${file}.old`, file)
  const { code, stdout } = await drawbridge(['store', 'check'], { cwd: folder })
  expect(code).toBe(1)
  expect(stdout).toContain('was acknowledged')
})
