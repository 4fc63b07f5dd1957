import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isService, type Service } from '../service.ts'
import { type ObservedContext, ObservedMap } from './observed-map.ts'

/** Why a link is not followed. */
export interface LinkRefusal {
  readonly code: string
  readonly severity: Diagnostic['severity']
  readonly message: string
}

/** Adds linked services to the graph and removes them. */
export interface LinkFollower {
  /** Returns a refusal if the link is not followed. */
  follow(key: string, service: Service): LinkRefusal | undefined
  /** The service that is followed under this key. */
  followedService(key: string): Service | undefined
  readonly keys: readonly string[]
  unfollow(key: string): void
}

/** The current links of a service. */
export class ObservedLinks extends ObservedMap<Service> {
  readonly #follower: LinkFollower | undefined

  /** Without a follower, links are only listed. */
  constructor(
    observe: Service['links'],
    follower: LinkFollower | undefined,
    context: ObservedContext,
  ) {
    super('links', observe, context)
    this.#follower = follower
  }

  protected apply(links: Readonly<Record<string, Service>>): boolean {
    const follower = this.#follower
    if (!follower) return false
    let changed = false
    for (const key of follower.keys)
      if (this.readEntry(links, key) !== follower.followedService(key)) {
        follower.unfollow(key)
        changed = true
      }
    for (const key of Object.keys(links)) {
      if (follower.followedService(key)) continue
      const service = this.readEntry(links, key)
      if (!isService(service)) {
        this.reportUnusable(key, 'it does not lead to a service')
        continue
      }
      const refusal = follower.follow(key, service)
      if (refusal) this.report(key, refusal.severity, refusal.code, refusal.message)
      else changed = true
    }
    return changed
  }
}
