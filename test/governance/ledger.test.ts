import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Done, done } from '../../src/capability/outcome.ts'
import { SetupError } from '../../src/capability/setup-error.ts'
import { StorageError } from '../../src/capability/storage-error.ts'
import type { NewRun } from '../../src/governance/ledger.ts'
import { digestJson } from '../../src/json/digest-json.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aClock, day, minute } from '../support/a-clock.ts'
import { aPayment, countVerdicts, verdictOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCapability, aLedger, aPipeline } from '../support/builders.ts'
import { startScript } from '../support/child-script.ts'
import { eventually } from '../support/eventually.ts'

const aFile = async () => path.join(await aProject({}), 'ledger.db')

let runs = 0
const aRun = (parts: Partial<NewRun> = {}): NewRun => ({
  id: `run-${runs++}`,
  caller: 'ann',
  capability: 'pay',
  digest: 'd',
  fingerprint: 'f1',
  started: Date.now(),
  charges: [],
  ...parts,
})

test('concurrent writes share a flush and are several times faster than single writes', async () => {
  const ledger = aLedger(await aFile())
  const write = () => ledger.write((writer) => writer.beginRun(aRun()))
  const writeSequentially = async () => {
    const startedAt = performance.now()
    for (let count = 0; count < 100; count++) await write()
    return 100_000 / (performance.now() - startedAt)
  }
  const writeConcurrently = async () => {
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: 1000 }, write))
    return 1_000_000 / (performance.now() - startedAt)
  }
  await writeSequentially()
  await writeConcurrently()

  // Alternate the measurements: the disk is shared with other processes.
  const rates = []
  for (let round = 0; round < amount(3, 5); round++)
    rates.push({ alone: await writeSequentially(), together: await writeConcurrently() })

  const median = (values: number[]) =>
    values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
  const sequentialRate = median(rates.map(({ alone: writeSequentially }) => writeSequentially))
  const concurrentRate = median(rates.map(({ together: writeConcurrently }) => writeConcurrently))
  console.info(
    `group commit: ${Math.round(sequentialRate)}/s one by one, ${Math.round(concurrentRate)}/s together, ${(concurrentRate / sequentialRate).toFixed(1)} times`,
  )
  expect(concurrentRate / sequentialRate).toBeGreaterThan(amount(2, 5))
  await ledger.close()
})

test('an acknowledged write is visible to other connections', async () => {
  const file = await aFile()
  const [ledger, other] = [aLedger(file), aLedger(file)]

  await ledger.write((writer) => writer.charge('a', 'w', 3))

  expect(other.read.spent('a', 'w')).toBe(3)
})

