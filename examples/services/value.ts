import type { Observe } from 'drawbridge-mcp'

/** A value that can be set and observed. Services bring their own; any will do. */
export function createValue<T>(initial: T, heartbeat?: () => () => void) {
  const observers = new Set<(value: T) => void>()
  let value = initial
  let stop: (() => void) | undefined
  const observe: Observe<T> = (notify) => {
    observers.add(notify)
    // It lives only while somebody looks, so that nothing is left behind when all have gone.
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
