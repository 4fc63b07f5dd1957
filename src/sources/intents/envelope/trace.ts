import { hash } from 'node:crypto'

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

/** The trace id of a W3C Trace Context `traceparent`; `undefined` when it is malformed. */
export function readTraceId(traceparent: string | undefined): string | undefined {
  const [, trace] = traceparentPattern.exec(traceparent ?? '') ?? []
  return trace === undefined || /^0+$/.test(trace) ? undefined : trace
}

/** Derives a trace id from a call id, so that each can be found from the other. */
export function toTraceId(id: string): string {
  const digits = id.replaceAll('-', '').toLowerCase()
  return isTraceId(digits) ? digits : hash('sha256', id, 'hex').slice(0, 32)
}

/** The `traceparent` for a downstream request: the same trace with a span of its own. */
export const toTraceparent = (traceId: string, span: string): string => {
  const trace = isTraceId(traceId) ? traceId : toTraceId(traceId)
  return `00-${trace}-${hash('sha256', `${trace} ${span}`, 'hex').slice(0, 16)}-01`
}

const isTraceId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text) && !/^0+$/.test(text)
