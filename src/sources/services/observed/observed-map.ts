import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { toName, toSegments } from '../address.ts'
import type { Observe } from '../service.ts'
import { LatestValue } from './latest-value.ts'

export type ObservedKind = 'actions' | 'states' | 'links'

/** The service a map belongs to, and a callback for new values. */
export interface ObservedContext {
  readonly source: string
  readonly path: readonly string[]
  readonly onChange: () => void
}

/** A map that a service emits repeatedly. Values are processed lazily, when a reading is requested. */
export abstract class ObservedMap<T> {
  readonly name: ObservedKind
  protected readonly context: ObservedContext
  readonly #latestValue: LatestValue<Readonly<Record<string, T>>> | undefined
  #diagnostics: readonly Diagnostic[] = []
  #newDiagnostics: Diagnostic[] = []

  constructor(
    name: ObservedKind,
    observe: Observe<Readonly<Record<string, T>>> | undefined,
    context: ObservedContext,
  ) {
    this.name = name
    this.context = context
    if (typeof observe === 'function')
      this.#latestValue = new LatestValue(observe, context.onChange)
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics
  }

  get isPending(): boolean {
    return (
      this.#latestValue !== undefined && !this.#latestValue.hasValue && !this.#latestValue.fault
    )
  }

  get current(): Readonly<Record<string, T>> {
    return this.#latestValue?.value ?? {}
  }

  /** Processes a new value, if there is one. Returns `true` if the reading changes. */
  refresh(): boolean {
    const latest = this.#latestValue
    if (!latest?.isUnread) return false
    latest.isUnread = false
    this.#newDiagnostics = []
    const changed = this.#process(latest)
    const previous = this.#diagnostics
    this.#diagnostics = this.#newDiagnostics
    return changed || !haveSameMessages(previous, this.#newDiagnostics)
  }

  release(): void {
    this.#latestValue?.release()
  }

  /** Applies a new value. Returns `true` if the reading changes. */
  protected abstract apply(map: Readonly<Record<string, T>>): boolean

  /** Entries are user objects: an exception while reading one is reported and skips only that entry. */
  protected tryRead<Entry>(key: string, read: () => Entry): Entry | undefined {
    try {
      return read()
    } catch (error) {
      this.reportUnusable(key, `reading it failed: ${(error as Error).message}`)
      return undefined
    }
  }

  /** Returns `undefined` if the entry is a getter that throws. */
  protected readEntry(map: Readonly<Record<string, T>>, key: string): T | undefined {
    try {
      return map[key]
    } catch {
      return undefined
    }
  }

  protected reportUnusable(key: string, reason: string): undefined {
    const subject = `The ${singular[this.name]} ${toName(this.context.path, key)}`
    this.report(
      key,
      'error',
      `${singular[this.name]}_unusable`,
      `${subject} is not served: ${reason}.`,
    )
  }

  protected report(
    key: string,
    severity: Diagnostic['severity'],
    code: string,
    message: string,
  ): void {
    this.#newDiagnostics.push({ code, severity, message, ...this.locate(key) })
  }

  protected keepDiagnostics(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) this.#newDiagnostics.push(diagnostic)
  }

  protected locate(...keys: readonly string[]) {
    const { source, path } = this.context
    return { source, pointer: toPointer(toSegments(path, this.name, ...keys)) }
  }

  #process({ fault, value }: LatestValue<Readonly<Record<string, T>>>): boolean {
    const name = toName(this.context.path, this.name)
    const fail = (code: string, message: string) => {
      this.#newDiagnostics.push({ code, severity: 'error', message, ...this.locate() })
      return false
    }
    if (fault !== undefined)
      return fail('observe_failed', `Subscribing to ${name} failed: ${fault}`)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return fail('observed_unusable', `${name} emitted a value that is not an object.`)
    try {
      return this.apply(value)
    } catch (error) {
      const { message } = error as Error
      return fail('observed_unusable', `${name} emitted a value that cannot be read: ${message}`)
    }
  }
}

const singular: Record<ObservedKind, string> = { actions: 'action', states: 'state', links: 'link' }

const haveSameMessages = (
  previous: readonly Diagnostic[],
  current: readonly Diagnostic[],
): boolean =>
  previous.length === current.length &&
  current.every(({ message }, index) => message === previous[index]?.message)
