import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { largestSource } from './records-data.mjs'
import { quantile } from './records-measure.mjs'
import { importSource } from './sources.mjs'

const { SqliteRecords } = await importSource('storage/records/sqlite-records')

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const warmUpCalls = 500
const [rounds, callsPerRound] = [20, 100]
const fields = ['id', 'sent_at', 'channel', 'amount', 'subject']
const source = { connection_id: largestSource.connection, stream: largestSource.stream }
/** p10 and p50 of mcp-sqlite 1.0.9 in milliseconds, for machines where it is not installed. */
const peerMs = { page: [0.94, 1.3], record: [0.58, 0.72] }

/**
 * Sequential calls, like those of an agent. `peer` is a folder with mcp-sqlite in its node_modules,
 * which then answers the same requests from the same file, interleaved.
 */
export async function measureStdio(file, grants, peer) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-records-'))
  await writeFile(
    path.join(folder, 'drawbridge.yaml'),
    JSON.stringify({ sources: [{ records: file, mount: '/mcp' }] }),
  )
  const ours = {
    ...start([main, 'serve', 'drawbridge.yaml', '--stdio'], {
      cwd: folder,
      env: { ...process.env, DRAWBRIDGE_TOKEN: grants.unlimited.token },
    }),
    page: ['query_records', { ...source, fields, limit: 50 }],
    record: ['fetch', { id: 'work/messages:messages-7' }],
  }
  const servers = peer ? { peer: startPeer(peer, file), ours } : { ours }
  try {
    const rows = []
    for (const server of Object.values(servers)) await initialize(server)
    for (const [title, request] of [
      ['a page of 50 over stdio', 'page'],
      ['one record over stdio', 'record'],
    ]) {
      const times = await measureLatencies(servers, request)
      for (const [index, share] of [0.1, 0.5].entries()) {
        const [floor, oursMs] = [times.peer, times.ours].map(
          (list) => list && quantile(list, share),
        )
        rows.push({
          title: `${title}, p${share * 100}${peer ? ', against mcp-sqlite' : ''}`,
          ...(peer && { floor }),
          ours: oursMs,
          ratio: peer ? oursMs / floor : oursMs,
          target: peer ? 1 : peerMs[request][index],
        })
      }
    }
    return rows
  } finally {
    for (const { child } of Object.values(servers)) child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Requests the same page and record with hand-written SQL. */
function startPeer(folder, file) {
  const store = new SqliteRecords(file, Date.now, console.error)
  const { n, stream } = store
    .sources()
    .find(
      ({ connection, stream }) =>
        connection.id === largestSource.connection && stream.name === largestSource.stream,
    )
  store.close()
  const columns = fields.map((name) => {
    const field = stream.fields.find((candidate) => candidate.name === name)
    return `f${field.n} as ${name}`
  })
  const server = createRequire(path.join(folder, 'package.json')).resolve('mcp-sqlite')
  return {
    ...start([server, file]),
    page: [
      'query',
      { sql: `select ${columns} from r${n} order by sent_at desc, key desc limit 50` },
    ],
    record: ['query', { sql: `select body from r${n} where key = ?`, values: ['messages-7'] }],
  }
}

function start(args, options = {}) {
  const child = spawn(process.execPath, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
  return { child, call: createCaller(child) }
}

async function initialize({ child, call }) {
  await call('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
}

async function measureLatencies(servers, request) {
  const times = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
  const run = async (name, count) => {
    const { call, [request]: toolCall } = servers[name]
    const [tool, input] = toolCall
    const latenciesMs = []
    for (let index = 0; index < count; index++) {
      const sentAt = performance.now()
      const answer = await call('tools/call', { name: tool, arguments: input })
      latenciesMs.push(performance.now() - sentAt)
      if (answer.error || answer.result.isError) throw new Error(JSON.stringify(answer))
    }
    return latenciesMs
  }
  for (const name of Object.keys(servers)) await run(name, warmUpCalls)
  for (let round = 0; round < rounds; round++)
    for (const name of Object.keys(servers)) times[name].push(...(await run(name, callsPerRound)))
  return times
}

function createCaller({ stdin, stdout }) {
  let resolveAnswer
  createInterface({ input: stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.id !== undefined) resolveAnswer?.(message)
  })
  let id = 0
  return (method, params) =>
    new Promise((resolve) => {
      resolveAnswer = resolve
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
    })
}
