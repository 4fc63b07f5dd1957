import type { Logger } from 'pino'

const again = 60_000
const mostRemembered = 100

/** What goes wrong between machines is the operator's matter; once a minute is enough of the same. */
export function reportDiagnostics(log: Logger, now: () => number): (error: unknown) => void {
  const told = new Map<string, number>()
  return (error) => {
    const words = toWords(error)
    if (now() - (told.get(words) ?? Number.NEGATIVE_INFINITY) < again) return
    if (told.size >= mostRemembered) told.clear()
    told.set(words, now())
    log.warn({}, words)
  }
}

const toWords = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${toWords(error.cause)}`
}
