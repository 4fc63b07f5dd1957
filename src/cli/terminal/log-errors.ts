import type { Logger } from './logger.ts'

const repeatIntervalMs = 60_000
const maxRemembered = 100

/** Logs operational errors, such as a lost connection; the same message at most once a minute. */
export function logErrors(log: Logger, now: () => number): (error: unknown) => void {
  const loggedAt = new Map<string, number>()
  return (error) => {
    const message = toMessage(error)
    if (now() - (loggedAt.get(message) ?? Number.NEGATIVE_INFINITY) < repeatIntervalMs) return
    if (loggedAt.size >= maxRemembered) loggedAt.clear()
    loggedAt.set(message, now())
    log.warn({}, message)
  }
}

const toMessage = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${toMessage(error.cause)}`
}
