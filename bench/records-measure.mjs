import { once } from 'node:events'
import { closeSync, openSync, readSync } from 'node:fs'
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
export async function cleanUp(type = 'minor') {
  collect({ type })
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]

/**
 * The longest time a timer of one millisecond came late while something is done. Time in which the
 * main thread was ready and others had the processors is not counted, where the system tells of it.
 * Looking leaves no garbage behind: collecting it would be what is found.
 */
export async function longestBlock(work) {
  const waiting = openWaiting()
  let last = performance.now()
  let longest = 0
  const tick = () => {
    const now = performance.now()
    waiting.look()
    if (now - last - 1 > longest) longest = Math.max(longest, now - last - 1 - waiting.grown())
    last = now
  }
  const timer = setInterval(tick, 1)
  await new Promise((resolve) => setTimeout(resolve, 5))
  longest = 0
  await work()
  tick()
  clearInterval(timer)
  waiting.close()
  return longest
}

/** Milliseconds the main thread has waited for a processor between the last two looks. */
function openWaiting() {
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`)
    let [before, now] = [Buffer.alloc(64), Buffer.alloc(64)]
    const read = (text) => Number(text.toString('latin1').split(' ')[1]) / 1e6
    const look = () => {
      ;[before, now] = [now, before]
      readSync(file, now, 0, 64, 0)
    }
    look()
    return { look, grown: () => read(now) - read(before), close: () => closeSync(file) }
  } catch {
    return { look() {}, grown: () => 0, close() {} }
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
