// Records what real clients send, for `recorded-sessions.test.ts`: a proxy between a client and the built server.
//
//   node test/differential/record.mjs              the official clients, over HTTP and stdio
//   node test/differential/record.mjs http NAME COMMAND…    another client; {url} in COMMAND is the address
//   node test/differential/record.mjs stdio NAME            to be started by a client as its server
//
// One JSON line per step. `seen`: the number of messages that the client
// had received by then, by the step that they answer.
// What the server chose itself (sessions, states, event ids) is replaced, see `placeholders`.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const repository = path.resolve(import.meta.dirname, '../..')
const main = path.join(repository, 'dist/cli/main.js')
const folder = 'examples/conformance'
const target = path.join(repository, folder)

/** The steps of one recording. */
class Recording {
  #steps = []
  #file

  constructor(name) {
    this.#file = path.join(repository, 'test/fixtures/recorded-sessions', `${name}.jsonl`)
  }

  add(step) {
    return this.#steps.push(step) - 1
  }

  save() {
    const lines = [{ folder }, ...this.#steps].map((step) => JSON.stringify(step))
    writeFileSync(this.#file, `${lines.join('\n')}\n`)
    process.stderr.write(`${path.basename(this.#file)}: ${this.#steps.length} steps\n`)
  }
}

/** Replaces what the server chose by a name, so that a replay can put in what its server chose. */
class Placeholders {
  #names = new Map()

  learn(kind, value, name = this.#names.size) {
    if (!this.#names.has(value)) this.#names.set(value, `«${kind} ${name}»`)
  }

  replace(text) {
    let replaced = text
    for (const [value, name] of this.#names) replaced = replaced.replaceAll(value, name)
    return replaced
  }
}

const kept = /^(accept|content-type|last-event-id|mcp-.*)$/

async function recordHttp(name, drive) {
  const recording = new Recording(name)
  const placeholders = new Placeholders()
  /** Per step: the number of messages, whether it has ended, and the ids of its events. */
  const streams = new Map()
  const server = spawn(process.execPath, [main, 'serve', target, '--port', '0'])
  const port = await new Promise((resolve) => {
    server.stderr.on('data', (chunk) => {
      const match = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(String(chunk))
      if (match) resolve(Number(match[1]))
    })
  })
  const lastSeen = new Map()
  /** Only what has changed since the step before. */
  const toSeen = () => {
    const all = [...streams].map(([step, { count, ended }]) => [step, ended ? 'end' : count])
    const changed = all.filter(([step, now]) => now !== 0 && lastSeen.get(step) !== now)
    for (const [step, now] of changed) lastSeen.set(step, now)
    return Object.fromEntries(changed)
  }
  const proxy = createServer(async (incoming, outgoing) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { host = '', origin, ...others } = incoming.headers
    const headers = Object.fromEntries(
      Object.entries(others).filter(([header]) => kept.test(header)),
    )
    // Others than the address of this proxy: they test the guard against DNS rebinding.
    if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host)) headers.host = host
    if (origin !== undefined && !/^http:\/\/(127\.0\.0\.1|localhost)(:\d+)?$/.test(origin))
      headers.origin = origin
    const lastEventId = headers['last-event-id']
    const resumed = [...streams].find(
      ([, { session, ids }]) => session === headers['mcp-session-id'] && ids.includes(lastEventId),
    )
    const recorded = JSON.parse(placeholders.replace(JSON.stringify(headers)))
    if (resumed) recorded['last-event-id'] = `«event ${resumed[0]}»`
    const text = placeholders.replace(body.toString())
    const step = recording.add({
      method: incoming.method,
      headers: recorded,
      ...(text !== '' && { body: text }),
      seen: toSeen(),
    })
    const stream = { count: 0, ended: false, ids: [], session: headers['mcp-session-id'] }
    streams.set(step, stream)
    const toServer = httpRequest({
      port,
      host: '127.0.0.1',
      method: incoming.method,
      path: incoming.url,
      headers: {
        ...incoming.headers,
        host: headers.host ?? `127.0.0.1:${port}`,
        ...(origin !== undefined && { origin: headers.origin ?? `http://127.0.0.1:${port}` }),
      },
    })
    toServer.on('response', (response) => {
      const session = response.headers['mcp-session-id']
      if (session !== undefined) placeholders.learn('session', session, step)
      outgoing.writeHead(response.statusCode, response.headers)
      let rest = ''
      response.setEncoding('utf8').on('data', (part) => {
        outgoing.write(part)
        rest += part
        for (const [, state] of rest.matchAll(/"requestState":"([^"]+)"/g))
          placeholders.learn('state', state, step)
        const lines = rest.split('\n')
        rest = lines.pop()
        for (const line of lines) {
          if (line.startsWith('id: ')) stream.ids.push(line.slice(4))
          if (/^data: ./.test(line)) stream.count++
        }
      })
      response.on('end', () => {
        stream.ended = true
        outgoing.end()
      })
      response.on('error', () => {})
    })
    toServer.on('error', () => outgoing.destroy())
    outgoing.on('close', () => {
      if (stream.ended) return
      recording.add({ close: step, seen: toSeen() })
      stream.ended = true
      toServer.destroy()
    })
    toServer.end(body)
  })
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  await drive(`http://127.0.0.1:${proxy.address().port}/mcp`)
  recording.save()
  proxy.closeAllConnections()
  proxy.close()
  server.kill()
}

/** Started by a client in the place of the server. */
function recordStdio(name) {
  const recording = new Recording(name)
  const placeholders = new Placeholders()
  const server = spawn(process.execPath, [main, 'serve', target, '--stdio'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let seen = 0
  createInterface({ input: server.stdout }).on('line', (line) => {
    seen++
    for (const [, state] of line.matchAll(/"requestState":"([^"]+)"/g))
      placeholders.learn('state', state, JSON.parse(line).id)
    process.stdout.write(`${line}\n`)
  })
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      recording.add({ line: placeholders.replace(line), seen })
      server.stdin.write(`${line}\n`)
      recording.save()
    })
    .on('close', () => server.stdin.end())
  server.on('exit', () => process.exit())
  process.on('SIGTERM', () => server.kill())
}

async function recordOfficialClients() {
  const { drivers } = await import('./drive-clients.mjs')
  for (const [name, { driveHttp, driveStdio }] of Object.entries(drivers)) {
    await recordHttp(`${name}-http`, driveHttp)
    const args = [fileURLToPath(import.meta.url), 'stdio', `${name}-stdio`]
    await driveStdio({ command: process.execPath, args, stderr: 'ignore' })
  }
}

const runCommand = (command) => (url) =>
  new Promise((resolve) => {
    const [program, ...args] = command.map((part) => part.replaceAll('{url}', url))
    spawn(program, args, { stdio: 'inherit' }).on('exit', resolve)
  })

const [kind, name, ...command] = process.argv.slice(2)
if (kind === 'stdio') recordStdio(name)
else if (kind === 'http') await recordHttp(name, runCommand(command))
else await recordOfficialClients()
