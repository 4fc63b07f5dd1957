import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isFault } from '../../src/capability/fault.ts'
import { settleRun } from '../../src/governance/settle-run.ts'
import { lockProcess } from '../../src/storage/ledger/processes/process-lock.ts'
import type { ServerProcess } from '../../src/storage/ledger/processes/process-registry.ts'
import { SqliteLedger } from '../../src/storage/ledger/sqlite-ledger.ts'
import { aStoreFolder } from '../support/a-paying-bridge.ts'
import { aProject, put } from '../support/a-project.ts'
import { aServerProcess, clocksAt } from '../support/builders.ts'
import type { Finished } from '../support/cli-host.ts'
import { eventually } from '../support/eventually.ts'
import { postModern } from '../support/modern-request.ts'
import { PaymentHost } from '../support/payment-host.ts'
import { drawbridge, main, toServing } from '../support/run-cli.ts'
import { type StartedProcess, startProcess } from '../support/start-process.ts'

const namespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const canUnshare = spawnSync(namespace[0] ?? '', [...namespace.slice(1), 'true']).status === 0
if (!canUnshare) console.info('PID namespaces: skipped, unshare needs root')

const tools = `
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTool, z } from 'drawbridge-mcp'
export default defineTool({
  name: 'pay', category: 'write', description: 'Takes until the file "end" exists.', schema: z.object({}),
  async execute() {
    writeFileSync(new URL('./began', import.meta.url), '')
    while (!existsSync(new URL('./end', import.meta.url))) await sleep(10)
    return {}
  },
})
`

describe.skipIf(!canUnshare)('a process in another PID namespace', () => {
  const aContainer = (folder: string, ...args: string[]): StartedProcess => {
    const started = startProcess([main, ...args], { cwd: folder, prefix: namespace })
    onTestFinished(() => void started.process.kill('SIGKILL'))
    return started
  }
  const runInside = async (folder: string, ...args: string[]): Promise<Finished> => {
    const { exited, stdout, stderr } = aContainer(folder, ...args)
    return { code: await exited, stdout: stdout(), stderr: stderr() }
  }
  const runHere = (folder: string, ...args: string[]): Promise<Finished> =>
    drawbridge(args, { cwd: folder })
  const aRunningCall = async () => {
    const config = 'sources: [{ definitions: ./tools.mjs }]'
    const folder = await aProject({ 'tools.mjs': tools, 'drawbridge.yaml': config })
    const container = aContainer(folder, 'serve', '--port', '0')
    const { url } = await toServing(container)
    const answer = postModern(url, 'tools/call', { name: 'pay', arguments: {} })
    answer.catch(() => {})
    await eventually(() => expect(existsSync(path.join(folder, 'began'))).toBe(true))
    return { folder, container, answer }
  }

  test('keeps its running call, also for a process with the same PID', async () => {
    const { folder, answer } = await aRunningCall()

    for (const run of [runHere, runInside]) {
      const [listed] = JSON.parse((await run(folder, 'runs', 'list', '--json')).stdout)
      const settled = await run(folder, 'runs', 'settle', listed.id, '--took', 'none')
      expect(listed.state).toBe('running')
      expect(settled).toMatchObject({ code: 1, stderr: expect.stringContaining('is running') })
    }
    await put(path.join(folder, 'end'), '')

    expect((await answer).answer.result).not.toHaveProperty('isError')
    const [ended] = JSON.parse((await runHere(folder, 'runs', 'list', '--json')).stdout)
    expect(ended.state).toBe('done')
  })

  test('that was killed leaves a call whose outcome is unknown, and no file', async () => {
    const { folder, container } = await aRunningCall()

    container.process.kill('SIGKILL')
    await container.exited

    const [listed] = await eventually(async () => {
      const runs = JSON.parse((await runInside(folder, 'runs', 'list', '--json')).stdout)
      expect(runs).toMatchObject([{ state: 'unknown' }])
      return runs
    })
    const settled = await runHere(folder, 'runs', 'settle', listed.id, '--took', 'none')
    expect(settled.code).toBe(0)
    expect(readdirSync(folder).filter((name) => name.includes('-process-'))).toEqual([])
  })
})

