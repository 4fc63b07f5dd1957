import { commands } from './commands.mjs'
import { loadHttp, loadStdio } from './load.mjs'
import {
  cpuSeconds,
  firstLine,
  freePort,
  listening,
  residentMegabytes,
  start,
  stop,
} from './processes.mjs'
import { opening, toAnswer, toCounters, toHeaders, toHttpBytes, toMessage } from './requests.mjs'

/**
 * @typedef {import('./load.mjs').Dose} Dose
 * @typedef {{ who: import('./commands.mjs').Who, transport: 'http' | 'stdio',
 *   era: import('./requests.mjs').Era, method: 'tools/call' | 'tools/list',
 *   tools: number, connections: number }} Row
 * @typedef {import('./load.mjs').Load & { seconds: number, cpuSeconds: number }} Round
 * @typedef {{ row: Row, ask(): Promise<object>, residentMegabytes(): number,
 *   run(dose: Dose, settle?: () => Promise<void>): Promise<Round>, close(): Promise<void> }} Subject
 */

/** @param {Row} row @returns {Promise<Subject>} */
export const open = (row) => (row.transport === 'http' ? openHttp(row) : openStdio(row))

const openHttp = async (row) => {
  const port = await freePort()
  const child = start(await commands[row.who].http(row.tools, port, row), 'ignore')
  const post = (headers, message) =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
    })

  await listening(child, port)
  const openSession = async () => {
    const { 'mcp-protocol-version': _, ...headers } = toHeaders({ ...row, era: '2025-11-25' })
    const first = await post(headers, opening[0])
    await first.text()
    const session = first.headers.get('mcp-session-id') ?? undefined
    await (await post(toHeaders({ ...row, session }), opening[1])).text()
    return session
  }
  // A session per connection, as that many clients would have.
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
    load: (dose, onConnected) => loadHttp({ port, requests, dose, onConnected }),
  })
}

const openStdio = async (row) => {
  const child = start(await commands[row.who].stdio(row.tools), 'pipe')
  if (row.era === '2025-11-25') {
    child.stdin.write(`${JSON.stringify(opening[0])}\n`)
    await firstLine(child)
    child.stdin.write(`${JSON.stringify(opening[1])}\n`)
  }
  const message = JSON.stringify(toMessage(row))
  const toLine = (id) => `{"id":${id},${message.slice(1)}\n`

  return toSubject(row, child, {
    ask: async () => {
      child.stdin.write(toLine(0))
      const answer = JSON.parse(await firstLine(child))
      if (answer.id !== 0) throw new Error(`${row.who} answered ${answer.id} instead of 0`)
      return answer
    },
    load: (dose, onConnected) => {
      onConnected()
      return loadStdio({ child, toLine, outstanding: row.connections, dose })
    },
  })
}

/** Milliseconds from spawn to the first tools/list answer, as a host that starts servers waits. */
export const startUp = async (command) => {
  const message = toMessage({ era: '2026-07-28', method: 'tools/list', tools: 1 })
  const before = performance.now()
  const child = start(command, 'pipe')
  child.stdin.write(`${JSON.stringify({ ...message, id: 1 })}\n`)
  const answer = JSON.parse(await firstLine(child))
  const milliseconds = performance.now() - before
  await stop(child)
  return { milliseconds, answer }
}

const toSubject = (row, child, { ask, load }) => ({
  row,
  ask,
  run: async (dose, settle = () => {}) => {
    let before
    const result = await load(dose, () => {
      before = { cpu: cpuSeconds(child.pid), at: performance.now() }
    })
    const seconds = (performance.now() - before.at) / 1000
    await settle()
    return { ...result, seconds, cpuSeconds: cpuSeconds(child.pid) - before.cpu }
  },
  residentMegabytes: () => residentMegabytes(child.pid),
  close: () => stop(child),
})
