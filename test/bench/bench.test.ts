import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const bench = fileURLToPath(new URL('../../bench/', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-bench-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a quick run prints a table of gates and keeps its results', async () => {
  const json = path.join(folder, 'results.json')

  const { code, stdout } = await run('run.mjs', '--quick', '--scenario', 'commands', '--json', json)

  expect(code).toBe(0)
  expect(stdout).toMatch(/\| measure \| gate \| stretch \| before \| now \| met \|/)
  expect(stdout).toMatch(/\| drawbridge --help \| ≤ 3.2 × node -e 0 \| 2 \| – \| [\d.]+ \|/)
  const { gates } = JSON.parse(await readFile(json, 'utf8'))
  expect(gates).toContainEqual(
    expect.objectContaining({ title: 'drawbridge call', gate: 4.5, now: expect.any(Number) }),
  )
})

test('a contestant with a wrong answer ends the run with its command and output', async () => {
  const before = await aCheckout("console.log('no help here')")

  const { code, stderr } = await run(
    'run.mjs',
    ...['--quick', '--scenario', 'commands', '--before', before],
  )

  expect(code).toBe(2)
  expect(stderr).toContain('printed no "USAGE"')
  expect(stderr).toContain('no help here')
})

test.each([
  [['--scenario', 'nothing'], 'Unknown scenario nothing. Available: call, '],
  [['--before', '/nowhere'], '/nowhere/dist/cli/main.js is missing. Run: npm run build'],
  [['--table', 'README.md', '--scenario', 'call'], 'needs a run of all scenarios'],
  [['--table', fileURLToPath(import.meta.url)], 'The document needs the lines <!-- npm run bench'],
])('the arguments %j are refused with the reason', async (args, reason) => {
  const { code, stderr } = await run('run.mjs', ...args)

  expect(code).toBe(2)
  expect(stderr).toContain(reason)
})

test.skipIf(!existsSync('/proc/self/stat'))('an interrupted run leaves no process', async () => {
  const child = spawn(process.execPath, [
    path.join(bench, 'run.mjs'),
    ...['--quick', '--scenario', 'legacy-session'],
  ])
  const exited = once(child, 'exit')
  await expect.poll(() => childrenOf(child.pid)).not.toEqual([])
  const servers = await childrenOf(child.pid)

  child.kill('SIGINT')

  expect(await exited).toEqual([2, null])
  await expect.poll(() => servers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
})

test('the plot shows every measured gate, before and now, the same for the same results', async () => {
  const json = path.join(folder, 'plot.json')
  const gates = [
    { ...aVerdict, title: 'a call', bound: 'at least', before: 0.5, now: 3.21, met: true },
    { ...aVerdict, title: 'a start & a list', bound: 'at most', before: 7, now: 2.34, met: false },
    { ...aVerdict, title: 'not measured', bound: 'at least' },
  ]
  await writeFile(json, JSON.stringify({ machine: 'a machine', gates }))

  await run('plot.mjs', json, path.join(folder, 'first'))
  await run('plot.mjs', json, path.join(folder, 'second'))

  const read = (name: string) => readFile(path.join(folder, `${name}.svg`), 'utf8')
  const [light, dark] = [await read('first-light'), await read('first-dark')]
  expect([await read('second-light'), await read('second-dark')]).toEqual([light, dark])
  expect(dark).not.toBe(light)
  for (const text of ['>a call<', '>a start &amp; a list<', '>3.21<', '>2.34<', '>7.00<'])
    expect(light).toContain(text)
  expect(light).not.toContain('not measured')
})

const aVerdict = { unit: '× floor', gate: 2, stretch: 4 }

/** A checkout of which only the command line exists. */
const aCheckout = async (main: string) => {
  const checkout = path.join(folder, 'checkout')
  await mkdir(path.join(checkout, 'dist/cli'), { recursive: true })
  await writeFile(path.join(checkout, 'dist/cli/main.js'), main)
  return checkout
}

const run = (program: string, ...args: readonly string[]) =>
  new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      [path.join(bench, program), ...args],
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
  })

const childrenOf = async (pid: number | undefined) => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter((id) => id !== '')
}
