import type { Capability, View } from '../../../capability/capability.ts'
import { toPointer } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { toName, toSegments } from '../address.ts'
import type { DeclaredAction } from '../to-capability.ts'
import type { ExposedState } from '../to-view.ts'
import { observableOf, type Service, type ServiceAction } from '../service.ts'
import { type ActionMemory, ObservedActions } from './observed-actions.ts'
import { type LinkFollower, type LinkRefusal, ObservedLinks } from './observed-links.ts'
import { ObservedStates } from './observed-states.ts'

/** The graph a watched service is part of. */
export interface Graph extends ActionMemory {
  touch(node: ObservedService): void
  valueChanged(view: View): void
  /** Why one more service is not followed, if it is not. */
  findRefusal(service: Service, parent: ObservedService): LinkRefusal | undefined
}

/** Something that has not been said yet. */
export interface PendingMap {
  readonly name: string
  readonly pointer: string
}

/** One service of a graph for as long as it is part of it. */
export class ObservedService implements LinkFollower {
  readonly service: Service
  readonly path: readonly string[]
  readonly parent: ObservedService | undefined
  readonly children = new Map<string, ObservedService>()
  readonly #graph: Graph
  readonly #actions: ObservedActions
  readonly #states: ObservedStates
  readonly #links: ObservedLinks
  readonly #parts: readonly [ObservedActions, ObservedStates, ObservedLinks]

  constructor(service: Service, path: readonly string[], graph: Graph, parent?: ObservedService) {
    this.service = service
    this.path = path
    this.parent = parent
    this.#graph = graph
    const { id: source, states, links } = graph.settings
    const place = { source, path, touch: () => graph.touch(this) }
    this.#actions = new ObservedActions(service, graph, place)
    const shown = states === 'none' ? undefined : observableOf(service, 'states')
    this.#states = new ObservedStates(shown, (view) => graph.valueChanged(view), place)
    this.#links = new ObservedLinks(
      observableOf(service, 'links'),
      links === 'tools' ? this : undefined,
      place,
    )
    this.#parts = [this.#actions, this.#states, this.#links]
    graph.touch(this)
  }

  get capabilities(): readonly Capability[] {
    return this.#actions.capabilities
  }

  get views(): readonly View[] {
    return this.#states.views
  }

  get states(): Iterable<ExposedState> {
    return this.#states.exposed
  }

  /** Who it is linked to, whether they are followed or not. */
  get links(): Readonly<Record<string, unknown>> {
    return this.#links.current
  }

  get hasDiagnostics(): boolean {
    return this.#parts.some(({ diagnostics }) => diagnostics.length > 0)
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#parts.flatMap(({ diagnostics }) => diagnostics)
  }

  get isPending(): boolean {
    return this.#parts.some(({ isPending: isSilent }) => isSilent)
  }

  /** What it has not said anything about yet. */
  get pending(): readonly PendingMap[] {
    return this.#parts
      .filter(({ isPending: isSilent }) => isSilent)
      .map(({ name }) => ({
        name: toName(this.path, name),
        pointer: toPointer(toSegments(this.path, name)),
      }))
  }

  offers(key: string): boolean {
    return this.#actions.offers(key)
  }

  find(known: DeclaredAction): ServiceAction | undefined {
    const found = this.#actions.find(known)
    return found?.known === known ? found.action : undefined
  }

  /** Looks at what was said since the last time; says whether there is a new reading. */
  refresh(): boolean {
    return this.#parts.map((part) => part.refresh()).includes(true)
  }

  release(): void {
    for (const part of this.#parts) part.release()
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