test('a throwing write is rolled back alone, including its audit entries', async () => {
  const ledger = aLedger(await aFile())
  const bug = new Error('a bug')
  const succeedingWrite = (id: string) =>
    ledger.write((writer) => {
      writer.charge('a', 'w', 1)
      writer.append({ event: 'begin', at: 0, id })
      return id
    })
  const failingWrite = () =>
    ledger.write((writer) => {
      writer.charge('a', 'w', 100)
      writer.beginRun(aRun({ id: 'bad' }))
      writer.append({ event: 'begin', at: 0, id: 'bad' })
      throw bug
    })

  const results = await Promise.allSettled([
    succeedingWrite('1'),
    failingWrite(),
    succeedingWrite('2'),
    failingWrite(),
    succeedingWrite('3'),
  ])

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

test('a write sees earlier writes of the same flush', async () => {
  const ledger = aLedger(await aFile())
  const takeOne = () =>
    ledger.write((writer) => {
      if (writer.spent('a', 'w') >= 10) return false
      writer.charge('a', 'w', 1)
      return true
    })
  const grants = await Promise.all(Array.from({ length: 100 }, takeOne))
  expect(grants.filter(Boolean)).toHaveLength(10)
})

test('closing flushes pending writes, and a closed ledger rejects new ones', async () => {
  const file = await aFile()
  const ledger = aLedger(file)
  ledger.record(() => ({ event: 'end', at: 0, id: 'last' }))
  const written = ledger.write((writer) => writer.charge('a', 'w', 1))

  await ledger.close()
  await ledger.close()

  await expect(written).resolves.toBeUndefined()
  await expect(ledger.write(() => {})).rejects.toBeInstanceOf(StorageError)
  const reopened = aLedger(file)
  expect(reopened.read.spent('a', 'w')).toBe(1)
  expect([...reopened.audit.records(0)].map(({ entry }) => entry.id)).toEqual(['last'])
})

test('runs, approvals and spending are read back as written', async () => {
  const file = await aFile()
  const firstLedger = aLedger(file)
  const run = aRun({ id: 'r', key: 'k', charges: [{ account: 'a', window: 'w', amount: 2 }] })
  const outcome: Done = { kind: 'done', data: { text: 'é😀\u0000' }, fetchedAt: '2026' }
  const approval = {
    id: 'A',
    binding: 'b',
    request: 'r',
    covers: { code: 'c' },
    caller: 'ann',
    capability: 'pay',
    state: 'pending' as const,
    created: Date.now(),
    expires: Date.now() + minute,
    approvers: ['eve'],
    shown: { source: 's', description: 'd', arguments: '{}', effects: 'e', cost: 'c' },
  }
  await firstLedger.write((writer) => {
    writer.beginRun(run)
    writer.endRun('r', { state: 'done', finished: 5, outcome })
    writer.addApproval(approval)
  })
  await firstLedger.close()

  const { read } = aLedger(file)

  expect(read.run('r')).toEqual({ ...run, state: 'done', finished: 5, outcome })
  expect(read.runByKey('ann', 'pay', 'k')).toEqual(read.run('r'))
  expect(read.runByDigest('ann', 'pay', 'd')).toEqual(read.run('r'))
  expect(read.approval('A')).toEqual(approval)
  expect(read.approvalFor('b')).toEqual(approval)
})

test('ended runs are purged after the retention time, and running ones are kept', async () => {
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

/** A ledger file with content and no write-ahead log. */
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
  'a damaged file refuses effects with its path and the next step, allows reads and is left unchanged: %s',
  async (_, damage) => {
    const { file, bytes } = await aSoundFile()
    const damaged = damage(bytes)
    writeFileSync(file, damaged)
    const { govern, ledger } = aPipeline({ file })
    const { pay, ran } = aPayment()
    const read = aCapability({ invoke: async () => done('read') })

    const outcomes = [
      await govern(aCall({ capability: pay, idempotencyKey: 'k' })),
      await govern(aCall({ capability: read })),
    ]
    await ledger.close()

    expect(outcomes.map(verdictOf)).toEqual(['ledger_damaged', 'done'])
    expect(outcomes[0]).toMatchObject({
      failure: {
        cause: expect.stringContaining(file),
        advice: expect.stringContaining('drawbridge store check'),
      },
    })
    expect(ran).toEqual([])
    expect(readFileSync(file).equals(damaged)).toBe(true)
  },
)

test('a file of a later schema version is rejected and left unchanged', async () => {
  const { file } = await aSoundFile()
  const database = openSqlite(file)
  database.exec('pragma user_version = 1000')
  database.close()
  const bytes = readFileSync(file)

  expect(() => aLedger(file)).toThrow(/later version of Drawbridge \(schema 1000\)/)

  expect(readFileSync(file).equals(bytes)).toBe(true)
})

test('a directory or a missing parent directory is rejected', async () => {
  const folder = await aProject({})
  expect(() => aLedger(folder)).toThrow(SetupError)
  expect(() => aLedger(path.join(folder, 'no', 'such', 'folder.db'))).toThrow(SetupError)
})

test('a new ledger is readable by its owner only', async () => {
  const file = await aFile()
  await aLedger(file).close()
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a symbolic link to a ledger is followed, and one to a missing file is refused', async () => {
  const [link, target] = [await aFile(), await aFile()]
  symlinkSync(target, link)

  expect(() => aLedger(link)).toThrow(/symbolic link to a file that does not exist/)
  expect(existsSync(target)).toBe(false)

  await aLedger(target).close()
  await aLedger(link).close()
})

test('an empty file becomes a ledger, and its content survives restarts', async () => {
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

test('eight processes can open a new file at once without losing writes', async () => {
  const file = await aFile()
  const code = `
    const mine = ledger(args[0])
    const write = (n) => mine.write((writer) => {
      writer.charge('shared', 'w', 1)
      if (writer.spent('scarce', 'w') < 100) { writer.charge('scarce', 'w', 1); console.log('got') }
      writer.append({ event: 'begin', at: n, id: args[1] + '-' + n })
    })
    for (let n = 0; n < 50; n++) await Promise.all([write(4 * n), write(4 * n + 1), write(4 * n + 2), write(4 * n + 3)])
    await mine.close()`
  const children = Array.from({ length: 8 }, (_, index) => startScript(code, [file, `p${index}`]))

  const codes = await Promise.all(children.map(({ exited }) => exited))

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

test('a run of another process is in progress while it lives and unknown afterwards', async () => {
  const file = await aFile()
  const { govern } = aPipeline({ file })
  const { pay, ran } = aPayment()
  const child = startScript(
    `const mine = ledger(args[0])
     await mine.write((writer) => writer.beginRun({ id: 'theirs', caller: 'ann', capability: 'pay',
       key: 'k', digest: args[1], fingerprint: '', started: Date.now(), charges: [] }))
     console.log('begun')
     setInterval(() => {}, 1000)`,
    [file, digestJson({})],
  )
  await child.waitForOutput(/begun/)

  const duringRun = await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  child.process.kill('SIGKILL')
  await child.exited
  const restarted = aPipeline({ file, isAlive: () => false })
  const afterKill = await restarted.govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  expect([verdictOf(duringRun), verdictOf(afterKill)]).toEqual(['in_progress', 'outcome_unknown'])
  expect(ran).toEqual([])
})

test('a store that breaks at runtime refuses effects before they happen and allows reads', async () => {
  const file = await aFile()
  const { govern } = aPipeline({ file })
  const { pay, ran } = aPayment()
  const read = aCapability({ invoke: async () => done('read') })
  await govern(aCall({ capability: pay, input: { order: 1 } }))
  const database = openSqlite(file)
  database.exec('drop table runs')
  database.close()

  const outcomes = [
    await govern(aCall({ capability: pay, input: { order: 2 } })),
    await govern(aCall({ capability: pay, input: { order: 3 }, idempotencyKey: 'k' })),
    await govern(aCall({ capability: read })),
  ]

  expect(outcomes.map(verdictOf)).toEqual(['ledger_damaged', 'ledger_damaged', 'done'])
  expect(ran).toHaveLength(1)
})

const skipReason =
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

/** Lazy unmount: a file may still be open. */
function unmount(folder: string): void {
  execFileSync('/bin/umount', ['--lazy', folder])
}

if (skipReason !== undefined) console.info(`disk full: skipped, ${skipReason}`)

/** A mounted 1 MB disk that can be filled and freed. */
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
        // The write fails once the disk is full.
      }
    },
    free: () => rmSync(ballast),
  }
}

test.skipIf(skipReason)(
  'a full disk refuses effects before they happen, allows reads and recovers when space is freed',
  async () => {
    const disk = await aSmallDisk()
    const { govern, ledger } = aPipeline({ file: disk.file, settings: { timeoutMs: 20_000 } })
    const { pay, ran } = aPayment()
    const read = aCapability({ invoke: async () => done('read') })
    const buy = (order: number) =>
      govern(aCall({ capability: pay, idempotencyKey: `k${order}`, input: { order } }))
    await buy(0)

    // A run is in flight when the disk fills up.
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = { ...pay, name: 'slow', invoke: async () => released.then(() => done('slow')) }
    const inFlight = govern(aCall({ capability: slow, idempotencyKey: 'slow' }))
    while (ledger.read.runs('running', 1).length === 0) await new Promise(setImmediate)
    disk.fill()
    release()
    const inFlightOutcome = await inFlight
    const duringFullDisk = await govern(aCall({ capability: slow, idempotencyKey: 'slow' }))

    const refused = await Promise.all(Array.from({ length: 50 }, (_, order) => buy(order + 1)))
    const sequentialRefusals = [await buy(60), await buy(61)]
    const reads = await Promise.all(
      Array.from({ length: 50 }, () => govern(aCall({ capability: read }))),
    )
    const replayed = await buy(0)

    expect(countVerdicts([...refused, ...sequentialRefusals])).toEqual({ ledger_unavailable: 52 })
    expect(refused[0]).toMatchObject({ failure: { fixedBy: 'operator', retryable: true } })
    expect(countVerdicts(reads)).toEqual({ done: 50 })
    expect([verdictOf(inFlightOutcome), verdictOf(duringFullDisk), verdictOf(replayed)]).toEqual([
      'done',
      'in_progress',
      'done',
    ])
    expect(ran).toHaveLength(1)

    disk.free()
    const afterFree = await Promise.all(Array.from({ length: 50 }, (_, order) => buy(order + 1)))
    await eventually(() => expect(ledger.read.runs('running', 10)).toEqual([]))
    const replayedAfterFree = await govern(aCall({ capability: slow, idempotencyKey: 'slow' }))

    expect(countVerdicts(afterFree)).toEqual({ done: 50 })
    expect(replayedAfterFree).toMatchObject({
      kind: 'done',
      data: 'slow',
      notices: [{ about: 'replayed' }],
    })
    expect(ran).toHaveLength(51)
    await ledger.close()
    const reopened = aLedger(disk.file)
    const { count, broken } = reopened.audit.verify()
    expect(broken).toBeUndefined()
    // Records queued while the disk was full are written afterwards.
    const endRecords = [...reopened.audit.records(0)].filter(({ entry }) => entry.event === 'end')
    expect(endRecords).toHaveLength(1 + 1 + 1 + 52 + 50 + 1 + 50 + 1)
    expect(count).toBe(endRecords.length + 1 + 1 + 50)
    expect(reopened.read.runs('running', 10)).toEqual([])
    await reopened.close()
    const database = openSqlite(disk.file)
    expect(database.prepare('pragma integrity_check').get()).toMatchObject({
      integrity_check: 'ok',
    })
    database.close()
  },
)

test.skipIf(skipReason)(
  'a server does not start on a full disk and starts once space is free',
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
    const reopened = aLedger(disk.file)
    expect(reopened.read.spent('a', 'w')).toBe(1)
    await reopened.close()
  },
)

test('expired approvals are purged, and pending ones are kept', async () => {
  const clock = aClock()
  const ledger = aLedger(await aFile(), clock.now)
  const ask = (id: string, expires: number) =>
    ledger.write((writer) =>
      writer.addApproval({
        id,
        binding: id,
        request: id,
        covers: {},
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
