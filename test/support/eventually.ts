import { vi } from 'vitest'

/** Repeats a check until it holds; the deadline is for what never comes true, on the busiest machine. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 30_000, interval: 10 })
