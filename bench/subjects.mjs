import { commands } from './commands.mjs'
import { loadHttp, loadStdio } from './load.mjs'
import {
  cpuSeconds,
  findFreePort,
  readLine,
  residentMegabytes,
  startProcess,
  stopProcess,
  waitUntilListening,
} from './processes.mjs'
import { handshake, toAnswer, toCounters, toHeaders, toHttpBytes, toMessage } from './requests.mjs'

/**
 * @typedef {import('./load.mjs').Duration} Duration
 * @typedef {{ contestant: import('./commands.mjs').ContestantName, transport: 'http' | 'stdio',
 *   era: import('./requests.mjs').Era, method: 'tools/call' | 'tools/list',
 *   tools: number, connections: number }} Row
 * @typedef {import('./load.mjs').LoadResult & { seconds: number, cpuSeconds: number }} Round
 * @typedef {{ row: Row, ask(): Promise<object>, residentMegabytes(): number,
 *   run(duration: Duration, settle?: () => Promise<void>): Promise<Round>, close(): Promise<void> }} Subject
 */

/** @param {Row} row @returns {Promise<Subject>} */
export const open = (row) => (row.transport === 'http' ? openHttp(row) : openStdio(row))

const openHttp = async (row) => {
  const port = await findFreePort()
  const child = startProcess(await commands[row.contestant].http(row.tools, port, row), 'ignore')
  const post = (headers, message) =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
    })

  await waitUntilListening(child, port)
  const openSession = async () => {
    const { 'mcp-protocol-version': _, ...headers } = toHeaders({ ...row, era: '2025-11-25' })
    const first = await post(headers, handshake[0])
    await first.text()
    const session = first.headers.get('mcp-session-id') ?? undefined
    await (await post(toHeaders({ ...row, session }), handshake[1])).text()
    return session
  }
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
    ask: async () => {
      const headers = toHeaders({ ...row, session: sessions[0] })
      return toAnswer(await (await post(headers, { ...toMessage(row), id: 1 })).text())
    },
    load: (duration, onConnected) => loadHttp({ port, requests, duration, onConnected }),
  })
}

const openStdio = async (row) => {
  const child = startProcess(await commands[row.contestant].stdio(row.tools), 'pipe')
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

/** Measures the time from spawn to the first tools/list answer, which a host has to wait. */
export const measureStartUp = async (command) => {
  const message = toMessage({ era: '2026-07-28', method: 'tools/list', tools: 1 })
  const spawnedAt = performance.now()
  const child = startProcess(command, 'pipe')
  child.stdin.write(`${JSON.stringify({ ...message, id: 1 })}\n`)
  const answer = JSON.parse(await readLine(child))
  const milliseconds = performance.now() - spawnedAt
  await stopProcess(child)
  return { milliseconds, answer }
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
