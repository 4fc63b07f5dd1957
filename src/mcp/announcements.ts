import type { Capability } from '../capability/capability.ts'
import type { CatalogChange } from '../catalog/catalog.ts'

/** A change as clients are told of it. It carries no data: they read again. */
export type Announcement =
  | { readonly kind: ListKind; readonly about: AffectedCapabilities }
  | { readonly kind: 'updated'; readonly uri: string; readonly about: AffectedCapabilities }

export type ListKind = 'tools' | 'prompts' | 'resources'

/** One capability for each set of permissions that was touched: enough to know whom it concerns. */
export type AffectedCapabilities = ReadonlyMap<string, Capability>

/** Milliseconds in which changes of one thing are gathered. */
const gather = 5
/** Milliseconds between two tellings of the same thing: ten a second. */
const spacing = 100

interface Due {
  readonly kind: Announcement['kind']
  readonly uri: string
  readonly about: Map<string, Capability>
  readonly timer: NodeJS.Timeout
}

/**
 * Gathers changes, so that a burst of a thousand is told once: the first 5 ms after it happened,
 * and what follows at most ten times a second, each list and each view by itself.
 */
export class Announcements {
  readonly #now: () => number
  readonly #listeners = new Set<(announcement: Announcement) => void>()
  readonly #due = new Map<string, Due>()
  /** When each was told last, oldest first. */
  readonly #told = new Map<string, number>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  subscribe(listener: (announcement: Announcement) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  announce({ capabilities, prompts, views, updated }: CatalogChange): void {
    if (this.#listeners.size === 0) return
    if (capabilities.length > 0) this.#gather('tools', '', capabilities)
    if (prompts.length > 0) this.#gather('prompts', '', prompts)
    if (views.length > 0) this.#gather('resources', '', views)
    // Of what has gone, only this says who could read it.
    const gone = new Map(views.map((view) => [view.uri, view]))
    for (const uri of updated) {
      const view = gone.get(uri)
      this.#gather('updated', uri, view ? [view] : [])
    }
  }

  close(): void {
    this.#listeners.clear()
    for (const { timer } of this.#due.values()) clearTimeout(timer)
    this.#due.clear()
  }

  #gather(kind: Announcement['kind'], uri: string, touched: readonly Capability[]): void {
    const key = `${kind} ${uri}`
    let due = this.#due.get(key)
    if (!due) {
      const told = this.#told.get(key) ?? Number.NEGATIVE_INFINITY
      const wait = Math.max(gather, told + spacing - this.#now())
      due = { kind, uri, about: new Map(), timer: setTimeout(() => this.#tell(key), wait) }
      this.#due.set(key, due)
    }
    for (const capability of touched)
      due.about.set(capability.rules.permissions.join(' '), capability)
  }

  #tell(key: string): void {
    const due = this.#due.get(key)
    if (!due) return
    this.#due.delete(key)
    this.#remember(key, this.#now())
    const { kind, uri, about } = due
    const announcement = kind === 'updated' ? { kind, uri, about } : { kind, about }
    for (const listener of this.#listeners) listener(announcement)
  }

  #remember(key: string, now: number): void {
    this.#told.delete(key)
    this.#told.set(key, now)
    for (const [old, at] of this.#told) {
      if (at > now - spacing) return
      this.#told.delete(old)
    }
  }
}

export function toNotification(announcement: Announcement): {
  method: string
  params: Record<string, unknown>
} {
  return announcement.kind === 'updated'
    ? { method: 'notifications/resources/updated', params: { uri: announcement.uri } }
    : { method: `notifications/${announcement.kind}/list_changed`, params: {} }
}
