import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { describe, onTestFinished } from 'vitest'

export interface NatsServer {
  readonly url: string
  /** Ends it at once, with everything it has in its memory. */
  stop(): Promise<void>
  /** On the same port as before. */
  start(): Promise<void>
}

const program = ['nats-server', '/usr/sbin/nats-server'].find(
  (one) => spawnSync(one, ['--version']).status === 0,
)

if (program === undefined && process.env.CI) throw new Error('nats-server is not installed')
if (program === undefined) console.info('NATS: skipped, nats-server is not installed')

/** Tests that need a real NATS server: skipped where there is none, an error in CI. */
export const describeWithNats = describe.skipIf(program === undefined)

/** A real server on a free port of this machine, until the test is over. */
export async function aNatsServer(...words: string[]): Promise<NatsServer> {
  const port = await aFreePort()
  let server: ChildProcess | undefined
  const start = async () => {
    server = await run(['-a', '127.0.0.1', '-p', String(port), ...words])
  }
  const stop = async () => {
    const ending = server
    server = undefined
    if (!ending || ending.exitCode !== null) return
    const ended = new Promise((resolve) => ending.once('exit', resolve))
    ending.kill('SIGKILL')
    await ended
  }
  await start()
  onTestFinished(stop)
  return { url: `nats://127.0.0.1:${port}`, start, stop }
}

function run(words: readonly string[]): Promise<ChildProcess> {
  const server = spawn(program ?? '', words, { stdio: ['ignore', 'ignore', 'pipe'] })
  return new Promise((resolve, reject) => {
    let said = ''
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`nats-server ended: ${said}`)))
    server.stderr.on('data', (chunk) => {
      said += chunk
      if (said.includes('Server is ready')) resolve(server)
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
