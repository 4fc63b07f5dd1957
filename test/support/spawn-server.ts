import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'

export const repository = path.resolve(import.meta.dirname, '../..')
const program = path.join(repository, 'dist/cli/main.js')

export interface Process {
  readonly pid: number
  /** What it wrote to standard error so far, at most the last 16 megabytes. */
  readonly said: string
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
  /** For Node itself, such as `--max-old-space-size=128`. */
  readonly flags?: readonly string[]
}

/** `drawbridge serve WHAT` as a user starts it, on a free port; settles when it listens. */
export async function spawnServer(what: string, options: SpawnOptions = {}): Promise<HttpServer> {
  const { flags = [] } = options
  const { child, ...watched } = start(['serve', what, '--port', '0'], 'ignore', flags)
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr?.on('data', () => {
      const found = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(watched.process.said)
      if (found) resolve(Number(found[1]))
    })
    void watched.process.ended.then(() =>
      reject(new Error(`serve ${what} ended before it listened:\n${watched.process.said}`)),
    )
  })
  return Object.assign(watched.process, { port, url: `http://127.0.0.1:${port}/mcp` })
}

export interface StdioServer extends Process {
  /** As it is: bytes that are no message, or no whole line, are welcome. Settles when flushed. */
  write(bytes: string | Uint8Array): Promise<void>
  send(message: object): Promise<void>
  /** Sends a request and settles with the line that answers its id. */
  request(message: { readonly id: string | number } & object): Promise<Answer>
  /** Hears every line on standard output, whatever it is. */
  onLine(listener: (line: string) => void): void
  closeInput(): void
}

/** A JSON-RPC message as it came. */
export interface Answer {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** `drawbridge serve WHAT --stdio` with a pipe at each end. */
export function spawnStdio(what: string): StdioServer {
  const { child, process } = start(['serve', what, '--stdio'], 'pipe')
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('no pipes')
  const listeners = new Set<(line: string) => void>()
  const waiting = new Map<string, (answer: Answer) => void>()
  listeners.add((line) => {
    if (waiting.size === 0) return
    const answer = tryParse(line)
    const key = JSON.stringify(answer?.id)
    waiting.get(key)?.(answer as Answer)
    waiting.delete(key)
  })
  createInterface({ input: stdout, crlfDelay: 0 }).on('line', (line) => {
    for (const listener of listeners) listener(line)
  })
  // The process may end before it has read everything: that is for the test to notice.
  stdin.on('error', () => {})
  let drained: Promise<unknown> | undefined
  const write = async (bytes: string | Uint8Array) => {
    if (stdin.write(bytes) || !process.alive) return
    // One wait for all who write meanwhile.
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
        waiting.set(JSON.stringify(message.id), resolve)
        void process.ended.then(({ code, signal }) =>
          reject(new Error(`ended with ${code ?? signal} without an answer:\n${process.said}`)),
        )
        void send(message)
      }),
    onLine: (listener: (line: string) => void) => void listeners.add(listener),
    closeInput: () => stdin.end(),
  })
}

const running = new Set<ChildProcess>()
// A run that is interrupted must not leave servers behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

const mostSaid = 16 * 1024 * 1024

function start(words: readonly string[], pipes: 'pipe' | 'ignore', flags: readonly string[] = []) {
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build" first.`)
  const child = spawn(process.execPath, [...flags, program, ...words], {
    cwd: repository,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: [pipes, pipes, 'pipe'],
  })
  running.add(child)
  const said: Buffer[] = []
  let size = 0
  child.stderr?.on('data', (chunk: Buffer) => {
    said.push(chunk)
    size += chunk.length
    while (size > mostSaid && said.length > 1) size -= said.shift()?.length ?? 0
  })
  const ended = once(child, 'close').then(([code, signal]): Ending => {
    running.delete(child)
    return { code, signal }
  })
  const watched: Process = {
    pid: child.pid ?? 0,
    get said() {
      return Buffer.concat(said).toString()
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
      const hard = setTimeout(() => child.kill('SIGKILL'), 10_000)
      return ended.finally(() => clearTimeout(hard))
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
