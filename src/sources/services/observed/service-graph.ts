import type { Capability, View } from '../../../capability/capability.ts'
import { toPointer } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { byCodePoint } from '../../../capability/json.ts'
import type { Change, Reading } from '../../../capability/source.ts'
import { toSegments } from '../address.ts'
import { toAvailabilityView } from '../availability-view.ts'
import { toGetStateTool } from '../get-state-tool.ts'
import { type DeclaredAction, toCapability } from '../to-capability.ts'
import { toListLinksTool } from '../list-links-tool.ts'
import type { ServiceSettings } from '../options.ts'
import type { Service } from '../service.ts'
import type { LinkRefusal } from './observed-links.ts'
import { type Graph, ObservedService, type PendingMap } from './observed-service.ts'

/** Services a graph may have; more would be a mistake that no client could use. */
const mostServices = 1000
/** Actions that are remembered after they were withdrawn. */
const mostWithdrawn = { dynamic: 1000, stable: 10_000 }

/** A service with all it is linked to, and what it offers as one reading. */
export class ServiceGraph implements Graph {
  readonly settings: ServiceSettings
  readonly root: ObservedService
  readonly #announce: (change: Change) => void
  readonly #touched = new Set<ObservedService>()
  readonly #withdrawn = new Map<string, DeclaredAction>()
  readonly #getState: Capability
  readonly #listLinks: Capability
  readonly #availability: View
  readonly #declared: readonly Diagnostic[]
  #everShown = false
  #isDue = false
  #isOver = false
  #reading: Reading | undefined

  constructor(service: Service, settings: ServiceSettings, announce: (change: Change) => void) {
    this.settings = settings
    this.#announce = announce
    this.#getState = toGetStateTool(settings.id, () => this.#states())
    this.#listLinks = toListLinksTool(settings.id, () => this.#links())
    this.#availability = toAvailabilityView(settings.id, (name) => !this.#withdrawn.has(name))
    this.#declared = settings.visibility === 'stable' ? this.#declare() : []
    this.root = new ObservedService(service, [], this)
  }

  /** What the service, or one it is linked to, has not said anything about yet. */
  get pending(): readonly PendingMap[] {
    const nodes = this.#nodes()
    return nodes.some(({ isPending: isSilent }) => isSilent) ? nodes.flatMap(({ pending: silent }) => silent) : []
  }

  /** Catches up with everything that was said. The same object until there is something new. */
  read(): Reading {
    this.#refresh()
    this.#reading ??= this.#toReading()
    return this.#reading
  }

  get hasUnread(): boolean {
    return this.#isDue
  }

  release(): void {
    this.#isOver = true
    this.root.release()
  }

  touch(node: ObservedService): void {
    this.#touched.add(node)
    if (this.#isDue || this.#isOver) return
    this.#isDue = true
    this.#announce({ kind: 'reading' })
  }

  valueChanged({ uri }: View): void {
    if (showsViews(this.settings)) this.#announce({ kind: 'view', uri })
  }

  find(known: DeclaredAction) {
    this.#refresh()
    if (this.#isOver) return undefined
    const { path } = known.place
    let node: ObservedService | undefined = this.root
    for (const link of path) node = node?.children.get(link)
    const action = node?.find(known)
    return node && action ? { service: node.service, action } : undefined
  }

  findWithdrawn(name: string): DeclaredAction | undefined {
    return this.#withdrawn.get(name)
  }

  markOffered({ name }: DeclaredAction): void {
    if (this.#withdrawn.delete(name)) this.#availabilityChanged()
  }

  markWithdrawn(known: DeclaredAction): void {
    this.#withdrawn.delete(known.name)
    this.#withdrawn.set(known.name, known)
    this.#availabilityChanged()
    for (const name of this.#withdrawn.keys()) {
      if (this.#withdrawn.size <= mostWithdrawn[this.settings.visibility]) return
      this.#withdrawn.delete(name)
    }
  }

  findRefusal(service: Service, parent: ObservedService): LinkRefusal | undefined {
    for (let node: ObservedService | undefined = parent; node; node = node.parent)
      if (node.service === service) {
        const message = 'It leads back to where it came from, and is not followed again.'
        return { code: 'link_cycle', severity: 'info', message }
      }
    const { depth } = this.settings
    if (parent.path.length >= depth) {
      const message = `It is more than ${depth} links away, and is not followed.`
      return { code: 'link_too_deep', severity: 'warning', message }
    }
    if (this.#nodes().length < mostServices) return undefined
    const message = `There are ${mostServices} services already; it is not followed.`
    return { code: 'too_many_links', severity: 'error', message }
  }

  /** New services are touched while their links are looked at, and looked at in the same round. */
  #refresh(): void {
    if (!this.#isDue) return
    for (const node of this.#touched) {
      this.#touched.delete(node)
      if (node.refresh()) this.#reading = undefined
    }
    this.#isDue = false
  }

  #toReading(): Reading {
    const { visibility } = this.settings
    const nodes = this.#nodes()
    const capabilities: Capability[] = []
    const views: View[] = []
    const diagnostics: Diagnostic[] = [...this.#declared]
    for (const node of nodes) {
      for (const capability of node.capabilities) capabilities.push(capability)
      for (const view of node.views) views.push(view)
      if (node.hasDiagnostics) diagnostics.push(...node.diagnostics)
    }
    for (const known of this.#withdrawn.values())
      capabilities.push(visibility === 'stable' ? known.capability : known.tombstone)
    this.#everShown ||= views.length > 0
    if (visibility === 'stable') views.push(this.#availability)
    for (const own of this.#own())
      if (this.root.offers(own.name) || this.#withdrawn.has(own.name))
        diagnostics.push(nameTaken(own, this.settings.id))
      else capabilities.push(own)
    const shown = showsViews(this.settings) ? views : []
    return { capabilities, views: shown, diagnostics }
  }

  /** Once there was a state, the tool stays: a list should not change more than the service does. */
  #own(): readonly Capability[] {
    const { states, links } = this.settings
    return [
      ...((states === 'tool' || states === 'both') && this.#everShown ? [this.#getState] : []),
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
    return { states, areViews: showsViews(this.settings) }
  }

  #links() {
    const { links: linked } = this.root
    return Object.keys(linked)
      .sort(byCodePoint)
      .map((key) => ({ key, service: linked[key] }))
  }

  #availabilityChanged(): void {
    this.#reading = undefined
    if (this.settings.visibility === 'stable') this.valueChanged(this.#availability)
  }

  /** What is declared and not offered yet counts as withdrawn. */
  #declare(): readonly Diagnostic[] {
    const diagnostics: Diagnostic[] = []
    for (const [key, { type = 'action', ...declared }] of Object.entries(this.settings.declares)) {
      if (type !== 'action') continue
      const reading = toCapability({ path: [], key }, declared, this)
      if (!('fault' in reading)) this.#withdrawn.set(reading.name, reading)
      else {
        const message = `The declared action ${key} is left out: ${reading.fault}.`
        const at = { source: this.settings.id, pointer: toPointer(['declares', key]) }
        diagnostics.push({ code: 'action_unusable', severity: 'error', message, ...at })
      }
    }
    return diagnostics
  }
}

const showsViews = ({ states }: ServiceSettings): boolean =>
  states === 'resources' || states === 'both'

const nameTaken = ({ name }: Capability, source: string): Diagnostic => ({
  code: 'name_taken',
  severity: 'warning',
  message: `The service has an action ${name}; Drawbridge's own tool of that name is not served.`,
  source,
  pointer: toPointer(toSegments([], 'actions', name)),
})
