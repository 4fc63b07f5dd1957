import { hash } from 'node:crypto'

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

/** The trace id of a W3C `traceparent`, if it is one. */
export function readTraceId(traceparent: string | undefined): string | undefined {
  const [, trace] = form.exec(traceparent ?? '') ?? []
  return trace === undefined || /^0+$/.test(trace) ? undefined : trace
}

/** A trace id for what nobody traces yet: made of its id, so that one leads to the other. */
export function toTraceId(id: string): string {
  const digits = id.replaceAll('-', '').toLowerCase()
  return isTraceId(digits) ? digits : hash('sha256', id, 'hex').slice(0, 32)
}

/** For the next one down the line: the same trace, and a span of its own. */
export const toTraceparent = (traceId: string, span: string): string => {
  const trace = isTraceId(traceId) ? traceId : toTraceId(traceId)
  return `00-${trace}-${hash('sha256', `${trace} ${span}`, 'hex').slice(0, 16)}-01`
}

const isTraceId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text) && !/^0+$/.test(text)
