import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isService, type Service } from '../service.ts'
import { ObservedMap, type ObservedContext } from './observed-map.ts'

export interface LinkRefusal {
  readonly code: string
  readonly severity: Diagnostic['severity']
  readonly message: string
}

/** Follows links, and lets go of them. */
export interface LinkFollower {
  /** Why a link is not followed, if it is not. */
  follow(key: string, service: Service): LinkRefusal | undefined
  /** What is followed under a name now. */
  followedService(key: string): Service | undefined
  readonly keys: readonly string[]
  unfollow(key: string): void
}

/** The services a service is linked to now. */
export class ObservedLinks extends ObservedMap<Service> {
  readonly #follower: LinkFollower | undefined

  /** Without a follower they are only named. */
  constructor(observe: Service['links'], follower: LinkFollower | undefined, place: ObservedContext) {
    super('links', observe, place)
    this.#follower = follower
  }

  protected apply(said: Readonly<Record<string, Service>>): boolean {
    const follower = this.#follower
    if (!follower) return false
    let changed = false
    for (const key of follower.keys)
      if (this.readEntry(said, key) !== follower.followedService(key)) {
        follower.unfollow(key)
        changed = true
      }
    for (const key of Object.keys(said)) {
      if (follower.followedService(key)) continue
      const service = this.readEntry(said, key)
      if (!isService(service)) {
        this.reportUnusable(key, 'it leads to no service')
        continue
      }
      const refusal = follower.follow(key, service)
      if (refusal) this.report(key, refusal.severity, refusal.code, refusal.message)
      else changed = true
    }
    return changed
  }
}
