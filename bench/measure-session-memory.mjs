import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHttp } from './http-client.mjs'
import { loadHttp } from './load.mjs'
import { contestantFile } from './paths.mjs'
import { stopProcess } from './processes.mjs'
import { checkAnswer, toHttpBytes } from './requests.mjs'
import { quantile } from './statistics.mjs'

const concurrency = 16
/** Servers may write and release what a request has left behind. */
const settleMs = 500
const quickSizes = { sessions: 50, warmUp: { sessions: 10, calls: 50 } }

/**
 * Kilobytes per session, from what survives garbage collection: the resident memory of a process
 * depends more on the collector than on sessions.
 *
 * @returns {Promise<{ row: import('./subjects.mjs').Row, idle: number, loaded: number }[]>}
 */
export const measureSessionMemory = async (scenario, { quick }) => {
  const { rows, rounds } = scenario
  const results = rows.map((row) => ({ row, idle: [], loaded: [] }))
  for (let round = 0; round < (quick ? 1 : rounds); round++)
    for (const { row, idle, loaded } of results) {
      const kilobytes = await measureSessions(
        row,
        quick ? { ...scenario, ...quickSizes } : scenario,
      )
      idle.push(kilobytes.idle)
      loaded.push(kilobytes.loaded)
    }
  return results.map(({ row, idle, loaded }) => ({
    row,
    idle: quantile(idle, 0.5),
    loaded: quantile(loaded, 0.5),
  }))
}

const measureSessions = async (row, { sessions: count, callsPerSession, warmUp }) => {
  const flags = ['--expose-gc', '--import', contestantFile('heap-probe')]
  const { child, port, openSession, ask } = await startHttp(row, { flags, channel: 'ipc' })
  const openAll = (length) => runAll(Array.from({ length }), openSession)
  const callAll = (sessions, limit) =>
    runAll(sessions, async (session) => {
      const requests = [{ bytes: toHttpBytes({ ...row, session, port }), counters: [] }]
      const { errors } = await loadHttp({ port, requests, duration: { seconds: 120, limit } })
      if (errors > 0) throw new Error(`${row.contestant} refused ${errors} calls of a session.`)
    })
  const readKilobytes = async () => {
    await sleep(settleMs)
    child.send('read')
    const [bytes] = await once(child, 'message')
    return bytes / 1024
  }

  // Code is compiled and tables grow with the first calls.
  await callAll(await openAll(warmUp.sessions), warmUp.calls)
  const empty = await readKilobytes()
  const sessions = await openAll(count)
  const idle = await readKilobytes()
  await callAll(sessions, callsPerSession)
  const loaded = await readKilobytes()
  // A server that forgets sessions would look small.
  await runAll(sessions, async (session) => checkAnswer(row, await ask(session)))
  await stopProcess(child)
  return { idle: (idle - empty) / count, loaded: (loaded - empty) / count }
}

/** Some at a time, and the results in order. */
const runAll = async (items, work) => {
  const results = []
  let next = 0
  const run = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index])
    }
  }
  await Promise.all(Array.from({ length: concurrency }, run))
  return results
}
