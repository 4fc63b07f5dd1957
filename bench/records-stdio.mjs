import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { largest } from './records-data.mjs'
import { quantile } from './records-measure.mjs'

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const calls = 1500
const place = { connection_id: largest.connection, stream: largest.stream }
const page = { ...place, fields: ['id', 'sent_at', 'channel', 'amount', 'subject'], limit: 50 }

/** One call after the other, each waited for, as an agent does it. */
export async function measureStdio(file, grants) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-records-'))
  await writeFile(
    path.join(folder, 'drawbridge.yaml'),
    JSON.stringify({ sources: [{ records: file, mount: '/mcp' }] }),
  )
  const child = spawn(process.execPath, [main, 'serve', 'drawbridge.yaml', '--stdio'], {
    cwd: folder,
    env: { ...process.env, DRAWBRIDGE_TOKEN: grants.whole.token },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const call = createCaller(child)
    await call('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    })
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    const tool = (name, input) => call('tools/call', { name, arguments: input })
    const rows = []
    for (const [what, name, input, asked] of [
      ['a page of 50 over stdio', 'query_records', page, [0.94, 1.3]],
      ['one record over stdio', 'fetch', { id: 'work/messages:messages-7' }, [0.58, 0.72]],
    ]) {
      const times = []
      for (let run = 0; run < calls; run++) {
        const began = performance.now()
        const answer = await tool(name, input)
        if (run >= 500) times.push(performance.now() - began)
        if (answer.error || answer.result.isError) throw new Error(JSON.stringify(answer))
      }
      const [p10, p50] = [quantile(times, 0.1), quantile(times, 0.5)]
      rows.push(
        { what: `${what}, p10`, ours: p10, ratio: p10, asked: asked[0] },
        { what: `${what}, p50`, ours: p50, ratio: p50, asked: asked[1] },
      )
    }
    return rows
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
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
