import { setTimeout } from 'node:timers/promises'
import { commands } from './commands.mjs'
import { findFreePort, startProcess, waitUntilListening } from './processes.mjs'
import { handshake, isChecking, toAnswer, toHeaders, toMessage } from './requests.mjs'

/**
 * Starts a contestant on a free port, and returns functions for single requests. Load comes from
 * `load.mjs`.
 *
 * @param {import('./subjects.mjs').Row} row
 * @param {{ flags?: string[], channel?: 'ipc' }} [options] `flags` of node
 */
export const startHttp = async (row, { flags = [], channel } = {}) => {
  const port = await findFreePort()
  const command = await commands[row.contestant].http(row, port)
  const child = startProcess([...flags, ...command], 'ignore', channel)
  await waitUntilListening(child, port)
  const post = (headers, message) =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
    })

  return {
    child,
    port,
    openSession: async () => {
      const { 'mcp-protocol-version': _, ...headers } = toHeaders({ ...row, era: '2025-11-25' })
      const first = await post(headers, handshake[0])
      await first.text()
      const session = first.headers.get('mcp-session-id') ?? undefined
      await (await post(toHeaders({ ...row, session }), handshake[1])).text()
      return session
    },
    ask: async (session) => {
      const headers = toHeaders({ ...row, session })
      const askOnce = async () =>
        toAnswer(await (await post(headers, { ...toMessage(row), id: 1 })).text())
      let answer = await askOnce()
      for (; isChecking(answer); answer = await askOnce()) await setTimeout(1000)
      return answer
    },
  }
}
