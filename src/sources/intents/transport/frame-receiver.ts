import type { Call } from '../../../capability/call.ts'
import { type Fault, isFault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Failed, Outcome } from '../../../capability/outcome.ts'
import { openRequest, type SealChoice, type SealRecipient } from '../crypto/envelope-seal.ts'
import type { SealOptions } from '../crypto/seal.ts'
import { type AgentResult, toAgentFailure, toResponse } from '../envelope/agent-result.ts'
import { type IntentEnvelope, readEnvelope } from '../envelope/envelope.ts'
import { type ErrorCode, isErrorCode } from '../envelope/error-codes.ts'
import { type ErrorInfo, toErrorInfo } from '../envelope/response.ts'
import { toToolName } from '../tool-name.ts'
import { type Frame, type FrameHeaders, readFrame, toFrame } from './frame.ts'

export interface FrameReceiverOptions {
  /** HTTP path; absent when frames arrive over NATS only. */
  readonly path?: string
  readonly seal?: SealChoice
  readonly sealing: SealOptions
  readonly reception: SealRecipient
  /** Routes the envelope of another runtime for a call that governance has admitted. */
  readonly route: (envelope: IntentEnvelope, call: Call, timeoutMs?: number) => Promise<Outcome>
  readonly onOperationalError: (error: unknown) => void
}

/** A request read from a frame, ready to become a call. */
export interface AcceptedRequest {
  /** Name of the capability in its source, before any mount renames it. */
  readonly name: string
  readonly input: JsonObject
  /** Idempotency key. */
  readonly key: string
  readonly traceparent?: string
  invoke(call: Call): Promise<Outcome>
  /** Builds the reply frame; `undefined` means that the capability does not exist. */
  answer(outcome: Outcome | undefined): Frame
}

/** Endpoint for other runtimes: converts frames to calls, and outcomes to frames. */
export class FrameReceiver {
  readonly #options: FrameReceiverOptions

  constructor(options: FrameReceiverOptions) {
    this.#options = options
  }

  get path(): string | undefined {
    return this.#options.path
  }

  /** Returns the request, or the error frame to reply with. Never throws. */
  accept(value: unknown): AcceptedRequest | Fault<Frame> {
    const frame = readFrame(value)
    if (isFault(frame)) return refuse('PROTOCOL_ERROR', frame.fault)
    const message = this.#open(frame)
    if (isFault(message)) return message
    const reading = readEnvelope(message.plain)
    if (isFault(reading)) return refuse('VALIDATION_ERROR', reading.fault)
    if (isLoop(reading.envelope))
      return refuse(
        'ROUTING_ERROR',
        `The request was forwarded more than ${maxForwards} times: check for a routing loop.`,
      )
    return this.#accept(reading.envelope, frame.headers, message.answer)
  }

  #open(frame: Frame): Unsealed | Fault<Frame> {
    const { seal, sealing, reception, onOperationalError } = this.#options
    if (!seal)
      return frame.messageType === 'intent'
        ? { plain: frame.body, answer: (response) => toFrame('response', response) }
        : refuse('PROTOCOL_ERROR', 'This server accepts only frames with messageType "intent".')
    if (frame.messageType !== 'emcl')
      return refuse('EMCL_FAILURE', 'This server accepts only sealed frames (messageType "emcl").')
    const message = openRequest(sealing, seal, frame.body, reception)
    if (!isFault(message)) {
      const { plain, answer } = message
      return { plain, answer: (response) => toFrame('emcl', answer(response)) }
    }
    onOperationalError(new Error(`A sealed message was rejected: ${message.fault}`))
    // One message for every fault: the reason would help an attacker.
    return refuse('EMCL_FAILURE', 'The message could not be opened.')
  }

  #accept(envelope: IntentEnvelope, headers: FrameHeaders, toReply: ToReply): AcceptedRequest {
    const { traceparent, timeout, idempotencyKey } = headers
    const { requestId, traceId } = envelope.metadata
    const { node } = this.#options.reception
    return {
      name: toToolName(envelope.intent),
      input: envelope.payload,
      // Headers are outside the seal and unauthenticated, so a sealed request uses its requestId.
      key: this.#options.seal ? requestId : (idempotencyKey ?? requestId),
      ...(traceparent !== undefined && { traceparent }),
      invoke: (call) => this.#options.route(envelope, call, timeout),
      answer: (outcome) => {
        const timestamp = new Date(this.#options.sealing.now()).toISOString()
        const metadata = { agent: node, traceId, timestamp }
        return toReply(toResponse(toResult(outcome, envelope), metadata))
      },
    }
  }
}

const maxForwards = 8

/** Every router that forwards a request adds a `proxy:` entry: too many mean a loop. */
const isLoop = ({ metadata }: IntentEnvelope): boolean =>
  metadata.identityChain.filter((identity) => identity.startsWith('proxy:')).length > maxForwards

type ToReply = (response: unknown) => Frame

interface Unsealed {
  readonly plain: unknown
  readonly answer: ToReply
}

const refuse = (code: ErrorCode, message: string): Fault<Frame> => ({
  fault: toFrame('error', toErrorInfo(code, message)),
})

function toResult(outcome: Outcome | undefined, { intent }: IntentEnvelope): AgentResult {
  if (!outcome) {
    const message = `There is no intent ${intent.name} ${intent.version} here.`
    return toAgentFailure(toErrorInfo('CAPABILITY_NOT_FOUND', message))
  }
  switch (outcome.kind) {
    case 'done':
      return { payload: (outcome.data ?? {}) as JsonObject }
    case 'asking': {
      const message = 'The call needs an answer from a person, which frames cannot carry.'
      return toAgentFailure(toErrorInfo('UNAUTHORIZED', message))
    }
    case 'failed':
      return toAgentFailure(toError(outcome.failure))
  }
}

/** Failure codes of governance, mapped to error codes of the protocol. */
const errorCodeOf: Readonly<Record<string, ErrorCode>> = {
  invalid_input: 'VALIDATION_ERROR',
  insufficient_scope: 'UNAUTHORIZED',
  approval_required: 'UNAUTHORIZED',
  approval_denied: 'UNAUTHORIZED',
  approval_expired: 'UNAUTHORIZED',
  idempotency_key_required: 'VALIDATION_ERROR',
  idempotency_conflict: 'VALIDATION_ERROR',
  rate_limited: 'RATE_LIMIT',
  budget_exceeded: 'RATE_LIMIT',
  in_progress: 'AGENT_TIMEOUT',
  timed_out: 'AGENT_TIMEOUT',
  outcome_unknown: 'AGENT_TIMEOUT',
  // The call was carried out, so the code must be one of unknown certainty, not a refusal.
  result_too_large: 'PROTOCOL_ERROR',
  ledger_unavailable: 'AGENT_UNAVAILABLE',
  ledger_damaged: 'AGENT_UNAVAILABLE',
  ledger_checking: 'AGENT_UNAVAILABLE',
  log_unavailable: 'AGENT_UNAVAILABLE',
}

function toError({ code, message, fixedBy, retryable, details }: Failed['failure']): ErrorInfo {
  return toErrorInfo(
    isErrorCode(code) ? code : (errorCodeOf[code] ?? 'INTERNAL_AGENT_ERROR'),
    fixedBy === 'operator' ? 'The capability is temporarily unavailable.' : message,
    { retryable, details: { ...(fixedBy !== 'operator' && details), reason: code } },
  )
}
