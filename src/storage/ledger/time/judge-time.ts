/** The clocks of the operating system. Passed in, so that tests can move them. */
export interface SystemClocks {
  /** The wall clock, in epoch milliseconds. People, NTP and hypervisors set it. */
  readonly wallMs: () => number
  /** A monotonic clock with any origin, in milliseconds. It may stop while the machine sleeps. */
  readonly steadyMs: () => number
  /** Milliseconds since the machine started, sleep included. Slower to read than the others. */
  readonly uptimeMs: () => number
  /** Identifies the start of the machine; `undefined` where the operating system does not tell. */
  readonly bootId: string | undefined
}

/** The ledger's clock at its last commit. */
export interface ClockMark {
  /** High-water mark: the latest ledger time that any process has stored. */
  readonly mark: number
  /** The uptime of the machine at the mark, and its boot id. */
  readonly uptime: number
  readonly boot: string | null
  /** Ledger time minus wall clock, as last confirmed; 0 in a new store. */
  readonly skew: number
  /** How far the wall clock had moved away from the ledger's clock at the mark. */
  readonly drift: number
}

export interface ClockReading {
  readonly wall: number
  readonly uptime: number
  readonly boot: string | undefined
}

export interface TimeJudgment {
  /** The present ledger time. Never before the mark. */
  readonly now: number
  /** The difference of the wall clock, in milliseconds, if it is suspicious. */
  readonly suspiciousMs?: number
}

/** NTP may step a clock by less than this. */
export const toleranceMs = 60_000

/** After a restart of the machine, a longer pause than 90 days is suspicious. */
export const maxPauseMs = 90 * 24 * 3_600_000

/**
 * Judges the wall clock when a store is opened. If the machine has not restarted since the mark, its
 * uptime tells exactly how much time has passed. Otherwise the wall clock is believed within bounds.
 * Under suspicion, time continues from the mark.
 */
export function judgeTime(last: ClockMark, { wall, uptime, boot }: ClockReading): TimeJudgment {
  const { mark, skew, drift } = last
  const wallTime = wall + skew
  if (boot !== undefined && boot === last.boot && uptime >= last.uptime) {
    const now = mark + uptime - last.uptime
    return toJudgment(now, wallTime, Math.abs(wallTime - now) <= toleranceMs)
  }
  const isWithinBounds = wallTime >= mark - toleranceMs && wallTime <= mark + maxPauseMs
  return toJudgment(mark, wallTime, isWithinBounds && !containsJump(drift, wallTime - mark))
}

/** The wall clock was set before the machine restarted, nobody confirmed it, and it may still be wrong. */
function containsJump(drift: number, pauseMs: number): boolean {
  if (drift > toleranceMs) return pauseMs >= drift - toleranceMs
  return drift < -toleranceMs
}

const toJudgment = (steady: number, wallTime: number, isPlausible: boolean): TimeJudgment =>
  isPlausible
    ? { now: Math.max(steady, wallTime) }
    : { now: steady, suspiciousMs: wallTime - steady }
