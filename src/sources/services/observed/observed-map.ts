import { toPointer } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { toName, toSteps } from '../address.ts'
import type { Observe } from '../service.ts'
import { Latest } from './latest-value.ts'

export type ObservedKind = 'actions' | 'states' | 'links'

/** Where a part belongs, and whom it tells that it has something to say. */
export interface ObservedPlace {
  readonly source: string
  readonly path: readonly string[]
  readonly touch: () => void
}

/** One of the maps a service keeps saying. It is looked at when somebody wants to know. */
export abstract class ObservedMap<T> {
  readonly name: ObservedKind
  protected readonly place: ObservedPlace
  readonly #latest: Latest<Readonly<Record<string, T>>> | undefined
  #diagnostics: readonly Diagnostic[] = []
  #found: Diagnostic[] = []

  constructor(
    name: ObservedKind,
    observe: Observe<Readonly<Record<string, T>>> | undefined,
    place: ObservedPlace,
  ) {
    this.name = name
    this.place = place
    if (typeof observe === 'function') this.#latest = new Latest(observe, place.touch)
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics
  }

  get isSilent(): boolean {
    return this.#latest !== undefined && !this.#latest.hasSpoken && !this.#latest.fault
  }

  get said(): Readonly<Record<string, T>> {
    return this.#latest?.value ?? {}
  }

  /** Looks at what was said since the last time; says whether that makes a new reading. */
  refresh(): boolean {
    const latest = this.#latest
    if (!latest?.isNew) return false
    latest.isNew = false
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
  protected abstract take(said: Readonly<Record<string, T>>): boolean

  /** What one entry throws when it is looked at is said, and costs only that entry. */
  protected attempt<Seen>(key: string, look: () => Seen): Seen | undefined {
    try {
      return look()
    } catch (error) {
      this.leaveOut(key, `it cannot be looked at: ${(error as Error).message}`)
      return undefined
    }
  }

  /** One entry, or nothing where that is somebody's getter and throws. */
  protected peek(said: Readonly<Record<string, T>>, key: string): T | undefined {
    try {
      return said[key]
    } catch {
      return undefined
    }
  }

  protected leaveOut(key: string, why: string): undefined {
    const called = `The ${singular[this.name]} ${toName(this.place.path, key)}`
    this.say(key, 'error', `${singular[this.name]}_unusable`, `${called} is left out: ${why}.`)
  }

  protected say(
    key: string,
    severity: Diagnostic['severity'],
    code: string,
    message: string,
  ): void {
    this.#found.push({ code, severity, message, ...this.at(key) })
  }

  protected repeat(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) this.#found.push(diagnostic)
  }

  protected at(...keys: readonly string[]) {
    const { source, path } = this.place
    return { source, pointer: toPointer(toSteps(path, this.name, ...keys)) }
  }

  #look({ fault, value }: Latest<Readonly<Record<string, T>>>): boolean {
    const called = toName(this.place.path, this.name)
    const say = (code: string, message: string) => {
      this.#found.push({ code, severity: 'error', message, ...this.at() })
      return false
    }
    if (fault !== undefined) return say('observe_failed', `${called} cannot be observed: ${fault}`)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return say('observed_unusable', `${called} said something that is no map.`)
    try {
      return this.take(value)
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
