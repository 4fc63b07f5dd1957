import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { describe, onTestFinished } from 'vitest'

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
  const port = await aFreePort()
  let server: ChildProcess | undefined
  const start = async () => {
    server = await run(['-a', '127.0.0.1', '-p', String(port), ...args])
  }
  const stop = async () => {
    const stopped = server
    server = undefined
    if (!stopped || stopped.exitCode !== null) return
    const exited = new Promise((resolve) => stopped.once('exit', resolve))
    stopped.kill('SIGKILL')
    await exited
  }
  await start()
  onTestFinished(stop)
  return { url: `nats://127.0.0.1:${port}`, start, stop }
}

function run(args: readonly string[]): Promise<ChildProcess> {
  const server = spawn(program ?? '', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  return new Promise((resolve, reject) => {
    let output = ''
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`nats-server exited: ${output}`)))
    server.stderr.on('data', (chunk) => {
      output += chunk
      if (output.includes('Server is ready')) resolve(server)
    })
  })
}

const aFreePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
