import type { CatalogChange } from '../catalog/catalog.ts'

/** A change as clients are told of it. It carries no data: they read again. */
export type Announcement =
  | { readonly kind: 'tools' | 'prompts' | 'resources' }
  | { readonly kind: 'updated'; readonly uri: string }

const quiet = 50
const longestWait = 500

/**
 * Gathers changes for a moment, so that a burst of a thousand is told once: after 50 ms of quiet,
 * and after half a second at the latest.
 */
export class Announcements {
  readonly #listeners = new Set<(announcement: Announcement) => void>()
  readonly #due = new Map<string, Announcement>()
  #soon: NodeJS.Timeout | undefined
  #latest: NodeJS.Timeout | undefined

  subscribe(listener: (announcement: Announcement) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  announce({ capabilities, prompts, views, updated }: CatalogChange): void {
    if (this.#listeners.size === 0) return
    if (capabilities) this.#due.set('tools', { kind: 'tools' })
    if (prompts) this.#due.set('prompts', { kind: 'prompts' })
    if (views) this.#due.set('resources', { kind: 'resources' })
    for (const uri of updated) this.#due.set(`updated ${uri}`, { kind: 'updated', uri })
    clearTimeout(this.#soon)
    this.#soon = setTimeout(() => this.#tell(), quiet)
    this.#latest ??= setTimeout(() => this.#tell(), longestWait)
  }

  close(): void {
    this.#listeners.clear()
    this.#stopTimers()
  }

  #tell(): void {
    this.#stopTimers()
    const due = [...this.#due.values()]
    this.#due.clear()
    for (const listener of this.#listeners) for (const announcement of due) listener(announcement)
  }

  #stopTimers(): void {
    clearTimeout(this.#soon)
    clearTimeout(this.#latest)
    this.#latest = undefined
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
