import { setTimeout } from 'node:timers/promises'
import type { Call } from '../../../capability/call.ts'
import type { Capability } from '../../../capability/capability.ts'
import { isPlainObject } from '../../../capability/json.ts'
import { done, type Failed } from '../../../capability/outcome.ts'
import type { Upstream } from '../../../upstream/upstream.ts'
import { valueArgument } from '../schemas/to-schema.ts'
import { toOutcome } from '../to-outcome.ts'
import { withRetries } from './retry.ts'
import type { ManifestHandler } from './routes.ts'

export interface InvokeOptions {
  readonly id: string
  /** Whether the input travels as the argument `value`. */
  readonly isWrapped: boolean
  readonly writes: boolean
  readonly repeatable: boolean
  readonly retries: number
}

export const toHandlerInvoke =
  (run: ManifestHandler, { isWrapped: wrapped }: InvokeOptions): Capability['invoke'] =>
  async (call) => {
    const answer = await run(toInput(call, wrapped), {
      get signal() {
        return call.cancellation.signal
      },
      caller: { subject: call.caller.subject },
      idempotencyKey: call.key,
      progress: (done, total, message) =>
        call.listener.progress({
          done,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        }),
    })
    return isFailed(answer) ? answer : done(answer)
  }

/** A handler says no with what `failureSet` makes; everything else it returns is its answer. */
const isFailed = (answer: unknown): answer is Failed =>
  isPlainObject(answer) &&
  answer.kind === 'failed' &&
  isPlainObject(answer.failure) &&
  typeof answer.failure.code === 'string'

export const toUpstreamInvoke =
  (upstream: () => Upstream, options: InvokeOptions): Capability['invoke'] =>
  async (call) => {
    const { id, isWrapped: wrapped, repeatable, retries, writes } = options
    const attempt = () =>
      upstream().call({
        capability: id,
        input: toInput(call, wrapped),
        cancellation: call.cancellation,
        listener: call.listener,
        ...(call.key !== undefined && { idempotencyKey: call.key }),
        ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
      })
    const answer = await withRetries(attempt, {
      retries,
      repeatable: repeatable,
      cancellation: call.cancellation,
      delay,
    })
    return toOutcome(answer, { writes })
  }

const toInput = ({ input }: Call, wrapped: boolean): unknown =>
  wrapped && isPlainObject(input) ? input[valueArgument] : input

/** A wait that is cut short is not an error: whoever waits looks what ended it. */
const delay = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => {})
