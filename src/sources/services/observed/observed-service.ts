import type { Capability, View } from '../../../capability/capability.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { toName, toSegments } from '../address.ts'
import { observableOf, type Service, type ServiceAction } from '../service.ts'
import type { DeclaredAction } from '../to-capability.ts'
import type { ExposedState } from '../to-view.ts'
import { type ActionMemory, ObservedActions } from './observed-actions.ts'
import { type LinkFollower, type LinkRefusal, ObservedLinks } from './observed-links.ts'
import { ObservedStates } from './observed-states.ts'

/** The graph that an observed service is part of. */
export interface Graph extends ActionMemory {
  onChange(node: ObservedService): void
  onValueChange(view: View): void
  /** Returns a refusal if `service` must not be linked below `parent`. */
  findRefusal(service: Service, parent: ObservedService): LinkRefusal | undefined
}

/** A map that has not been emitted yet. */
export interface PendingMap {
  readonly name: string
  readonly pointer: string
}

/** A service of a graph, observed until it is released. */
export class ObservedService implements LinkFollower {
  readonly service: Service
  readonly path: readonly string[]
  readonly parent: ObservedService | undefined
  readonly children = new Map<string, ObservedService>()
  readonly #graph: Graph
  readonly #actions: ObservedActions
  readonly #states: ObservedStates
  readonly #links: ObservedLinks
  readonly #maps: readonly [ObservedActions, ObservedStates, ObservedLinks]

  constructor(service: Service, path: readonly string[], graph: Graph, parent?: ObservedService) {
    this.service = service
    this.path = path
    this.parent = parent
    this.#graph = graph
    const { id: source, states, links } = graph.settings
    const context = { source, path, onChange: () => graph.onChange(this) }
    this.#actions = new ObservedActions(service, graph, context)
    const observeStates = states === 'none' ? undefined : observableOf(service, 'states')
    this.#states = new ObservedStates(observeStates, (view) => graph.onValueChange(view), context)
    this.#links = new ObservedLinks(
      observableOf(service, 'links'),
      links === 'tools' ? this : undefined,
      context,
    )
    this.#maps = [this.#actions, this.#states, this.#links]
    graph.onChange(this)
  }

  get capabilities(): readonly Capability[] {
    return this.#actions.capabilities
  }

  get views(): readonly View[] {
    return this.#states.views
  }

  get states(): Iterable<ExposedState> {
    return this.#states.exposedStates
  }

  /** All current links, followed or not. */
  get links(): Readonly<Record<string, unknown>> {
    return this.#links.current
  }

  get hasDiagnostics(): boolean {
    return this.#maps.some(({ diagnostics }) => diagnostics.length > 0)
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#maps.flatMap(({ diagnostics }) => diagnostics)
  }

  get isPending(): boolean {
    return this.#maps.some(({ isPending }) => isPending)
  }

  /** The maps it has not emitted yet. */
  get pending(): readonly PendingMap[] {
    return this.#maps
      .filter(({ isPending }) => isPending)
      .map(({ name }) => ({
        name: toName(this.path, name),
        pointer: toPointer(toSegments(this.path, name)),
      }))
  }

  offers(key: string): boolean {
    return this.#actions.offers(key)
  }

  find(declaredAction: DeclaredAction): ServiceAction | undefined {
    const offeredAction = this.#actions.find(declaredAction)
    return offeredAction?.declaredAction === declaredAction ? offeredAction.action : undefined
  }

  /** Processes new values. Returns `true` if the reading changes. */
  refresh(): boolean {
    return this.#maps.map((map) => map.refresh()).includes(true)
  }

  release(): void {
    for (const map of this.#maps) map.release()
    for (const key of this.keys) this.unfollow(key)
  }

  get keys(): readonly string[] {
    return [...this.children.keys()]
  }

  followedService(key: string): Service | undefined {
    return this.children.get(key)?.service
  }

  follow(key: string, service: Service): LinkRefusal | undefined {
    const refusal = this.#graph.findRefusal(service, this)
    if (!refusal)
      this.children.set(key, new ObservedService(service, [...this.path, key], this.#graph, this))
    return refusal
  }

  unfollow(key: string): void {
    this.children.get(key)?.release()
    this.children.delete(key)
  }
}
