import { type Call, emptyPlan, noReach, type RunInner, silentListener } from '../capability/call.ts'
import { toCallAddress } from '../mcp/surface.ts'

export type PlainCall = Pick<
  Call,
  'id' | 'capability' | 'fingerprint' | 'caller' | 'input' | 'cancellation'
> & {
  readonly mount: string
  readonly run: RunInner
  readonly key?: string | undefined
  readonly traceparent?: string | undefined
}

/** A call that comes by no MCP: nobody can be asked, and nobody is told of its progress. */
export const toPlainCall = ({ mount, key, traceparent, ...call }: PlainCall): Call => ({
  ...call,
  address: toCallAddress(mount, call.capability),
  given: call.input,
  answers: {},
  state: undefined,
  canAsk: nobody,
  key,
  transportKey: undefined,
  expects: undefined,
  reach: noReach,
  listener: silentListener,
  traceparent,
  trail: { decisions: [] },
  plan: emptyPlan,
})

const nobody: ReadonlySet<string> = new Set()
