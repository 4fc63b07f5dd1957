import { setTimeout as sleep } from 'node:timers/promises'
import { vi } from 'vitest'

/** For what never comes true, on the busiest machine. */
const deadlineMs = 60_000

/** Repeats a check until it holds. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: deadlineMs, interval: 10 })

/** Settles within a millisecond or two of the moment at which something is true. */
export async function until(isTrue: () => boolean): Promise<void> {
  const latest = performance.now() + deadlineMs
  while (!isTrue()) {
    if (performance.now() > latest) throw new Error(`never became true: ${isTrue}`)
    await sleep(1)
  }
}

/**
 * Time in which something could happen that must not. It is never waited for anything: too short a
 * time would miss a fault, but cannot invent one.
 */
export const aWhile = (milliseconds: number): Promise<void> => sleep(milliseconds)
