import { setTimeout as sleep } from 'node:timers/promises'
import { vi } from 'vitest'

/** Reached only by a check that never holds, even on a busy machine. */
const deadlineMs = 60_000

/** Repeats a check until it holds. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: deadlineMs, interval: 10 })

/** Polls every millisecond, for tests that need to react quickly. */
export async function until(isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + deadlineMs
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`never became true: ${isTrue}`)
    await sleep(1)
  }
}

/**
 * Waits to give an event that must not happen time to happen. Never used to wait for an expected
 * event: too short a time can miss a fault, but cannot make a correct program fail.
 */
export const aWhile = (milliseconds: number): Promise<void> => sleep(milliseconds)
