import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { put } from './a-project.ts'
import type { Finished } from './cli-host.ts'
import {
  type ClientKind,
  type ClientOptions,
  type OfficialClient,
  openClient,
} from './client-kinds.ts'
import { ranFile } from './counting-tools.ts'
import { drawbridge, main, type Serving, toServing } from './run-cli.ts'
import { type StartedProcess, startProcess, toEnvironment } from './start-process.ts'

type Environment = Readonly<Record<string, string>>

/**
 * A folder with a configuration, and the processes that use it: servers, clients and commands, each
 * one a process of its own. `close` ends them all.
 */
export class Site {
  readonly folder: string
  readonly #environment: Environment
  readonly #running = new Set<StartedProcess>()
  readonly #clients: OfficialClient[] = []
  #url = ''

  private constructor(folder: string, environment: Environment) {
    this.folder = folder
    this.#environment = environment
  }

  static async open(
    files: Readonly<Record<string, string>>,
    environment: Environment = {},
  ): Promise<Site> {
    const site = new Site(await mkdtemp(path.join(os.tmpdir(), 'drawbridge-')), environment)
    for (const [name, text] of Object.entries(files)) await site.put(name, text)
    return site
  }

  get url(): string {
    return this.#url
  }

  put(name: string, text: string): Promise<void> {
    return put(path.join(this.folder, name), text)
  }

  /** Every execution that the tools have logged, in any process. */
  runsOf(name?: string): { readonly name: string; readonly input: Record<string, unknown> }[] {
    const lines = this.read(ranFile).split('\n').filter(Boolean)
    return lines
      .map((line) => JSON.parse(line))
      .filter((execution) => !name || execution.name === name)
  }

  read(name: string): string {
    try {
      return readFileSync(path.join(this.folder, name), 'utf8')
    } catch {
      return ''
    }
  }

  /** Headers with the credential for deciding approvals. */
  asApprover(): Record<string, string> {
    return { authorization: `Bearer ${this.read('drawbridge.db.approver').trim()}` }
  }

  /** Runs a `drawbridge` command in the folder until it exits. */
  run(...args: readonly string[]): Promise<Finished> {
    return drawbridge(args, { cwd: this.folder, env: this.#environment })
  }

  /** Runs a command with `--json`, and parses its output. */
  async json(...args: readonly string[]) {
    const { stdout, stderr } = await this.run(...args, '--json')
    try {
      return JSON.parse(stdout)
    } catch {
      throw new Error(`${args.join(' ')} --json printed no JSON: ${stdout}${stderr}`)
    }
  }

  start(...args: readonly string[]): StartedProcess {
    const started = startProcess([main, ...args], {
      cwd: this.folder,
      env: this.#environment,
    })
    this.#running.add(started)
    started.exited.then(() => this.#running.delete(started))
    return started
  }

  /** Starts `drawbridge serve` on a free port; HTTP clients connect to the latest one. */
  async serve(...args: readonly string[]): Promise<Serving> {
    const serving = await toServing(this.start('serve', '--port', '0', ...args))
    this.#url = serving.url
    return serving
  }

  /** Stops a process: gracefully, or like a crash with SIGKILL. */
  async stop(
    { process, exited }: StartedProcess,
    signal: NodeJS.Signals = 'SIGTERM',
  ): Promise<void> {
    process.kill(signal)
    await exited
  }

  async connect(clientKind: ClientKind, options: ClientOptions = {}): Promise<OfficialClient> {
    const { mount = '/mcp', serverArgs = [] } = options
    const client = await openClient(clientKind, options, {
      url: this.#url.replace(/\/mcp$/, mount),
      stdio: {
        command: process.execPath,
        args: [main, 'serve', '--stdio', '--mount', mount, ...serverArgs],
        cwd: this.folder,
        env: toEnvironment(this.#environment),
      },
    })
    this.#clients.push(client)
    return client
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    const running = [...this.#running]
    for (const { process } of running) process.kill('SIGKILL')
    await Promise.all(running.map(({ exited }) => exited))
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
