import { commands } from './commands.mjs'
import { startHttp } from './http-client.mjs'
import { loadHttp, loadStdio } from './load.mjs'
import { cpuSeconds, readLine, residentMegabytes, startProcess, stopProcess } from './processes.mjs'
import { handshake, toCounters, toHttpBytes, toMessage } from './requests.mjs'

/**
 * @typedef {import('./load.mjs').Duration} Duration
 * @typedef {import('./commands.mjs').ServerOptions & { transport: 'http' | 'stdio',
 *   contestant: import('./commands.mjs').ContestantName, era: import('./requests.mjs').Era,
 *   method: 'tools/call' | 'tools/list', connections: number }} Row
 * @typedef {import('./load.mjs').LoadResult & { seconds: number, cpuSeconds: number }} Round
 * @typedef {{ row: Row, ask(): Promise<object>, residentMegabytes(): number,
 *   run(duration: Duration, settle?: () => Promise<void>): Promise<Round>, close(): Promise<void> }} Subject
 */

/** @param {Row} row @returns {Promise<Subject>} */
export const open = (row) => (row.transport === 'http' ? openHttp(row) : openStdio(row))

const openHttp = async (row) => {
  const { child, port, openSession, ask } = await startHttp(row)
  // One session per connection, like that many clients.
  const sessions = []
  for (let index = 0; index < row.connections; index++) {
    sessions.push(row.era === '2025-11-25' ? await openSession() : undefined)
  }
  const requests = sessions.map((session, connection) => {
    const bytes = toHttpBytes({ ...row, session, port })
    return { bytes, counters: toCounters(bytes, connection) }
  })

  return toSubject(row, child, {
    ask: () => ask(sessions[0]),
    load: (duration, onConnected) => loadHttp({ port, requests, duration, onConnected }),
  })
}

const openStdio = async (row) => {
  const child = startProcess(await commands[row.contestant].stdio(row), 'pipe')
  if (row.era === '2025-11-25') {
    child.stdin.write(`${JSON.stringify(handshake[0])}\n`)
    await readLine(child)
    child.stdin.write(`${JSON.stringify(handshake[1])}\n`)
  }
  const message = JSON.stringify(toMessage(row))
  const toLine = (id) => `{"id":${id},${message.slice(1)}\n`

  return toSubject(row, child, {
    ask: async () => {
      child.stdin.write(toLine(0))
      const answer = JSON.parse(await readLine(child))
      if (answer.id !== 0) throw new Error(`${row.contestant} answered ${answer.id} instead of 0`)
      return answer
    },
    load: (duration, onConnected) => {
      onConnected()
      return loadStdio({ child, toLine, outstanding: row.connections, duration })
    },
  })
}

const toSubject = (row, child, { ask, load }) => ({
  row,
  ask,
  run: async (duration, settle = () => {}) => {
    let start
    const result = await load(duration, () => {
      start = { cpu: cpuSeconds(child.pid), at: performance.now() }
    })
    const seconds = (performance.now() - start.at) / 1000
    await settle()
    return { ...result, seconds, cpuSeconds: cpuSeconds(child.pid) - start.cpu }
  },
  residentMegabytes: () => residentMegabytes(child.pid),
  close: () => stopProcess(child),
})
