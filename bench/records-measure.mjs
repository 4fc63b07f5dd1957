import { once } from 'node:events'
import { closeSync, openSync, readSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

/** CPU milliseconds of one run of each contestant, interleaved: the medians of all rounds. */
export async function compare(contestants, { rounds = 15, runs = 1, warmUpRounds = 1 } = {}) {
  const times = new Map(Object.keys(contestants).map((name) => [name, []]))
  for (let round = -warmUpRounds; round < rounds; round++)
    for (const [name, work] of Object.entries(contestants)) {
      await collectGarbage()
      const cpuBefore = process.cpuUsage()
      for (let run = 0; run < runs; run++) await work()
      const { user, system } = process.cpuUsage(cpuBefore)
      if (round >= 0) times.get(name).push((user + system) / 1000 / runs)
    }
  return Object.fromEntries([...times].map(([name, list]) => [name, quantile(list, 0.5)]))
}

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

/** Drivers free statements when rows are collected: this keeps that cost with its contestant. */
export async function collectGarbage(type = 'minor') {
  gc({ type })
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]

/**
 * The longest delay of a 1 ms timer during `work`. Time in which the main thread was runnable but had
 * no processor is subtracted, where the system reports it. Allocates nothing: garbage collection
 * would distort the result.
 */
export async function measureLongestBlock(work) {
  const runQueue = openRunQueueDelay()
  let last = performance.now()
  let longestMs = 0
  const tick = () => {
    const now = performance.now()
    runQueue.sample()
    if (now - last - 1 > longestMs)
      longestMs = Math.max(longestMs, now - last - 1 - runQueue.deltaMs())
    last = now
  }
  const timer = setInterval(tick, 1)
  await new Promise((resolve) => setTimeout(resolve, 5))
  longestMs = 0
  await work()
  tick()
  clearInterval(timer)
  runQueue.close()
  return longestMs
}

/** The time the main thread has waited for a processor between the last two samples. */
function openRunQueueDelay() {
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`)
    let [before, now] = [Buffer.alloc(64), Buffer.alloc(64)]
    const toMs = (text) => Number(text.toString('latin1').split(' ')[1]) / 1e6
    const sample = () => {
      ;[before, now] = [now, before]
      readSync(file, now, 0, 64, 0)
    }
    sample()
    return { sample, deltaMs: () => toMs(now) - toMs(before), close: () => closeSync(file) }
  } catch {
    return { sample() {}, deltaMs: () => 0, close() {} }
  }
}

/** The longest block of an idle event loop: the noise of the machine. */
export const measureIdleBlock = (durationMs) =>
  measureLongestBlock(() => new Promise((resolve) => setTimeout(resolve, durationMs)))

/** The same beside a busy thread: the noise that any second thread causes on this machine. */
export async function measureBusyBlock(durationMs) {
  const worker = new Worker('for (;;);', { eval: true })
  await once(worker, 'online')
  const longestMs = await measureIdleBlock(durationMs)
  await worker.terminate()
  return longestMs
}

export function printTable(rows) {
  console.log('| | floor | Drawbridge | ratio | target | met |')
  console.log('| --- | ---: | ---: | ---: | ---: | --- |')
  for (const { title, floor, ours, ratio, target, atLeast, unit = 'ms' } of rows) {
    const met =
      target === undefined ? '' : (atLeast ? ratio >= target : ratio <= target) ? 'yes' : '**no**'
    const sign = target === undefined ? '' : `${atLeast ? '≥' : '≤'} ${target}`
    console.log(
      `| ${title} | ${toNumber(floor)}${floor === undefined ? '' : ` ${unit}`} | ${toNumber(ours)} ${unit} | ${toNumber(ratio)} | ${sign} | ${met} |`,
    )
  }
}

const toNumber = (value) =>
  value === undefined
    ? ''
    : value >= 1000
      ? Math.round(value).toLocaleString('en')
      : Number(value.toPrecision(3)).toString()
