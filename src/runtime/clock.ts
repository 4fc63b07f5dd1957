/** Time that goes on evenly, whatever is done to the clock of the machine meanwhile. */
export function createSteadyClock(): () => number {
  const start = Date.now() - performance.now()
  return () => start + performance.now()
}
