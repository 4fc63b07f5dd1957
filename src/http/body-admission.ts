import type { Cancellation } from '../capability/cancellation.ts'
import { FairShares } from '../capability/fair-shares.ts'
import { CallerBodies } from './caller-bodies.ts'
import { RecentCallers } from './recent-callers.ts'

const megabyte = 1024 * 1024

/** Bodies up to this size are read without admission. */
const smallBodyBytes = 16 * 1024
export const isSmallBody = (bytes: number): boolean => bytes <= smallBodyBytes

/** The memory that large bodies may take while they are received: together, and of one caller. */
const maxReservedBytes = 64 * megabyte
const maxReservedPerCaller = 16 * megabyte

/** The memory of large bodies that were received and whose requests are not answered yet. */
const heldLimits = { perCaller: 256 * megabyte, total: 512 * megabyte }

const maxWaiting = 1024
const maxWaitMs = 5000
const checkIntervalMs = 20

/**
 * Admits large bodies: a weighted semaphore over their memory with a queue per caller, served round
 * robin. To parse, validate and digest a large body blocks the event loop for many milliseconds. So
 * while several callers are active, the one that sends most is paced (`CallerBodies`), which leaves the
 * event loop to the others for about 99 % of the time.
 */
export class BodyAdmission {
  readonly #now: () => number
  readonly #recentCallers = new RecentCallers()
  /** In round-robin order. */
  readonly #callers = new Map<string, CallerBodies>()
  readonly #held = new FairShares(heldLimits)
  #reservedBytes = 0
  #timer: NodeJS.Timeout | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes that a caller sent a request. */
  note(caller: string): void {
    this.#recentCallers.note(caller, this.#now())
  }

  /** Waits for memory. `false`: the caller has to try again later, or has disconnected. */
  admit(caller: string, bytes: number, cancellation: Cancellation): Promise<boolean> {
    const bodies = this.#find(caller)
    const now = this.#now()
    bodies.noteArrival(bytes, now)
    const waitMs = this.#isPaced(caller, bodies, now) ? bodies.toWaitMs(now) : 0
    if (bodies.waiting.length >= maxWaiting || waitMs > maxWaitMs) return Promise.resolve(false)
    return new Promise((resolve) => {
      const body = { bytes, deadline: now + maxWaitMs, settle: resolve }
      bodies.enqueue(body)
      cancellation.onCancel(() => bodies.remove(body) && resolve(false))
      this.#admitWaiting()
    })
  }

  /** The body was received, or will never be. */
  release(caller: string, bytes: number): void {
    this.#reservedBytes -= bytes
    this.#find(caller).reservedBytes -= bytes
    this.#admitWaiting()
  }

  /**
   * Whether a refused body is received and discarded, so that the client can read the refusal. To do so
   * for a flood would cost the others as much as to serve it.
   */
  mayDiscard(caller: string, bytes: number): boolean {
    const now = this.#now()
    return (
      !this.#recentCallers.othersThan(caller, now) || this.#find(caller).takeDiscard(bytes, now)
    )
  }

  /** Accounts for a received body until its request is answered. */
  hold(caller: string, bytes: number): boolean {
    return this.#held.take(caller, bytes)
  }

  drop(caller: string, bytes: number): void {
    this.#held.release(caller, bytes)
  }

  /** Charges a caller for the work that a body causes. */
  charge(caller: string, bytes: number, values: number): void {
    this.#find(caller).charge(bytes, values, this.#now())
  }

  /** One large body is parsed in one turn of the event loop. */
  takeTurn(): Promise<unknown> {
    this.#turn = this.#turn.then(() => new Promise((resolve) => setImmediate(resolve)))
    return this.#turn
  }

  /** Seconds after which a refused caller may try again. */
  retryAfter(caller: string): number {
    return Math.min(60, Math.ceil(this.#find(caller).toWaitMs(this.#now()) / 1000) + 1)
  }

  #find(caller: string): CallerBodies {
    let bodies = this.#callers.get(caller)
    if (!bodies) {
      const now = this.#now()
      for (const [name, other] of this.#callers) if (other.isIdle(now)) this.#callers.delete(name)
      bodies = new CallerBodies()
      this.#callers.set(caller, bodies)
    }
    return bodies
  }

  #isPaced(caller: string, bodies: CallerBodies, now: number): boolean {
    if (!bodies.isInDebt(now) || !this.#recentCallers.othersThan(caller, now)) return false
    const demand = bodies.toDemand(now)
    for (const other of this.#callers.values()) if (other.toDemand(now) > demand) return false
    return true
  }

  #admitWaiting(): void {
    const now = this.#now()
    for (let admitted = true; admitted; ) {
      admitted = false
      for (const [caller, bodies] of [...this.#callers]) {
        const [next] = bodies.waiting
        if (!next) continue
        const reservedBytes = bodies.reservedBytes + next.bytes
        if (bodies.reservedBytes > 0 && reservedBytes > maxReservedPerCaller) continue
        if (this.#isPaced(caller, bodies, now)) continue
        // Not skipped: smaller bodies behind a large one would keep it waiting for ever.
        if (this.#reservedBytes > 0 && this.#reservedBytes + next.bytes > maxReservedBytes) break
        bodies.remove(next)
        bodies.reservedBytes = reservedBytes
        this.#reservedBytes += next.bytes
        this.#callers.delete(caller)
        this.#callers.set(caller, bodies)
        next.settle(true)
        admitted = true
      }
    }
    this.#scheduleCheck()
  }

  #scheduleCheck(): void {
    if (this.#timer || [...this.#callers.values()].every(({ waiting }) => waiting.length === 0))
      return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const now = this.#now()
      for (const bodies of this.#callers.values()) bodies.expire(now)
      this.#admitWaiting()
    }, checkIntervalMs)
  }
}
