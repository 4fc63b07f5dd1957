import type { Observe } from 'drawbridge-mcp'

/** An observable value. Any other observable library works as well. */
export function createValue<T>(initial: T, heartbeat?: () => () => void) {
  const observers = new Set<(value: T) => void>()
  let value = initial
  let stop: (() => void) | undefined
  const observe: Observe<T> = (notify) => {
    observers.add(notify)
    // Starts with the first observer and stops with the last, so that no timer is left running.
    if (observers.size === 1) stop = heartbeat?.()
    notify(value)
    return () => {
      if (observers.delete(notify) && observers.size === 0) stop?.()
    }
  }
  return {
    observe,
    get: () => value,
    set: (next: T) => {
      value = next
      for (const notify of [...observers]) notify(value)
    },
  }
}
