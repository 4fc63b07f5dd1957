import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { killAtExit } from './start-process.ts'

export const repository = path.resolve(import.meta.dirname, '../..')
const program = path.join(repository, 'dist/cli/main.js')

export interface Process {
  readonly pid: number
  /** Standard error until now, at most the last 16 megabytes. */
  readonly stderr: string
  readonly alive: boolean
  readonly ended: Promise<Ending>
  readonly residentMegabytes: number
  stop(): Promise<Ending>
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface HttpServer extends Process {
  readonly port: number
  readonly url: string
}

export interface SpawnOptions {
  /** Flags of Node, such as `--max-old-space-size=128`. */
  readonly flags?: readonly string[]
}

/** Starts `drawbridge serve TARGET` on a free port; resolves when it listens. */
export async function spawnServer(target: string, options: SpawnOptions = {}): Promise<HttpServer> {
  const { flags = [] } = options
  const { child, ...watched } = start(['serve', target, '--port', '0'], 'ignore', flags)
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr?.on('data', () => {
      const match = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(watched.process.stderr)
      if (match) resolve(Number(match[1]))
    })
    void watched.process.ended.then(() =>
      reject(new Error(`serve ${target} exited before it listened:\n${watched.process.stderr}`)),
    )
  })
  return Object.assign(watched.process, { port, url: `http://127.0.0.1:${port}/mcp` })
}

export interface StdioServer extends Process {
  /** Writes raw bytes, which may be invalid or incomplete messages. Resolves when flushed. */
  write(bytes: string | Uint8Array): Promise<void>
  send(message: object): Promise<void>
  /** Sends a request, and resolves with the answer to its id. */
  request(message: { readonly id: string | number } & object): Promise<Answer>
  /** Receives every line on standard output. */
  onLine(listener: (line: string) => void): void
  closeInput(): void
}

/** An unvalidated JSON-RPC message. */
export interface Answer {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Starts `drawbridge serve TARGET --stdio`. */
export function spawnStdio(target: string): StdioServer {
  const { child, process } = start(['serve', target, '--stdio'], 'pipe')
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('no pipes')
  const listeners = new Set<(line: string) => void>()
  const pending = new Map<string, (answer: Answer) => void>()
  listeners.add((line) => {
    if (pending.size === 0) return
    const answer = tryParse(line)
    const key = JSON.stringify(answer?.id)
    pending.get(key)?.(answer as Answer)
    pending.delete(key)
  })
  createInterface({ input: stdout, crlfDelay: 0 }).on('line', (line) => {
    for (const listener of listeners) listener(line)
  })
  // EPIPE: the process may exit before it has read everything. Tests check its exit themselves.
  stdin.on('error', () => {})
  let drained: Promise<unknown> | undefined
  const write = async (bytes: string | Uint8Array) => {
    if (stdin.write(bytes) || !process.alive) return
    // Concurrent writers share one `drain` listener.
    drained ??= Promise.race([once(stdin, 'drain').catch(() => {}), process.ended]).finally(() => {
      drained = undefined
    })
    await drained
  }
  const send = (message: object) => write(`${JSON.stringify(message)}\n`)
  return Object.assign(process, {
    write,
    send,
    request: (message: { readonly id: string | number } & object) =>
      new Promise<Answer>((resolve, reject) => {
        pending.set(JSON.stringify(message.id), resolve)
        void process.ended.then(({ code, signal }) =>
          reject(new Error(`exited with ${code ?? signal} without an answer:\n${process.stderr}`)),
        )
        void send(message)
      }),
    onLine: (listener: (line: string) => void) => void listeners.add(listener),
    closeInput: () => stdin.end(),
  })
}

const maxStderrBytes = 16 * 1024 * 1024

function start(args: readonly string[], pipes: 'pipe' | 'ignore', flags: readonly string[] = []) {
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build" first.`)
  const child = spawn(process.execPath, [...flags, program, ...args], {
    cwd: repository,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: [pipes, pipes, 'pipe'],
  })
  killAtExit(child)
  const chunks: Buffer[] = []
  let size = 0
  child.stderr?.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    while (size > maxStderrBytes && chunks.length > 1) size -= chunks.shift()?.length ?? 0
  })
  const ended = once(child, 'close').then(([code, signal]): Ending => ({ code, signal }))
  const watched: Process = {
    pid: child.pid ?? 0,
    get stderr() {
      return Buffer.concat(chunks).toString()
    },
    get alive() {
      return child.exitCode === null && child.signalCode === null
    },
    ended,
    get residentMegabytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
    },
    stop: () => {
      child.kill('SIGTERM')
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      return ended.finally(() => clearTimeout(killTimer))
    },
  }
  return { child, process: watched }
}

function tryParse(line: string): Answer | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
