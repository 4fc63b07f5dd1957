import { toPointer } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { toName, toSegments } from '../address.ts'
import type { Observe } from '../service.ts'
import { LatestValue } from './latest-value.ts'

export type ObservedKind = 'actions' | 'states' | 'links'

/** Where a part belongs, and whom it tells that it has something to say. */
export interface ObservedContext {
  readonly source: string
  readonly path: readonly string[]
  readonly touch: () => void
}

/** One of the maps a service keeps saying. It is looked at when somebody wants to know. */
export abstract class ObservedMap<T> {
  readonly name: ObservedKind
  protected readonly context: ObservedContext
  readonly #latest: LatestValue<Readonly<Record<string, T>>> | undefined
  #diagnostics: readonly Diagnostic[] = []
  #found: Diagnostic[] = []

  constructor(
    name: ObservedKind,
    observe: Observe<Readonly<Record<string, T>>> | undefined,
    place: ObservedContext,
  ) {
    this.name = name
    this.context = place
    if (typeof observe === 'function') this.#latest = new LatestValue(observe, place.touch)
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics
  }

  get isPending(): boolean {
    return this.#latest !== undefined && !this.#latest.hasValue && !this.#latest.fault
  }

  get current(): Readonly<Record<string, T>> {
    return this.#latest?.value ?? {}
  }

  /** Looks at what was said since the last time; says whether that makes a new reading. */
  refresh(): boolean {
    const latest = this.#latest
    if (!latest?.isUnread) return false
    latest.isUnread = false
    this.#found = []
    const changed = this.#look(latest)
    const former = this.#diagnostics
    this.#diagnostics = this.#found
    return changed || !areSame(former, this.#found)
  }

  release(): void {
    this.#latest?.release()
  }

  /** Takes over what was said; says whether that makes a new reading. */
  protected abstract apply(said: Readonly<Record<string, T>>): boolean

  /** What one entry throws when it is looked at is said, and costs only that entry. */
  protected tryRead<Seen>(key: string, look: () => Seen): Seen | undefined {
    try {
      return look()
    } catch (error) {
      this.reportUnusable(key, `it cannot be looked at: ${(error as Error).message}`)
      return undefined
    }
  }

  /** One entry, or nothing where that is somebody's getter and throws. */
  protected readEntry(said: Readonly<Record<string, T>>, key: string): T | undefined {
    try {
      return said[key]
    } catch {
      return undefined
    }
  }

  protected reportUnusable(key: string, why: string): undefined {
    const called = `The ${singular[this.name]} ${toName(this.context.path, key)}`
    this.report(key, 'error', `${singular[this.name]}_unusable`, `${called} is left out: ${why}.`)
  }

  protected report(
    key: string,
    severity: Diagnostic['severity'],
    code: string,
    message: string,
  ): void {
    this.#found.push({ code, severity, message, ...this.locate(key) })
  }

  protected keepDiagnostics(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) this.#found.push(diagnostic)
  }

  protected locate(...keys: readonly string[]) {
    const { source, path } = this.context
    return { source, pointer: toPointer(toSegments(path, this.name, ...keys)) }
  }

  #look({ fault, value }: LatestValue<Readonly<Record<string, T>>>): boolean {
    const called = toName(this.context.path, this.name)
    const say = (code: string, message: string) => {
      this.#found.push({ code, severity: 'error', message, ...this.locate() })
      return false
    }
    if (fault !== undefined) return say('observe_failed', `${called} cannot be observed: ${fault}`)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return say('observed_unusable', `${called} said something that is no map.`)
    try {
      return this.apply(value)
    } catch (error) {
      const why = (error as Error).message
      return say('observed_unusable', `${called} said something that cannot be read: ${why}`)
    }
  }
}

const singular: Record<ObservedKind, string> = { actions: 'action', states: 'state', links: 'link' }

const areSame = (former: readonly Diagnostic[], present: readonly Diagnostic[]): boolean =>
  former.length === present.length &&
  present.every(({ message }, index) => message === former[index]?.message)
