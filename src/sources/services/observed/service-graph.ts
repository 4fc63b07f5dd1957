import type { Capability, View } from '../../../capability/capability.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isFault } from '../../../capability/fault.ts'
import type { Change, Reading } from '../../../capability/source.ts'
import { byCodeUnit } from '../../../json/by-code-unit.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { toSegments } from '../address.ts'
import { toAvailabilityView } from '../availability-view.ts'
import { toGetStateTool } from '../get-state-tool.ts'
import { toListLinksTool } from '../list-links-tool.ts'
import type { ServiceSettings } from '../options.ts'
import type { Service } from '../service.ts'
import { type DeclaredAction, toCapability } from '../to-capability.ts'
import type { LinkRefusal } from './observed-links.ts'
import { type Graph, ObservedService, type PendingMap } from './observed-service.ts'

/** A larger graph is most likely a mistake, and no client can use so many tools. */
const maxServices = 1000
/** Withdrawn actions that are kept; the oldest are evicted first. */
const maxWithdrawn = { dynamic: 1000, stable: 10_000 }

/** A service with all services it is linked to, as one reading. */
export class ServiceGraph implements Graph {
  readonly settings: ServiceSettings
  readonly root: ObservedService
  readonly #announce: (change: Change) => void
  readonly #changedNodes = new Set<ObservedService>()
  readonly #withdrawnActions = new Map<string, DeclaredAction>()
  readonly #getState: Capability
  readonly #listLinks: Capability
  readonly #availability: View
  readonly #declarationDiagnostics: readonly Diagnostic[]
  #hadStates = false
  #hasUnread = false
  #isReleased = false
  #reading: Reading | undefined

