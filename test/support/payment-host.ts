import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { killAtExit, toEnvironment } from './start-process.ts'

export interface PaymentAnswer {
  readonly order: string
  /** Whether the tool ran. */
  readonly executed: boolean
  /** `done`, or the code of the failure. */
  readonly code: string
  readonly text: string
}

interface HostAnswer {
  readonly error?: string
  readonly name?: string
  readonly isError?: boolean
  readonly answers?: readonly PaymentAnswer[]
  /** Operational errors since the store was opened. */
  readonly problems?: readonly string[]
}

/** A process that makes payments with a store, one command after the other. */
export class PaymentHost {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly acknowledged: PaymentAnswer[] = []
  #stderr = ''
  #resolve: (answer: HostAnswer) => void = () => {}

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#closed = once(child, 'close')
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    child.on('message', (message: { answer?: HostAnswer; acknowledged?: PaymentAnswer }) => {
      if (message.acknowledged) this.acknowledged.push(message.acknowledged)
      if (message.answer) this.#resolve(message.answer)
    })
  }

  static async start(): Promise<PaymentHost> {
    const library = pathToFileURL(path.resolve('dist/index.js')).href
    const child = spawn(
      process.execPath,
      ['--no-warnings', path.resolve('test/support/payment-host.mjs'), library],
      { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: toEnvironment({}) },
    )
    killAtExit(child)
    const host = new PaymentHost(child)
    onTestFinished(() => host.kill())
    await host.#answer()
    return host
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** How the process ended, with its last output. */
  get end(): string {
    return `${this.#child.signalCode ?? this.#child.exitCode} ${this.#stderr.slice(-500)}`
  }

  /** Rejects when the process ends before it answers. */
  async run(command: string, options: object = {}): Promise<HostAnswer> {
    const answer = this.#answer()
    this.#child.send({ command, ...options })
    return answer
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#closed
  }

  #answer(): Promise<HostAnswer> {
    const answer = new Promise<HostAnswer>((resolve) => {
      this.#resolve = resolve
    })
    const end = this.#closed.then(() => Promise.reject(new Error(`The host ended: ${this.end}`)))
    end.catch(() => {})
    return Promise.race([answer, end])
  }
}
