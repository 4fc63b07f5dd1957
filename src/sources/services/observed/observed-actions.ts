import type { Capability } from '../../../capability/capability.ts'
import { toName } from '../address.ts'
import { isSameAction, type KnownAction, type Present, toKnownAction } from '../to-capability.ts'
import { observableOf, type Service, type ServiceAction } from '../service.ts'
import { ObservedMap, type ObservedPlace } from './observed-map.ts'

/** Remembers actions beyond the time in which they are offered. */
export interface ActionMemory extends Present {
  /** So that an action that comes back is the same one. */
  recall(name: string): KnownAction | undefined
  offer(known: KnownAction): void
  withdraw(known: KnownAction): void
}

/** The actions of a service that are offered now. */
export class ObservedActions extends ObservedMap<ServiceAction> {
  readonly #service: Service
  readonly #memory: ActionMemory
  readonly #offered = new Map<string, { known: KnownAction; action: ServiceAction }>()
  #capabilities: readonly Capability[] = []

  constructor(service: Service, memory: ActionMemory, place: ObservedPlace) {
    super('actions', observableOf(service, 'actions'), place)
    this.#service = service
    this.#memory = memory
  }

  get capabilities(): readonly Capability[] {
    return this.#capabilities
  }

  find({ place: { key } }: KnownAction): { known: KnownAction; action: ServiceAction } | undefined {
    return this.#offered.get(key)
  }

  offers(key: string): boolean {
    return this.#offered.has(key)
  }

  override release(): void {
    super.release()
    for (const { known } of this.#offered.values()) this.#memory.withdraw(known)
    this.#offered.clear()
  }

  protected take(said: Readonly<Record<string, ServiceAction>>): boolean {
    let changed = false
    const before = this.#offered.size
    const replace = (
      key: string,
      next: { known: KnownAction; action: ServiceAction } | undefined,
    ) => {
      const former = this.#offered.get(key)?.known
      if (next) this.#offered.set(key, next)
      else this.#offered.delete(key)
      if (next?.known === former) return
      changed = true
      if (former) this.#memory.withdraw(former)
      if (next) this.#memory.offer(next.known)
    }
    const keys = Object.keys(said)
    let known = 0
    for (const key of keys) {
      const offered = this.#offered.get(key)
      const action = this.peek(said, key)
      if (offered) known++
      // Of a thousand actions that are said again, nearly all are the same objects as before.
      if (offered && offered.action === action) this.repeat(offered.known.diagnostics)
      else
        replace(
          key,
          this.attempt(key, () => this.#read(key, action)),
        )
    }
    if (known < before)
      for (const key of this.#offered.keys()) if (!Object.hasOwn(said, key)) replace(key, undefined)
    if (changed)
      this.#capabilities = [...this.#offered.values()].map(({ known }) => known.capability)
    return changed
  }

  #read(key: string, action: ServiceAction | undefined) {
    if (typeof action !== 'object' || action === null) return this.leaveOut(key, 'it is no action')
    if (!this.#service.execute && typeof action.execute !== 'function')
      return this.leaveOut(key, 'nothing says how to execute it')
    const { path } = this.place
    const former = this.#offered.get(key)?.known ?? this.#memory.recall(toName(path, key))
    if (former && isSameAction(former.declared, action)) {
      this.repeat(former.diagnostics)
      return { known: former, action }
    }
    const reading = toKnownAction({ path, key }, action, this.#memory)
    if ('fault' in reading) return this.leaveOut(key, reading.fault)
    this.repeat(reading.diagnostics)
    return { known: reading, action }
  }
}
