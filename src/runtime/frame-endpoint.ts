import { type Call, createCall, type RunInner } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
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
  readonly desk: FrameReceiver
  readonly mount: string
  /** By the name it has in its source: as it is served, with everything that is enforced on it. */
  readonly find: (name: string) => Entry<Capability> | undefined
  readonly govern: (call: Call) => Promise<Outcome>
  readonly run: RunInner
  readonly newId: () => string
}

/** What another runtime asks for is a call like any other, and passes the same pipeline. */
export const toFrameEndpoint = ({
  desk,
  mount,
  find,
  govern,
  run,
  newId,
}: FrameParts): FrameEndpoint => ({
  async receive(frame, { caller, cancellation }) {
    const accepted = desk.accept(frame)
    if ('refused' in accepted) return accepted.refused
    const entry = find(accepted.name)
    if (!entry) return accepted.answer(undefined)
    const { capability, fingerprint } = entry
    const { input, key, traceparent, invoke } = accepted
    const outcome = await govern(
      createCall({
        id: newId(),
        capability: { ...capability, invoke },
        address: toCallAddress(mount, capability),
        fingerprint,
        caller,
        input,
        cancellation,
        key,
        traceparent,
        run,
      }),
    )
    return accepted.answer(outcome)
  },
})

/** The same for frames that come by other ways than HTTP; who sent them is found out alike. */
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
    'The token that this agent is asked with is missing, or not known to it. Asking again does not help: whoever runs the server must configure another one.',
  ),
)
