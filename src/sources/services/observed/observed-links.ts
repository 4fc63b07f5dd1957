import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isService, type Service } from '../service.ts'
import { ObservedMap, type ObservedPlace } from './observed-map.ts'

export interface LinkRefusal {
  readonly code: string
  readonly severity: Diagnostic['severity']
  readonly message: string
}

/** Follows links, and lets go of them. */
export interface Follower {
  /** Why a link is not followed, if it is not. */
  follow(key: string, service: Service): LinkRefusal | undefined
  /** What is followed under a name now. */
  followed(key: string): Service | undefined
  readonly keys: readonly string[]
  leave(key: string): void
}

/** The services a service is linked to now. */
export class ObservedLinks extends ObservedMap<Service> {
  readonly #follower: Follower | undefined

  /** Without a follower they are only named. */
  constructor(observe: Service['links'], follower: Follower | undefined, place: ObservedPlace) {
    super('links', observe, place)
    this.#follower = follower
  }

  protected take(said: Readonly<Record<string, Service>>): boolean {
    const follower = this.#follower
    if (!follower) return false
    let changed = false
    for (const key of follower.keys)
      if (this.peek(said, key) !== follower.followed(key)) {
        follower.leave(key)
        changed = true
      }
    for (const key of Object.keys(said)) {
      if (follower.followed(key)) continue
      const service = this.peek(said, key)
      if (!isService(service)) {
        this.leaveOut(key, 'it leads to no service')
        continue
      }
      const refusal = follower.follow(key, service)
      if (refusal) this.say(key, refusal.severity, refusal.code, refusal.message)
      else changed = true
    }
    return changed
  }
}