interface Host {
  readonly bootId: string
  readonly process: Partial<ServerProcess>
}

async function aFile(): Promise<string> {
  return path.join(await aProject({}), 'ledger.db')
}

/** A ledger as opened by a process on some machine. */
function aLedgerOn(file: string, { bootId, process }: Host): SqliteLedger {
  const ledger = new SqliteLedger({
    file,
    process: { ...aServerProcess(() => true), ...process },
    clocks: { ...clocksAt(Date.now), bootId },
    keepRunsMs: 60_000,
    onError: () => {},
    onWarning: () => {},
  })
  onTestFinished(() => ledger.close())
  return ledger
}

const owner: Host = {
  bootId: 'b1',
  process: { pid: 1, namespace: 'n1', machine: 'm1', startOf: () => '100' },
}

/** The state of a run of `owner`, as seen by another process. */
async function stateSeenBy(observer: Host) {
  const file = await aFile()
  const started = Date.now()
  await aLedgerOn(file, owner).write((writer) =>
    writer.beginRun({
      id: 'r',
      caller: 'c',
      capability: 'pay',
      digest: 'd',
      fingerprint: '',
      started,
      charges: [],
    }),
  )
  const ledger = aLedgerOn(file, observer)
  return { ledger, run: ledger.read.run('r') }
}

const startedAt = (start: string) => (): string => start

test.each([
  ['the same process', {}, 'running'],
  ['another process that has its PID now', { startOf: startedAt('200') }, 'unknown'],
  ['a process beside it that sees it die', { pid: 2, isAlive: () => false }, 'unknown'],
  ['a process beside it that sees it live', { pid: 2 }, 'running'],
] as const)('a run is judged by PID and start time: %s', async (_, process, state) => {
  const { run } = await stateSeenBy({ ...owner, process: { ...owner.process, ...process } })
  expect(run?.state).toBe(state)
})

test('a run from before a restart of the same machine is interrupted', async () => {
  const { run } = await stateSeenBy({ ...owner, bootId: 'b2' })
  expect(run?.state).toBe('unknown')
})

test('a run on another machine is settled only if the operator says that its process has ended', async () => {
  const elsewhere = { bootId: 'b2', process: { ...owner.process, machine: 'm2' } }
  const { ledger, run } = await stateSeenBy(elsewhere)
  const settle = (processEnded: boolean) =>
    settleRun(ledger, 'r', 'failed', { by: 'olga', at: Date.now(), processEnded })

  expect(run).toMatchObject({ state: 'running', isUnseen: true })
  const refusal = await settle(false)
  expect(isFault(refusal) && refusal.fault).toContain('--process-ended')
  expect(await settle(true)).toMatchObject({ state: 'failed' })
})

/** A store with a payment, whose process was killed. */
async function aKilledStore() {
  const { folder, file } = await aStoreFolder()
  const host = await PaymentHost.start()
  await host.run('open', { store: file })
  await host.run('pay', { orders: ['k1'] })
  await host.kill()
  const lockFiles = () => readdirSync(folder).filter((name) => name.includes('-process-'))
  expect(lockFiles()).toHaveLength(1)
  return { folder, file, lockFiles }
}

test.each([
  ['the next start', ['audit', '--verify']],
  ['a repair', ['store', 'repair']],
])('the lock file of a killed process is removed by %s', async (_, args) => {
  const { folder, lockFiles } = await aKilledStore()
  expect((await drawbridge(args, { cwd: folder })).code).toBe(0)
  expect(lockFiles()).toEqual([])
})

test('lock files of ended processes that the store does not know are removed, and held ones are not', async () => {
  const { folder, file, lockFiles } = await aKilledStore()
  const unknown = `${file}-process-${randomUUID()}`
  writeFileSync(unknown, '')
  const held = randomUUID()
  const lock = lockProcess(file, held)
  onTestFinished(() => lock.release())

  expect((await drawbridge(['runs', 'list'], { cwd: folder })).code).toBe(0)

  expect(lockFiles()).toEqual([`${path.basename(file)}-process-${held}`])
})
