import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Diagnostic } from '../../capability/diagnostic.ts'

type StrayEvent = 'rejected' | 'thrown'

export interface StrayError {
  readonly thrown: unknown
  readonly event: StrayEvent
  /** The module whose loading led to the error, when known. */
  readonly file: string | undefined
}

/** How long `settle` waits for work that a module began while it was loaded. */
const settleMs = 200

/**
 * Catches promises that are rejected and errors that are thrown outside of any call, which end the
 * process otherwise. Process-wide, so only the command line uses it.
 */
export class StrayErrors {
  readonly #loading = new AsyncLocalStorage<string>()
  /** Names of the loaded modules by path. */
  readonly #names = new Map<string, string>()
  readonly #errors: StrayError[] = []
  readonly #pendingBefore = countPending()
  readonly #exit = process.exit
  readonly #onRejection = (thrown: unknown) => this.#add(thrown, 'rejected')
  readonly #onException = (thrown: unknown) => this.#add(thrown, 'thrown')
  #report: ((error: StrayError) => void) | undefined
  #loads = 0

  constructor() {
    process.on('unhandledRejection', this.#onRejection)
    process.on('uncaughtException', this.#onException)
  }

  /** Loads a module, so that errors it leaves behind are attributed to it. */
  async load<T>(file: string, name: string, load: () => Promise<T>): Promise<T> {
    this.#names.set(file, name)
    this.#loads++
    process.exit = (code) => {
      throw new Error(`it calls process.exit(${code ?? ''}) while it loads`)
    }
    try {
      const loaded = await this.#loading.run(file, load)
      // Node reports a rejection when the microtasks of the current turn are done.
      await setImmediate()
      return loaded
    } finally {
      process.exit = this.#exit
      this.#loads--
      this.#stopTracking()
    }
  }

  /** Waits a moment if a module has left timers or connections open, which may still fail. */
  async settle(): Promise<void> {
    if (this.#names.size > 0 && countPending() > this.#pendingBefore) await setTimeout(settleMs)
  }

  /** From now on, errors are reported immediately, except those of a module while it is loaded. */
  reportTo(report: (error: StrayError) => void): void {
    this.#report = report
    this.#stopTracking()
  }

  /** The number of errors until now, for `toDiagnostics`. */
  get count(): number {
    return this.#errors.length
  }

  /** The errors as diagnostics of their modules; `describe` removes secrets. */
  toDiagnostics(describe: (thrown: unknown) => string, first = 0): Diagnostic[] {
    return this.#errors.slice(first).map(({ thrown, event, file }) => {
      const [reason = ''] = describe(thrown).split('\n')
      const name = this.#names.get(file ?? '')
      const what = event === 'rejected' ? 'a promise was rejected' : 'an error was thrown'
      return {
        code: 'module_rejects',
        severity: 'error',
        message: `${name ?? 'A module'} leaves an error behind when it is loaded: ${what} and not handled: ${reason.replace(/\.$/, '')}. Await it, or catch it.`,
        source: name ?? 'modules',
        pointer: '',
        ...(file !== undefined && toPosition(thrown, file)),
      }
    })
  }

  close(): void {
    process.off('unhandledRejection', this.#onRejection)
    process.off('uncaughtException', this.#onException)
    this.#loading.disable()
    process.exit = this.#exit
  }

  #add(thrown: unknown, event: StrayEvent): void {
    const loadedFile = this.#loading.getStore()
    const error = { thrown, event, file: loadedFile ?? this.#findFile(thrown) }
    const isLoading = this.#loads > 0 && loadedFile !== undefined
    if (this.#report && !isLoading) this.#report(error)
    else this.#errors.push(error)
  }

  #findFile(thrown: unknown): string | undefined {
    const stack = toStack(thrown)
    return [...this.#names.keys()].find((file) => stack.includes(file))
  }

  /** Async context tracking slows every promise down: a server does without it once it serves. */
  #stopTracking(): void {
    if (this.#report && this.#loads === 0) this.#loading.disable()
  }
}

/** Timers, connections and child processes that keep the process alive. */
const countPending = (): number =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => /Timeout|TCP|TLS|AddrInfo|UDP|Process/.test(kind)).length

const toStack = (thrown: unknown): string =>
  thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : ''

function toPosition(thrown: unknown, file: string): { at?: string } {
  const position = toStack(thrown)
    .split(file)[1]
    ?.match(/^:\d+:\d+/)
  return position ? { at: `${file}${position[0]}` } : {}
}
