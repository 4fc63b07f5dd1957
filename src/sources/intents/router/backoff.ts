import { hash } from 'node:crypto'

/**
 * How long to wait before an agent is asked again: doubled each time, and spread by the trace, so
 * that many do not come back at once and the same request waits the same every time.
 */
export function toBackoff(base: number, traceId: string, agent: string, retry: number): number {
  const digits = hash('sha256', `${traceId} ${agent} ${retry}`, 'hex').slice(0, 8)
  const fraction = Number.parseInt(digits, 16) / 0xffffffff
  return base * 2 ** (retry - 1) * (0.5 + fraction / 2)
}
