/** While others are active, the caller that sends most is limited to this rate, after a burst. */
const pacedBytesPerMs = 1024
const burstBytes = 8 * 1024 * 1024
/** To parse, validate and digest a JSON value takes as long as this many bytes of text. */
const bytesPerValue = 40

/** Demand halves in this time. */
const demandHalfLifeMs = 1500
const forgetAfterMs = 30_000

export interface WaitingBody {
  readonly bytes: number
  readonly deadline: number
  settle(isAdmitted: boolean): void
}

/** The large bodies of one caller: those that wait, the memory it holds, and its debt. */
export class CallerBodies {
  readonly waiting: WaitingBody[] = []
  reservedBytes = 0
  #waitingBytes = 0
  /** Bytes that arrived recently, with exponential decay. */
  #demand = 0
  #arrivedAt = Number.NEGATIVE_INFINITY
  /** The time at which the debt for earlier bodies is paid. */
  #dueAt = Number.NEGATIVE_INFINITY
  #discardsDueAt = Number.NEGATIVE_INFINITY

  noteArrival(bytes: number, now: number): void {
    this.#demand = this.#toDecayed(now) + bytes
    this.#arrivedAt = now
  }

  enqueue(body: WaitingBody): void {
    this.waiting.push(body)
    this.#waitingBytes += body.bytes
  }

  remove(body: WaitingBody): boolean {
    const index = this.waiting.indexOf(body)
    if (index < 0) return false
    this.waiting.splice(index, 1)
    this.#waitingBytes -= body.bytes
    return true
  }

  /** Refuses the bodies that have waited too long. */
  expire(now: number): void {
    for (let [oldest] = this.waiting; oldest && oldest.deadline <= now; [oldest] = this.waiting) {
      this.remove(oldest)
      oldest.settle(false)
    }
  }

  charge(bytes: number, values: number, now: number): void {
    const debtMs = Math.max(bytes, values * bytesPerValue) / pacedBytesPerMs
    this.#dueAt = Math.max(this.#dueAt, now) + debtMs
  }

  /** Whether a refused body may be received and discarded, at the same rate as others are admitted. */
  takeDiscard(bytes: number, now: number): boolean {
    const owedMs = Math.max(0, this.#discardsDueAt - now)
    if (owedMs > burstBytes / pacedBytesPerMs) return false
    this.#discardsDueAt = now + owedMs + bytes / pacedBytesPerMs
    return true
  }

  isInDebt(now: number): boolean {
    return this.#toDebtMs(now) > 0
  }

  /** How long a body that arrives now would wait while this caller is paced. */
  toWaitMs(now: number): number {
    return this.#toDebtMs(now) + this.#waitingBytes / pacedBytesPerMs
  }

  toDemand(now: number): number {
    return this.#toDecayed(now) + this.#waitingBytes
  }

  isIdle(now: number): boolean {
    if (this.waiting.length > 0 || this.reservedBytes > 0) return false
    return this.#dueAt < now && this.#arrivedAt < now - forgetAfterMs
  }

  #toDebtMs(now: number): number {
    const owedMs = Math.max(0, this.#dueAt - now)
    return Math.max(0, owedMs + (this.reservedBytes - burstBytes) / pacedBytesPerMs)
  }

  #toDecayed(now: number): number {
    return this.#demand * 2 ** ((this.#arrivedAt - now) / demandHalfLifeMs)
  }
}
