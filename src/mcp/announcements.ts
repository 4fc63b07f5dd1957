import type { Capability } from '../capability/capability.ts'
import type { CatalogChange } from '../catalog/catalog.ts'

/** A change that clients are notified of. It carries no data: clients read again. */
export type Announcement =
  | { readonly kind: ListKind; readonly capabilities: AffectedCapabilities }
  | { readonly kind: 'updated'; readonly uri: string; readonly capabilities: AffectedCapabilities }

export type ListKind = 'tools' | 'prompts' | 'resources'

/** One affected capability per set of permissions: enough to decide which callers to notify. */
export type AffectedCapabilities = ReadonlyMap<string, Capability>

/** Changes of the same list or view within this time are sent as one. */
const coalesceMs = 5
/** The minimum time between two notifications about the same list or view. */
const minIntervalMs = 100

/** Listeners that are called in one turn of the event loop. */
const batchSize = 32

type AnnouncementListener = (announcement: Announcement) => void

interface PendingAnnouncement {
  readonly kind: Announcement['kind']
  readonly uri: string
  readonly capabilities: Map<string, Capability>
  readonly timer: NodeJS.Timeout
}

/**
 * Coalesces changes, so that a burst of a thousand becomes one notification. Each list and each
 * view is announced 5 ms after its first change, and then at most ten times a second.
 */
export class Announcements {
  readonly #now: () => number
  readonly #listeners = new Set<AnnouncementListener>()
  readonly #pending = new Map<string, PendingAnnouncement>()
  /** The time of each last notification, oldest first. */
  readonly #lastSent = new Map<string, number>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  subscribe(listener: AnnouncementListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  announce({ capabilities, prompts, views, updated }: CatalogChange): void {
    if (this.#listeners.size === 0) return
    if (capabilities.length > 0) this.#enqueue('tools', '', capabilities)
    if (prompts.length > 0) this.#enqueue('prompts', '', prompts)
    if (views.length > 0) this.#enqueue('resources', '', views)
    // A removed view is not in the catalog any more; this copy still has its permissions.
    const changedViews = new Map(views.map((view) => [view.uri, view]))
    for (const uri of updated) {
      const view = changedViews.get(uri)
      this.#enqueue('updated', uri, view ? [view] : [])
    }
  }

  close(): void {
    this.#listeners.clear()
    for (const { timer } of this.#pending.values()) clearTimeout(timer)
    this.#pending.clear()
  }

  #enqueue(kind: Announcement['kind'], uri: string, affected: readonly Capability[]): void {
    const key = `${kind} ${uri}`
    let pending = this.#pending.get(key)
    if (!pending) {
      const lastSent = this.#lastSent.get(key) ?? Number.NEGATIVE_INFINITY
      const delayMs = Math.max(coalesceMs, lastSent + minIntervalMs - this.#now())
      const timer = setTimeout(() => this.#send(key), delayMs)
      pending = { kind, uri, capabilities: new Map(), timer }
      this.#pending.set(key, pending)
    }
    for (const capability of affected)
      pending.capabilities.set(capability.rules.permissions.join(' '), capability)
  }

  #send(key: string): void {
    const pending = this.#pending.get(key)
    if (!pending) return
    this.#pending.delete(key)
    this.#remember(key, this.#now())
    const { kind, uri, capabilities } = pending
    const announcement = kind === 'updated' ? { kind, uri, capabilities } : { kind, capabilities }
    this.#deliver([...this.#listeners], announcement)
  }

  /** In batches: to write to a thousand streams at once would block all other requests meanwhile. */
  #deliver(listeners: readonly AnnouncementListener[], announcement: Announcement): void {
    for (const listener of listeners.slice(0, batchSize))
      if (this.#listeners.has(listener)) listener(announcement)
    if (listeners.length > batchSize)
      setImmediate(() => this.#deliver(listeners.slice(batchSize), announcement))
  }

  #remember(key: string, now: number): void {
    this.#lastSent.delete(key)
    this.#lastSent.set(key, now)
    for (const [oldKey, sentAt] of this.#lastSent) {
      if (sentAt > now - minIntervalMs) return
      this.#lastSent.delete(oldKey)
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
