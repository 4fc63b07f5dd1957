import type { Capability } from '../../../capability/capability.ts'
import { isFault } from '../../../capability/fault.ts'
import { toName } from '../address.ts'
import { observableOf, type Service, type ServiceAction } from '../service.ts'
import {
  type ActionLookup,
  type DeclaredAction,
  isSameAction,
  toCapability,
} from '../to-capability.ts'
import { type ObservedContext, ObservedMap } from './observed-map.ts'

/** Keeps actions after they were withdrawn. */
export interface ActionMemory extends ActionLookup {
  /** Finds a withdrawn action by name: one that returns unchanged keeps its capability. */
  findWithdrawn(name: string): DeclaredAction | undefined
  markOffered(action: DeclaredAction): void
  markWithdrawn(action: DeclaredAction): void
}

interface OfferedAction {
  readonly declaredAction: DeclaredAction
  readonly action: ServiceAction
}

/** The actions that a service offers now. */
export class ObservedActions extends ObservedMap<ServiceAction> {
  readonly #service: Service
  readonly #memory: ActionMemory
  readonly #offeredActions = new Map<string, OfferedAction>()
  #capabilities: readonly Capability[] = []

  constructor(service: Service, memory: ActionMemory, context: ObservedContext) {
    super('actions', observableOf(service, 'actions'), context)
    this.#service = service
    this.#memory = memory
  }

  get capabilities(): readonly Capability[] {
    return this.#capabilities
  }

  find({ place: { key } }: DeclaredAction): OfferedAction | undefined {
    return this.#offeredActions.get(key)
  }

  offers(key: string): boolean {
    return this.#offeredActions.has(key)
  }

  override release(): void {
    super.release()
    for (const { declaredAction } of this.#offeredActions.values())
      this.#memory.markWithdrawn(declaredAction)
    this.#offeredActions.clear()
  }

  protected apply(actions: Readonly<Record<string, ServiceAction>>): boolean {
    let changed = false
    const sizeBefore = this.#offeredActions.size
    const replace = (key: string, next: OfferedAction | undefined) => {
      const previous = this.#offeredActions.get(key)?.declaredAction
      if (next) this.#offeredActions.set(key, next)
      else this.#offeredActions.delete(key)
      if (next?.declaredAction === previous) return
      changed = true
      if (previous) this.#memory.markWithdrawn(previous)
      if (next) this.#memory.markOffered(next.declaredAction)
    }
    const keys = Object.keys(actions)
    let retainedCount = 0
    for (const key of keys) {
      const previous = this.#offeredActions.get(key)
      const action = this.readEntry(actions, key)
      if (previous) retainedCount++
      // Fast path: services usually emit the same action objects again.
      if (previous && previous.action === action)
        this.keepDiagnostics(previous.declaredAction.diagnostics)
      else
        replace(
          key,
          this.tryRead(key, () => this.#read(key, action)),
        )
    }
    if (retainedCount < sizeBefore)
      for (const key of this.#offeredActions.keys())
        if (!Object.hasOwn(actions, key)) replace(key, undefined)
    if (changed)
      this.#capabilities = [...this.#offeredActions.values()].map(
        ({ declaredAction }) => declaredAction.capability,
      )
    return changed
  }

  #read(key: string, action: ServiceAction | undefined) {
    if (typeof action !== 'object' || action === null)
      return this.reportUnusable(key, 'it is not an object')
    if (!this.#service.execute && typeof action.execute !== 'function')
      return this.reportUnusable(key, 'neither it nor its service has an execute function')
    const { path } = this.context
    const previous =
      this.#offeredActions.get(key)?.declaredAction ?? this.#memory.findWithdrawn(toName(path, key))
    if (previous && isSameAction(previous.declaration, action)) {
      this.keepDiagnostics(previous.diagnostics)
      return { declaredAction: previous, action }
    }
    const reading = toCapability({ path, key }, action, this.#memory)
    if (isFault(reading)) return this.reportUnusable(key, reading.fault)
    this.keepDiagnostics(reading.diagnostics)
    return { declaredAction: reading, action }
  }
}
