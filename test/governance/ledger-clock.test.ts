import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Approvals } from '../../src/governance/approvals.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { day, hour, minute, second } from '../support/a-clock.ts'
import { aMachine } from '../support/a-machine.ts'
import { aPayment, detailsOf, verdictOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { aCall, aPipeline } from '../support/builders.ts'

const jumps = [
  ['+25 h', 25 * hour],
  ['-25 h', -25 * hour],
  ['+10 min', 10 * minute],
  ['-10 min', -10 * minute],
  ['-1 h', -hour],
] as const

const aFile = async () => path.join(await aProject({}), 'ledger.db')

type Machine = ReturnType<typeof aMachine>

/** One process on a machine, with a tool that needs an approval. */
function aProcess(machine: Machine, file: string) {
  const warnings: string[] = []
  const pipeline = aPipeline({
    file,
    clocks: machine.clocks(),
    onWarning: (message) => warnings.push(message),
  })
  onTestFinished(() => pipeline.ledger.close())
  const { ledger, govern } = pipeline
  const approvals = new Approvals(ledger)
  const { pay, ran } = aPayment({ rules: { approval: true } })
  const { pay: payKeyed, ran: ranKeyed } = aPayment({ name: 'pay_keyed' })
  return {
    ...pipeline,
    warnings,
    approvals,
    ran,
    ranKeyed,
    request: async () =>
      String(detailsOf(await govern(aCall({ capability: pay, input: { id: 1 } }))).approval),
    call: async () => verdictOf(await govern(aCall({ capability: pay, input: { id: 1 } }))),
    callKeyed: async (key: string) =>
      verdictOf(await govern(aCall({ capability: payKeyed, idempotencyKey: key }))),
    confirm: () => ledger.write((writer) => ledger.clock.confirm(writer, 'olga')),
    /** Like `kill -9` a while after the last commit. */
    crash: async () => {
      await ledger.write(() => {})
    },
  }
}

test.each(jumps)(
  'an approval lives for an hour when the wall clock moves by %s',
  async (_, jump) => {
    const machine = aMachine()
    const { request, call, approvals, ran } = aProcess(machine, await aFile())
    const id = await request()

    machine.setWallClock(jump)
    machine.pass(59 * minute)
    const decision = await approvals.decide(id, 'approved', 'eve')
    machine.setWallClock(-jump)
    machine.pass(minute)

    expect(decision).toMatchObject({ approval: { state: 'approved' } })
    expect(await call()).toBe('approval_required')
    expect(ran).toEqual([])
    expect(approvals.find(id)?.state).toBe('expired')
  },
)

test('an approval does not live longer by the time that the machine slept', async () => {
  const machine = aMachine()
  const { request, call, approvals, warnings } = aProcess(machine, await aFile())
  const id = await request()
  await approvals.decide(id, 'approved', 'eve')

  machine.sleep(2 * hour)
  machine.pass(second)

  expect(await call()).toBe('approval_required')
  expect(approvals.find(id)?.state).toBe('expired')
  expect(warnings).toEqual([])
})

test('a wall clock that is set while the process runs is reported once, and again when it is right', async () => {
  const machine = aMachine()
  const { ledger, warnings, readAudit } = aProcess(machine, await aFile())

  machine.setWallClock(25 * hour)
  for (let count = 0; count < 5; count++) {
    machine.pass(2 * second)
    ledger.clock.now()
  }
  machine.setWallClock(-25 * hour)
  machine.pass(second)
  ledger.clock.now()

  const entries = await readAudit()
  expect(entries).toMatchObject([
    { event: 'clock', code: 'clock_jump', seconds: 25 * 3600 },
    { event: 'clock', code: 'clock_agrees', seconds: 0 },
  ])
  expect(warnings).toEqual([
    expect.stringContaining('1 d 1 h ahead'),
    expect.stringContaining('agrees'),
  ])
})

test('steps of up to a minute, as by NTP, are accepted silently across a restart', async () => {
  const machine = aMachine()
  const file = await aFile()
  const { ledger } = aProcess(machine, file)
  const before = ledger.clock.now()
  await ledger.close()

  machine.setWallClock(-50 * second)
  const restarted = aProcess(machine, file)

  expect(restarted.ledger.clock.findDoubt()).toBeUndefined()
  expect(restarted.ledger.clock.now()).toBeGreaterThanOrEqual(before)
  expect(restarted.warnings).toEqual([])
})

test.each(jumps)(
  'a jump of %s across a restart of the process is exactly detected',
  async (_, jump) => {
    const machine = aMachine()
    const file = await aFile()
    const { request, approvals, callKeyed, crash, ledger } = aProcess(machine, file)
    const id = await request()
    await approvals.decide(id, 'approved', 'eve')
    await callKeyed('k')
    await crash()
    machine.pass(30 * minute)
    const before = ledger.clock.now()

    machine.setWallClock(jump)
    const restarted = aProcess(machine, file)

    expect(restarted.ledger.clock.now()).toBe(before)
    expect(await restarted.call()).toBe('clock_uncertain')
    expect(await restarted.callKeyed('new')).toBe('clock_uncertain')
    expect(await restarted.callKeyed('k')).toBe('done')
    expect(restarted.ranKeyed).toEqual([])
    expect(await restarted.approvals.decide(id, 'approved', 'eve')).toHaveProperty('fault')

    await restarted.confirm()
    expect(await restarted.call()).toBe(jump > 30 * minute ? 'approval_required' : 'done')
    expect(await restarted.callKeyed('k')).toBe('done')
    expect(restarted.ranKeyed).toEqual([])
    const date = restarted.ledger.clock.calendarNow()
    expect(date).toBe(machine.clocks().wallMs())
    machine.pass(24 * hour)
    expect(await restarted.callKeyed('k')).toBe('done')
    expect(restarted.ranKeyed).toHaveLength(1)
  },
)

test('a confirmation that sets the date back revives nothing', async () => {
  const machine = aMachine()
  const file = await aFile()
  machine.setWallClock(10 * day)
  const first = aProcess(machine, file)
  const id = await first.request()
  await first.approvals.decide(id, 'approved', 'eve')
  await first.callKeyed('k')
  machine.pass(25 * hour)
  expect(await first.call()).toBe('approval_required')
  await first.ledger.close()

  machine.setWallClock(-10 * day)
  const restarted = aProcess(machine, file)
  await restarted.confirm()

  expect(restarted.ledger.clock.calendarNow()).toBe(machine.clocks().wallMs())
  expect(await restarted.call()).toBe('approval_required')
  expect(restarted.approvals.find(id)?.state).toBe('expired')
  expect(await restarted.callKeyed('k')).toBe('done')
  expect([restarted.ran.length, restarted.ranKeyed.length]).toEqual([0, 1])
  expect(restarted.approvals.list(false)[0]?.expires).toBeLessThan(machine.clocks().wallMs() + day)
})

test('a running process accepts a confirmation made in another one at once', async () => {
  const machine = aMachine()
  const file = await aFile()
  await aProcess(machine, file).ledger.close()
  machine.setWallClock(25 * hour)
  const server = aProcess(machine, file)
  const terminal = aProcess(machine, file)

  expect(await server.call()).toBe('clock_uncertain')
  await terminal.confirm()

  expect(await server.call()).toBe('approval_required')
})

test('doubt ends by itself when the wall clock is right again', async () => {
  const machine = aMachine()
  const file = await aFile()
  await aProcess(machine, file).ledger.close()
  machine.setWallClock(-hour)
  const server = aProcess(machine, file)
  const inDoubt = await server.call()

  machine.setWallClock(hour)

  expect(inDoubt).toBe('clock_uncertain')
  expect(await server.call()).toBe('approval_required')
  expect(server.warnings.at(-1)).toContain('agrees')
})

test.each([
  ['set back', 0, -hour, true],
  ['off for a month', 30 * day, 0, false],
  ['off for half a year', 180 * day, 0, true],
  ['off for a minute, and set back by half of it', minute, -30 * second, false],
])('after a restart of the machine, %s', async (_, pause, jump, isDoubtful) => {
  const machine = aMachine()
  const file = await aFile()
  await aProcess(machine, file).ledger.close()

  machine.restart(pause)
  machine.setWallClock(jump)

  const { ledger } = aProcess(machine, file)
  expect(ledger.clock.findDoubt() !== undefined).toBe(isDoubtful)
})

test('a machine that starts with an old date is believed once its date is right, in any process', async () => {
  const machine = aMachine()
  const file = await aFile()
  await aProcess(machine, file).ledger.close()
  machine.restart(8 * hour)
  machine.setWallClock(-365 * day)
  const [server, command] = [aProcess(machine, file), aProcess(machine, file)]
  const inDoubt = await server.call()
  machine.pass(20 * second)
  await command.ledger.close()

  machine.setWallClock(365 * day)

  expect(inDoubt).toBe('clock_uncertain')
  expect(await server.call()).toBe('approval_required')
  expect(await aProcess(machine, file).call()).toBe('approval_required')
  expect(server.ledger.clock.now()).toBe(machine.clocks().wallMs())
})

test('a wall clock set before a restart of the machine, and not confirmed, stays doubtful', async () => {
  const machine = aMachine()
  const file = await aFile()
  const first = aProcess(machine, file)
  await first.callKeyed('k')
  machine.setWallClock(25 * hour)
  machine.pass(2 * second)
  await first.crash()

  machine.restart(minute)
  const later = aProcess(machine, file)
  expect(await later.call()).toBe('clock_uncertain')
  machine.setWallClock(-25 * hour)

  expect(await later.callKeyed('k')).toBe('done')
  expect(later.ranKeyed).toEqual([])
  expect(later.ledger.clock.findDoubt()).toBeUndefined()
})

test.each([
  ['live', false],
  ['across a restart', true],
])('a temporary forward jump purges nothing: %s', async (_, restarts) => {
  const machine = aMachine()
  const file = await aFile()
  const first = aProcess(machine, file)
  const id = await first.request()
  await first.callKeyed('k')
  await first.crash()

  machine.setWallClock(25 * hour)
  const during = restarts ? aProcess(machine, file) : first
  for (let count = 0; count < 3; count++) {
    machine.pass(minute)
    await during.ledger.write(() => {})
  }
  machine.setWallClock(-25 * hour)

  const after = restarts ? aProcess(machine, file) : first
  expect(await after.callKeyed('k')).toBe('done')
  expect(after.approvals.find(id)?.state).toBe('pending')
  expect(after.ledger.read.runs(undefined, 10)).toHaveLength(1)
})

test('a store from before the clock existed is compared with its last audit entry', async () => {
  const machine = aMachine()
  const file = await aFile()
  const first = aProcess(machine, file)
  await first.callKeyed('k')
  await first.ledger.close()
  const database = openSqlite(file)
  database.exec('delete from clock')
  database.close()

  machine.setWallClock(-hour)

  expect(aProcess(machine, file).ledger.clock.findDoubt()).toContain('1 h behind')
})

test('the audit runs backwards only after a clock entry', async () => {
  const machine = aMachine()
  const file = await aFile()
  const first = aProcess(machine, file)
  await first.callKeyed('1')
  machine.setWallClock(-hour)
  machine.pass(second)
  await first.callKeyed('2')
  await first.ledger.close()
  const restarted = aProcess(machine, file)
  await restarted.confirm()
  machine.pass(second)
  await restarted.callKeyed('3')

  const entries = await restarted.readAudit()
  const confirmation = entries.findIndex(({ code }) => code === 'clock_confirmed')
  const times = entries.map(({ at }) => at)
  for (const [index, at] of times.entries())
    if (index > 0 && index !== confirmation)
      expect(at).toBeGreaterThanOrEqual(times[index - 1] ?? 0)
  expect(entries[confirmation]).toMatchObject({ by: 'olga', seconds: -3600 })
  expect(times.at(-1)).toBe(machine.clocks().wallMs())
})
