import type { Capability } from '../../../capability/capability.ts'
import { toName } from '../address.ts'
import { isSameAction, type DeclaredAction, type ActionLookup, toCapability } from '../to-capability.ts'
import { observableOf, type Service, type ServiceAction } from '../service.ts'
import { ObservedMap, type ObservedContext } from './observed-map.ts'

/** Remembers actions beyond the time in which they are offered. */
export interface ActionMemory extends ActionLookup {
  /** So that an action that comes back is the same one. */
  findWithdrawn(name: string): DeclaredAction | undefined
  markOffered(known: DeclaredAction): void
  markWithdrawn(known: DeclaredAction): void
}

/** The actions of a service that are offered now. */
export class ObservedActions extends ObservedMap<ServiceAction> {
  readonly #service: Service
  readonly #memory: ActionMemory
  readonly #offered = new Map<string, { known: DeclaredAction; action: ServiceAction }>()
  #capabilities: readonly Capability[] = []

  constructor(service: Service, memory: ActionMemory, place: ObservedContext) {
    super('actions', observableOf(service, 'actions'), place)
    this.#service = service
    this.#memory = memory
  }

  get capabilities(): readonly Capability[] {
    return this.#capabilities
  }

  find({ place: { key } }: DeclaredAction): { known: DeclaredAction; action: ServiceAction } | undefined {
    return this.#offered.get(key)
  }

  offers(key: string): boolean {
    return this.#offered.has(key)
  }

  override release(): void {
    super.release()
    for (const { known } of this.#offered.values()) this.#memory.markWithdrawn(known)
    this.#offered.clear()
  }

  protected apply(said: Readonly<Record<string, ServiceAction>>): boolean {
    let changed = false
    const before = this.#offered.size
    const replace = (
      key: string,
      next: { known: DeclaredAction; action: ServiceAction } | undefined,
    ) => {
      const former = this.#offered.get(key)?.known
      if (next) this.#offered.set(key, next)
      else this.#offered.delete(key)
      if (next?.known === former) return
      changed = true
      if (former) this.#memory.markWithdrawn(former)
      if (next) this.#memory.markOffered(next.known)
    }
    const keys = Object.keys(said)
    let known = 0
    for (const key of keys) {
      const offered = this.#offered.get(key)
      const action = this.readEntry(said, key)
      if (offered) known++
      // Of a thousand actions that are said again, nearly all are the same objects as before.
      if (offered && offered.action === action) this.keepDiagnostics(offered.known.diagnostics)
      else
        replace(
          key,
          this.tryRead(key, () => this.#read(key, action)),
        )
    }
    if (known < before)
      for (const key of this.#offered.keys()) if (!Object.hasOwn(said, key)) replace(key, undefined)
    if (changed)
      this.#capabilities = [...this.#offered.values()].map(({ known }) => known.capability)
    return changed
  }

  #read(key: string, action: ServiceAction | undefined) {
    if (typeof action !== 'object' || action === null) return this.reportUnusable(key, 'it is no action')
    if (!this.#service.execute && typeof action.execute !== 'function')
      return this.reportUnusable(key, 'nothing says how to execute it')
    const { path } = this.context
    const former = this.#offered.get(key)?.known ?? this.#memory.findWithdrawn(toName(path, key))
    if (former && isSameAction(former.declaration, action)) {
      this.keepDiagnostics(former.diagnostics)
      return { known: former, action }
    }
    const reading = toCapability({ path, key }, action, this.#memory)
    if ('fault' in reading) return this.reportUnusable(key, reading.fault)
    this.keepDiagnostics(reading.diagnostics)
    return { known: reading, action }
  }
}
