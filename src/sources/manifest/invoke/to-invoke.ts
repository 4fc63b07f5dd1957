import { setTimeout } from 'node:timers/promises'
import type { Call } from '../../../capability/call.ts'
import type { Capability } from '../../../capability/capability.ts'
import { done, type Failed, isFailed } from '../../../capability/outcome.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { toOutcome } from '../../../upstream/to-outcome.ts'
import type { Upstream } from '../../../upstream/upstream.ts'
import { valueArgument } from '../schemas/to-schema.ts'
import { withRetries } from './retry.ts'
import type { ManifestHandler } from './routes.ts'

export interface InvokeOptions {
  readonly id: string
  /** The input is not an object and is passed as the argument `value`. */
  readonly isWrapped: boolean
  readonly writes: boolean
  readonly repeatable: boolean
  readonly retries: number
}

export const toHandlerInvoke =
  (run: ManifestHandler, { isWrapped }: InvokeOptions): Capability['invoke'] =>
  async (call) => {
    const result = await run(toInput(call, isWrapped), {
      get signal() {
        return call.cancellation.signal
      },
      caller: { subject: call.caller.subject },
      idempotencyKey: call.idempotencyKey,
      progress: (done, total, message) =>
        call.listener.progress({
          done,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        }),
    })
    return isReturnedFailure(result) ? result : done(result)
  }

/**
 * Handlers are user code: recognises the result of `failureSet` strictly, so that data with similar
 * fields still counts as data.
 */
const isReturnedFailure = (result: unknown): result is Failed =>
  isPlainObject(result) &&
  isFailed(result) &&
  isPlainObject(result.failure) &&
  typeof result.failure.code === 'string'

export const toUpstreamInvoke =
  (upstream: () => Upstream, options: InvokeOptions): Capability['invoke'] =>
  async (call) => {
    const { id, isWrapped, repeatable, retries, writes } = options
    const attempt = () =>
      upstream().call({
        capability: id,
        input: toInput(call, isWrapped),
        cancellation: call.cancellation,
        listener: call.listener,
        ...(call.idempotencyKey !== undefined && { idempotencyKey: call.idempotencyKey }),
        ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
      })
    const answer = await withRetries(attempt, {
      retries,
      repeatable,
      cancellation: call.cancellation,
      delay,
      admitRetry: call.admitRetry,
    })
    const outcome = toOutcome(answer, { writes })
    const { notice } = answer
    if (!notice || outcome.kind === 'asking') return outcome
    return { ...outcome, notices: [...(outcome.notices ?? []), notice] }
  }

const toInput = ({ input }: Call, isWrapped: boolean): unknown =>
  isWrapped && isPlainObject(input) ? input[valueArgument] : input

/** An aborted wait resolves; the caller checks the cancellation afterwards. */
const delay = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => {})
