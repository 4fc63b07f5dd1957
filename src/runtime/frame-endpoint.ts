import { type Call, createCall, type RunInner } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import { isFault } from '../capability/fault.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Entry } from '../catalog/snapshot.ts'
import type { Identify } from '../http/callers.ts'
import type { FrameEndpoint } from '../http/frames/frame-route.ts'
import { toCallAddress } from '../mcp/surface.ts'
import { toErrorInfo } from '../sources/intents/envelope/response.ts'
import { toFrame } from '../sources/intents/transport/frame.ts'
import type { FrameReceiver } from '../sources/intents/transport/frame-receiver.ts'
import type { Receive } from '../sources/intents/transport/nats/responder.ts'

export interface FrameParts {
  readonly receiver: FrameReceiver
  readonly mount: string
  /** Finds the served capability, with its policy applied, by the name that its source gives it. */
  readonly find: (name: string) => Entry<Capability> | undefined
  readonly govern: (call: Call) => Promise<Outcome>
  readonly run: RunInner
  readonly newId: () => string
}

/** Turns a frame from another runtime into a governed call. */
export const toFrameEndpoint = ({
  receiver,
  mount,
  find,
  govern,
  run,
  newId,
}: FrameParts): FrameEndpoint => ({
  async receive(frame, { caller, cancellation }) {
    const request = receiver.accept(frame)
    if (isFault(request)) return request.fault
    const entry = find(request.name)
    if (!entry) return request.answer(undefined)
    const { capability, fingerprint } = entry
    const { input, key, traceparent, invoke } = request
    const outcome = await govern(
      createCall({
        id: newId(),
        capability: { ...capability, invoke },
        address: toCallAddress(mount, capability),
        fingerprint,
        caller,
        input,
        cancellation,
        idempotencyKey: key,
        traceparent,
        run,
      }),
    )
    return request.answer(outcome)
  },
})

/** Receives frames from other transports than HTTP, and authenticates their sender the same way. */
export const toReceive =
  (endpoint: FrameEndpoint, identify: Identify): Receive =>
  async (frame, { authorization, cancellation }) => {
    const caller = identify(authorization)
    return caller ? endpoint.receive(frame, { caller, cancellation }) : unknownSender
  }

const unknownSender = toFrame(
  'error',
  toErrorInfo(
    'UNAUTHORIZED',
    'The bearer token for this agent is missing or unknown. Do not retry: the operator of the calling server must configure a valid token.',
  ),
)
