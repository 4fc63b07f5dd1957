import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface HostRun {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly input: string
}

/** Far more than any command needs, even on a busy machine. */
export const maxRunMs = 100_000

/** Runs commands one after the other in a child process, which exits with this one. */
export function runInHost(run: HostRun): Promise<Finished> {
  const finished = queue.then(() => runNow(run))
  queue = finished.catch(() => {})
  return finished
}

let queue: Promise<unknown> = Promise.resolve()
let host: Promise<Host> | undefined

async function runNow(run: HostRun): Promise<Finished> {
  host ??= Host.start()
  const current = await host
  const finished = await current.run(run)
  if (!current.isAlive) host = undefined
  return finished
}

class Host {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #output = { stdout: '', stderr: '' }
  #onOutput = () => {}

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#closed = once(child, 'close')
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.#output[name] += text
        this.#onOutput()
      })
  }

  static async start(): Promise<Host> {
    const args = [path.resolve('test/support/cli-host.mjs'), path.resolve('dist/cli/main.js')]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    const created = new Host(child)
    await Promise.race([once(child, 'message'), created.#closed])
    return created
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async run(run: HostRun): Promise<Finished> {
    const marker = `\n${randomUUID()} `
    const end = new RegExp(`${marker}(\\d+)\\n`)
    this.#output = { stdout: '', stderr: '' }
    this.#reference(true)
    const deadline = setTimeout(() => this.#child.kill('SIGKILL'), maxRunMs)
    const markersReceived = new Promise<void>((resolve) => {
      this.#onOutput = () => {
        const { stdout, stderr } = this.#output
        if (end.test(stdout) && end.test(stderr)) resolve()
      }
    })
    this.#child.send({ ...run, marker })
    await Promise.race([markersReceived, this.#closed])
    clearTimeout(deadline)
    this.#onOutput = () => {}
    this.#reference(false)
    const [stdout = '', code] = this.#output.stdout.split(end)
    const [stderr = ''] = this.#output.stderr.split(end)
    return { code: code === undefined ? null : Number(code), stdout, stderr }
  }

  /** An idle host must not keep this process alive. */
  #reference(isBusy: boolean): void {
    const method = isBusy ? 'ref' : 'unref'
    const { channel, stdout, stderr } = this.#child
    this.#child[method]()
    channel?.[method]()
    for (const stream of [stdout, stderr])
      (stream as unknown as Record<string, () => void>)[method]?.()
  }
}
