import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

/** CPU milliseconds of one run, of each contestant, taking turns; medians over rounds. */
export async function compare(contestants, { rounds = 15, runs = 1, warm = 1 } = {}) {
  const times = new Map(Object.keys(contestants).map((name) => [name, []]))
  for (let round = -warm; round < rounds; round++)
    for (const [name, work] of Object.entries(contestants)) {
      await cleanUp()
      const before = process.cpuUsage()
      for (let run = 0; run < runs; run++) await work()
      const { user, system } = process.cpuUsage(before)
      if (round >= 0) times.get(name).push((user + system) / 1000 / runs)
    }
  return Object.fromEntries([...times].map(([name, list]) => [name, quantile(list, 0.5)]))
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** A driver cleans up after a statement when its rows are collected: nobody pays for another's. */
async function cleanUp() {
  collect({ type: 'minor' })
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]

/**
 * The longest time a timer of one millisecond came late while something is done. Time in which the
 * main thread was ready and others had the processors is not counted, where the system tells of it.
 */
export async function longestBlock(work) {
  let last = performance.now()
  let delayed = queued()
  let longest = 0
  const tick = () => {
    const [now, waited] = [performance.now(), queued()]
    longest = Math.max(longest, now - last - 1 - (waited - delayed))
    last = now
    delayed = waited
  }
  const timer = setInterval(tick, 1)
  await new Promise((resolve) => setTimeout(resolve, 5))
  longest = 0
  await work()
  tick()
  clearInterval(timer)
  return longest
}

/** Milliseconds the main thread has waited for a processor. */
function queued() {
  try {
    const [, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return Number(waited) / 1e6
  } catch {
    return 0
  }
}

/** How long the machine keeps a loop that does nothing waiting: others are busy on it, too. */
export const idleBlock = (milliseconds) =>
  longestBlock(() => new Promise((resolve) => setTimeout(resolve, milliseconds)))

/** The same beside a thread that does nothing but count: what a machine makes of any second thread. */
export async function busyBlock(milliseconds) {
  const worker = new Worker('for (;;);', { eval: true })
  await once(worker, 'online')
  const longest = await idleBlock(milliseconds)
  await worker.terminate()
  return longest
}

export function printTable(rows) {
  console.log('| | floor | Drawbridge | ratio | asked | met |')
  console.log('| --- | ---: | ---: | ---: | ---: | --- |')
  for (const { what, floor, ours, ratio, asked, atLeast, unit = 'ms' } of rows) {
    const met =
      asked === undefined ? '' : (atLeast ? ratio >= asked : ratio <= asked) ? 'yes' : '**no**'
    const sign = asked === undefined ? '' : `${atLeast ? '≥' : '≤'} ${asked}`
    console.log(
      `| ${what} | ${toNumber(floor)}${floor === undefined ? '' : ` ${unit}`} | ${toNumber(ours)} ${unit} | ${toNumber(ratio)} | ${sign} | ${met} |`,
    )
  }
}

const toNumber = (value) =>
  value === undefined
    ? ''
    : value >= 1000
      ? Math.round(value).toLocaleString('en')
      : Number(value.toPrecision(3)).toString()
