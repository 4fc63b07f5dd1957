import { setTimeout } from 'node:timers/promises'
import { commands } from './commands.mjs'
import { cpuMilliseconds, readLine, startProcess, stopProcess } from './processes.mjs'
import { checkAnswer, handshake, isChecking, setCounter, toMessage } from './requests.mjs'
import { lowerQuartile } from './statistics.mjs'

/**
 * @typedef {{ row: import('./subjects.mjs').Row & { end?: 'SIGKILL' }, milliseconds: number,
 *   cpuMilliseconds: number }} StartUp
 * @returns {Promise<StartUp[]>}
 */
export const measureStartUps = async ({ rows, rounds }, { quick }) => {
  const runs = await Promise.all(
    rows.map(async (row) => ({
      row,
      command: await commands[row.contestant].stdio(row),
      starts: [],
    })),
  )
  // The first start fills the disk cache and creates the ledger: it is checked, but not counted.
  for (let round = 0; round <= (quick ? 1 : rounds); round++)
    for (const { row, command, starts } of runs) {
      const start = await measureStart(row, command, round)
      if (round > 0) starts.push(start)
    }
  return runs.map(({ row, starts }) => ({
    row,
    milliseconds: lowerQuartile(starts.map((start) => start.milliseconds)),
    cpuMilliseconds: lowerQuartile(starts.map((start) => start.cpuMilliseconds)),
  }))
}

/** The time from spawn to the first tools/list answer, which a host has to wait. */
const measureStart = async (row, command, round) => {
  const spawnedAt = performance.now()
  const child = startProcess(command, 'pipe')
  const messages = row.era === '2025-11-25' ? handshake : []
  const answer = await ask(child, [...messages, { ...toMessage(row), id: 1 }])
  const milliseconds = performance.now() - spawnedAt
  const start = { milliseconds, cpuMilliseconds: cpuMilliseconds(child.pid) }
  checkAnswer(row, answer)
  if (row.end || (row.ledgerRuns && round === 0)) await leaveEffect(child, row, round)
  await stopProcess(child, row.end)
  return start
}

/** A durable effect. A ledger that is to be closed properly is checked first; one that is still checked stays as a crash leaves it. */
const leaveEffect = async (child, row, round) => {
  const call = { ...row, method: 'tools/call' }
  const message = JSON.parse(setCounter(JSON.stringify(toMessage(call)), round + 1))
  const askOnce = () => ask(child, [{ ...message, id: 1 }])
  let answer = await askOnce()
  for (; isChecking(answer) && !row.end; answer = await askOnce()) await setTimeout(1000)
  const { result } = answer
  if (isChecking(answer)) return
  if (!result || result.isError)
    throw new Error(`${row.contestant} refused an effect: ${JSON.stringify(result)}`)
}

/** Sends all messages at once, and returns the answer to the last. */
const ask = async (child, messages) => {
  child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  return JSON.parse(await readLine(child, (line) => JSON.parse(line).id === 1))
}
