/** The wall clock, but not set back while the process lives: an expired grant stays expired. */
export function createCalendarClock(): () => number {
  const steadyNow = createSteadyClock()
  return () => Math.floor(Math.max(Date.now(), steadyNow()))
}

/** A monotonic clock in epoch milliseconds: unaffected when the system clock is set. */
export function createSteadyClock(): () => number {
  const start = Date.now() - performance.now()
  return () => start + performance.now()
}