  constructor(service: Service, settings: ServiceSettings, announce: (change: Change) => void) {
    this.settings = settings
    this.#announce = announce
    this.#getState = toGetStateTool(settings.id, () => this.#states())
    this.#listLinks = toListLinksTool(settings.id, () => this.#links())
    this.#availability = toAvailabilityView(
      settings.id,
      (name) => !this.#withdrawnActions.has(name),
    )
    this.#declarationDiagnostics = settings.visibility === 'stable' ? this.#declare() : []
    this.root = new ObservedService(service, [], this)
  }

  /** Maps that a service of the graph has not emitted yet. */
  get pending(): readonly PendingMap[] {
    const nodes = this.#nodes()
    return nodes.some(({ isPending }) => isPending) ? nodes.flatMap(({ pending }) => pending) : []
  }

  /** Processes all new values. Returns the same object until something changes. */
  read(): Reading {
    this.#refresh()
    this.#reading ??= this.#toReading()
    return this.#reading
  }

  get hasUnread(): boolean {
    return this.#hasUnread
  }

  release(): void {
    this.#isReleased = true
    this.root.release()
  }

  onChange(node: ObservedService): void {
    this.#changedNodes.add(node)
    if (this.#hasUnread || this.#isReleased) return
    this.#hasUnread = true
    this.#announce({ kind: 'reading' })
  }

  onValueChange({ uri }: View): void {
    if (exposesViews(this.settings)) this.#announce({ kind: 'view', uri })
  }

  find(declaredAction: DeclaredAction) {
    this.#refresh()
    if (this.#isReleased) return undefined
    const { path } = declaredAction.place
    let node: ObservedService | undefined = this.root
    for (const link of path) node = node?.children.get(link)
    const action = node?.find(declaredAction)
    return node && action ? { service: node.service, action } : undefined
  }

  findWithdrawn(name: string): DeclaredAction | undefined {
    return this.#withdrawnActions.get(name)
  }

  markOffered({ name }: DeclaredAction): void {
    if (this.#withdrawnActions.delete(name)) this.#availabilityChanged()
  }

  markWithdrawn(action: DeclaredAction): void {
    this.#withdrawnActions.delete(action.name)
    this.#withdrawnActions.set(action.name, action)
    this.#availabilityChanged()
    for (const name of this.#withdrawnActions.keys()) {
      if (this.#withdrawnActions.size <= maxWithdrawn[this.settings.visibility]) return
      this.#withdrawnActions.delete(name)
    }
  }

  findRefusal(service: Service, parent: ObservedService): LinkRefusal | undefined {
    for (let node: ObservedService | undefined = parent; node; node = node.parent)
      if (node.service === service) {
        const message = 'The link forms a cycle and is not followed.'
        return { code: 'link_cycle', severity: 'info', message }
      }
    const { depth } = this.settings
    if (parent.path.length >= depth) {
      const message = `The service is more than ${depth} links away and is not followed. Raise "depth" to follow it.`
      return { code: 'link_too_deep', severity: 'warning', message }
    }
    if (this.#nodes().length < maxServices) return undefined
    const message = `The graph has ${maxServices} services already; the link is not followed.`
    return { code: 'too_many_links', severity: 'error', message }
  }

  /** Processing links may add services to the set, which the same loop then visits. */
  #refresh(): void {
    if (!this.#hasUnread) return
    for (const node of this.#changedNodes) {
      this.#changedNodes.delete(node)
      if (node.refresh()) this.#reading = undefined
    }
    this.#hasUnread = false
  }

  #toReading(): Reading {
    const { visibility } = this.settings
    const nodes = this.#nodes()
    const capabilities: Capability[] = []
    const views: View[] = []
    const diagnostics: Diagnostic[] = [...this.#declarationDiagnostics]
    for (const node of nodes) {
      for (const capability of node.capabilities) capabilities.push(capability)
      for (const view of node.views) views.push(view)
      if (node.hasDiagnostics) diagnostics.push(...node.diagnostics)
    }
    for (const { capability, tombstone } of this.#withdrawnActions.values())
      capabilities.push(visibility === 'stable' ? capability : tombstone)
    this.#hadStates ||= views.length > 0
    if (visibility === 'stable') views.push(this.#availability)
    for (const tool of this.#ownTools())
      if (this.root.offers(tool.name) || this.#withdrawnActions.has(tool.name))
        diagnostics.push(toNameTaken(tool, this.settings.id))
      else capabilities.push(tool)
    return { capabilities, views: exposesViews(this.settings) ? views : [], diagnostics }
  }

  /** `get_state` stays once there was a state, to avoid needless changes of the tool list. */
  #ownTools(): readonly Capability[] {
    const { states, links } = this.settings
    return [
      ...((states === 'tool' || states === 'both') && this.#hadStates ? [this.#getState] : []),
      ...(links === 'out-of-band' && this.root.service.links ? [this.#listLinks] : []),
    ]
  }

  #nodes(): readonly ObservedService[] {
    const nodes: ObservedService[] = []
    const visit = (node: ObservedService) => {
      nodes.push(node)
      for (const child of node.children.values()) visit(child)
    }
    visit(this.root)
    return nodes
  }

  #states() {
    this.#refresh()
    const states = this.#nodes().flatMap(({ states }) => [...states])
    return { states, areViews: exposesViews(this.settings) }
  }

  #links() {
    const { links } = this.root
    return Object.keys(links)
      .sort(byCodeUnit)
      .map((key) => ({ key, service: links[key] }))
  }

  #availabilityChanged(): void {
    this.#reading = undefined
    if (this.settings.visibility === 'stable') this.onValueChange(this.#availability)
  }

  /** Declared actions count as withdrawn until the service offers them. */
  #declare(): readonly Diagnostic[] {
    const diagnostics: Diagnostic[] = []
    for (const [key, { type = 'action', ...declaration }] of Object.entries(
      this.settings.declares,
    )) {
      if (type !== 'action') continue
      const reading = toCapability({ path: [], key }, declaration, this)
      if (!isFault(reading)) this.#withdrawnActions.set(reading.name, reading)
      else {
        const message = `The declared action ${key} is not served: ${reading.fault}.`
        const at = { source: this.settings.id, pointer: toPointer(['declares', key]) }
        diagnostics.push({ code: 'action_unusable', severity: 'error', message, ...at })
      }
    }
    return diagnostics
  }
}

const exposesViews = ({ states }: ServiceSettings): boolean =>
  states === 'resources' || states === 'both'

const toNameTaken = ({ name }: Capability, source: string): Diagnostic => ({
  code: 'name_taken',
  severity: 'warning',
  message: `The service has an action named ${name}, so Drawbridge's own tool of that name is not served.`,
  source,
  pointer: toPointer(toSegments([], 'actions', name)),
})
