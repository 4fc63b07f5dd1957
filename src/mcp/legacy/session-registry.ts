import { FairShares, type ShareLimits } from '../../capability/fair-shares.ts'
import type { Surface } from '../surface.ts'
import type { HttpSession } from './http-session.ts'

/** Sessions on all mounts. */
export const sessionLimits: ShareLimits = { perCaller: 256, total: 4096 }

/** A session that was used within this time does not make room for a client at another address. */
export const minIdleMs = 60_000

/** The 2025 sessions of all mounts, which share the limits. */
export class SessionRegistry {
  readonly now: () => number
  readonly #shares = new FairShares(sessionLimits)
  readonly #sessions = new Map<string, HttpSession>()

  constructor(now: () => number) {
    this.now = now
  }

  get(id: string): HttpSession | undefined {
    return this.#sessions.get(id)
  }

  /** The sessions of one mount. */
  on(surface: Surface): readonly HttpSession[] {
    return [...this.#sessions.values()].filter((session) => session.surface === surface)
  }

  /** The number of sessions of a caller. */
  count(subject: string): number {
    return this.#shares.held(subject)
  }

  /**
   * Takes a place for a session; `add` must follow. Sessions that nobody uses make room: a client that crashes or forgets
   * `DELETE` leaves them behind, and must be able to connect again. A client whose session was closed gets 404 and opens
   * a new one.
   */
  takePlace(subject: string, address: string | undefined): boolean {
    if (this.#shares.take(subject)) return true
    const idle = this.#findIdle(subject, address)
    if (!idle) return false
    this.close(idle)
    return this.#shares.take(subject)
  }

  add(session: HttpSession): void {
    this.#sessions.set(session.id, session)
  }

  close(session: HttpSession): void {
    if (!this.#sessions.delete(session.id)) return
    this.#shares.release(session.subject)
    session.close()
  }

  /**
   * The longest idle session of the address that has the most, so that a client cannot displace those at other addresses
   * by opening many. Clients choose their names, so names only decide between sessions of one address.
   */
  #findIdle(subject: string, address: string | undefined): HttpSession | undefined {
    const own = [...this.#sessions.values()].filter((session) => session.subject === subject)
    const perAddress = countBy(own, toAddress)
    const perClient = countBy(own, toClient)
    const idleSince = this.now() - minIdleMs
    return own
      .filter(
        (session) =>
          session.isIdle && (session.address === address || session.lastSeen <= idleSince),
      )
      .sort(
        (one, other) =>
          perAddress(other) - perAddress(one) ||
          perClient(other) - perClient(one) ||
          one.lastSeen - other.lastSeen,
      )[0]
  }
}

const toAddress = ({ address }: HttpSession): string => String(address)
const toClient = ({ address, session }: HttpSession): string => `${address} ${session.clientName}`

/** A function that returns how many sessions have the same key as the given one. */
function countBy(
  sessions: readonly HttpSession[],
  toKey: (session: HttpSession) => string,
): (session: HttpSession) => number {
  const counts = new Map<string, number>()
  for (const session of sessions) counts.set(toKey(session), (counts.get(toKey(session)) ?? 0) + 1)
  return (session) => counts.get(toKey(session)) ?? 0
}
