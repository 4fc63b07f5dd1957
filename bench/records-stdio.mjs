import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SqliteRecords } from '../dist/storage/records/sqlite-records.js'
import { largest } from './records-data.mjs'
import { quantile } from './records-measure.mjs'

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const warm = 500
const [rounds, calls] = [20, 100]
const fields = ['id', 'sent_at', 'channel', 'amount', 'subject']
const place = { connection_id: largest.connection, stream: largest.stream }
/** What mcp-sqlite 1.0.9 took where the figures come from: for machines where it is not installed. */
const known = { page: [0.94, 1.3], one: [0.58, 0.72] }

/**
 * One call after the other, each waited for, as an agent does it. `peer` is a folder that has mcp-sqlite
 * in its node_modules: then it answers the same questions from the same file, taking turns.
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
      env: { ...process.env, DRAWBRIDGE_TOKEN: grants.whole.token },
    }),
    page: ['query_records', { ...place, fields, limit: 50 }],
    one: ['fetch', { id: 'work/messages:messages-7' }],
  }
  const servers = peer ? { peer: startPeer(peer, file), ours } : { ours }
  try {
    const rows = []
    for (const server of Object.values(servers)) await initialize(server)
    for (const [what, question] of [
      ['a page of 50 over stdio', 'page'],
      ['one record over stdio', 'one'],
    ]) {
      const times = await takeTurns(servers, question)
      for (const [at, share] of [0.1, 0.5].entries()) {
        const [floor, mine] = [times.peer, times.ours].map((list) => list && quantile(list, share))
        rows.push({
          what: `${what}, p${share * 100}${peer ? ', against mcp-sqlite' : ''}`,
          ...(peer && { floor }),
          ours: mine,
          ratio: peer ? mine / floor : mine,
          asked: peer ? 1 : known[question][at],
        })
      }
    }
    return rows
  } finally {
    for (const { child } of Object.values(servers)) child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The same page and record, by SQL that knows the tables. */
function startPeer(folder, file) {
  const store = new SqliteRecords(file, Date.now, console.error)
  const { n, stream } = store
    .sources()
    .find((one) => one.connection.id === largest.connection && one.stream.name === largest.stream)
  store.close()
  const columns = fields.map((name) => {
    const field = stream.fields.find((one) => one.name === name)
    return `f${field.n} as ${name}`
  })
  const server = createRequire(path.join(folder, 'package.json')).resolve('mcp-sqlite')
  return {
    ...start([server, file]),
    page: [
      'query',
      { sql: `select ${columns} from r${n} order by sent_at desc, key desc limit 50` },
    ],
    one: ['query', { sql: `select body from r${n} where key = ?`, values: ['messages-7'] }],
  }
}

function start(words, options = {}) {
  const child = spawn(process.execPath, words, { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
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

async function takeTurns(servers, question) {
  const times = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
  const run = async (name, count) => {
    const { call, [question]: words } = servers[name]
    const [tool, input] = words
    const taken = []
    for (let at = 0; at < count; at++) {
      const began = performance.now()
      const answer = await call('tools/call', { name: tool, arguments: input })
      taken.push(performance.now() - began)
      if (answer.error || answer.result.isError) throw new Error(JSON.stringify(answer))
    }
    return taken
  }
  for (const name of Object.keys(servers)) await run(name, warm)
  for (let round = 0; round < rounds; round++)
    for (const name of Object.keys(servers)) times[name].push(...(await run(name, calls)))
  return times
}

function createCaller({ stdin, stdout }) {
  let waiting
  createInterface({ input: stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.id !== undefined) waiting?.(message)
  })
  let id = 0
  return (method, params) =>
    new Promise((resolve) => {
      waiting = resolve
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
    })
}
