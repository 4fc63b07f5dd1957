/** A monotonic clock in epoch milliseconds: unaffected when the system clock is set. */
export function createSteadyClock(): () => number {
  const start = Date.now() - performance.now()
  return () => start + performance.now()
}
