import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { describe, onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'

export interface NatsServer {
  readonly url: string
  /** Kills the process, so that everything in memory is lost. */
  stop(): Promise<void>
  /** Uses the same port as before. */
  start(): Promise<void>
}

const program = ['nats-server', '/usr/sbin/nats-server'].find(
  (candidate) => spawnSync(candidate, ['--version']).status === 0,
)

if (program === undefined && process.env.CI) throw new Error('nats-server is not installed')
if (program === undefined) console.info('NATS: skipped, nats-server is not installed')

/** Tests that need a real NATS server: skipped if it is not installed, an error in CI. */
export const describeWithNats = describe.skipIf(program === undefined)

/** A real server on a free local port; stopped when the test ends. */
export async function aNatsServer(...args: string[]): Promise<NatsServer> {
  // Port -1: the server chooses a free one itself, so that no other process can take it in between.
  let port = -1
  let server: ChildProcess | undefined
  const start = async () => {
    const options = ['-a', '127.0.0.1', '-p', String(port), ...args]
    ;({ server, port } = await runRepeatedly(options))
  }
  const stop = async () => {
    const child = server
    server = undefined
    if (!child || child.exitCode !== null) return
    const exit = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exit
  }
  await start()
  onTestFinished(stop)
  return { url: `nats://127.0.0.1:${port}`, start, stop }
}

/** Another process can hold the port of a stopped server for a moment, as the port of a connection. */
const runRepeatedly = (args: readonly string[]) => eventually(() => run(args))

function run(args: readonly string[]): Promise<{ server: ChildProcess; port: number }> {
  const server = spawn(program ?? '', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  return new Promise((resolve, reject) => {
    let output = ''
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`nats-server exited: ${output}`)))
    server.stderr.on('data', (chunk) => {
      output += chunk
      const [, port] = /client connections on \S+:(\d+)/.exec(output) ?? []
      if (output.includes('Server is ready')) resolve({ server, port: Number(port) })
    })
  })
}
