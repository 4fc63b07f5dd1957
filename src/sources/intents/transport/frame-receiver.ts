import type { Call } from '../../../capability/call.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Outcome } from '../../../capability/outcome.ts'
import { openRequest, type Reception, type SealChoice } from '../crypto/envelope-seal.ts'
import type { SealOptions } from '../crypto/seal.ts'
import { type IntentEnvelope, readEnvelope } from '../envelope/envelope.ts'
import { type ErrorCode, isErrorCode } from '../envelope/error-codes.ts'
import { type AgentResult, type ErrorInfo, toErrorInfo, toResponse } from '../envelope/response.ts'
import { toToolName } from '../tool-name.ts'
import { type Frame, type FrameHeaders, readFrame, toFrame } from './frame.ts'

export interface FrameReceiverOptions {
  /** Over HTTP; absent where there is only another way. */
  readonly path?: string
  readonly seal?: SealChoice
  readonly sealing: SealOptions
  readonly reception: Reception
  /** Routes an envelope of somebody else on behalf of a call that governance let through. */
  readonly route: (envelope: IntentEnvelope, call: Call, timeout?: number) => Promise<Outcome>
  readonly onTrouble: (error: unknown) => void
}

/** A frame that asks for something. */
export interface Accepted {
  /** What the capability is called here, before anybody renamed it. */
  readonly name: string
  readonly input: JsonObject
  /** A repeated request has the same one. */
  readonly key: string
  readonly traceparent?: string
  invoke(call: Call): Promise<Outcome>
  /** The frame that goes back. `undefined`: there is no such capability. */
  answer(outcome: Outcome | undefined): Frame
}

/** Where other runtimes ask: from frames to calls, and from outcomes to frames. */
export class FrameReceiver {
  readonly #options: FrameReceiverOptions

  constructor(options: FrameReceiverOptions) {
    this.#options = options
  }

  get path(): string | undefined {
    return this.#options.path
  }

  /** What it asks for, or the frame that says why not. Never throws. */
  accept(value: unknown): Accepted | { readonly refused: Frame } {
    const frame = readFrame(value)
    if ('fault' in frame) return refuse('PROTOCOL_ERROR', frame.fault)
    const opened = this.#open(frame)
    if ('refused' in opened) return opened
    const reading = readEnvelope(opened.plain)
    if ('fault' in reading) return refuse('VALIDATION_ERROR', reading.fault)
    if (isLost(reading.envelope))
      return refuse(
        'ROUTING_ERROR',
        'It was passed on too often: two runtimes may be asking each other.',
      )
    return this.#accept(reading.envelope, frame.headers, opened.answer)
  }

  #open(frame: Frame): Unsealed | { readonly refused: Frame } {
    const { seal, sealing, reception, onTrouble } = this.#options
    if (!seal)
      return frame.messageType === 'intent'
        ? { plain: frame.body, answer: (said) => toFrame('response', said) }
        : refuse('PROTOCOL_ERROR', 'Only messages of the type intent are taken here.')
    if (frame.messageType !== 'emcl')
      return refuse('EMCL_FAILURE', 'Only sealed messages are taken here.')
    const opened = openRequest(sealing, seal, frame.body, reception)
    if (!('fault' in opened))
      return { plain: opened.plain, answer: (said) => toFrame('emcl', opened.answer(said)) }
    onTrouble(new Error(`A sealed message was refused: ${opened.fault}`))
    // Always the same words: how it failed would help whoever tries.
    return refuse('EMCL_FAILURE', 'The message could not be opened.')
  }

  #accept(envelope: IntentEnvelope, headers: FrameHeaders, seal: Unsealed['answer']): Accepted {
    const { traceparent, timeout, idempotencyKey } = headers
    const { requestId, traceId } = envelope.metadata
    const { node } = this.#options.reception
    return {
      name: toToolName(envelope.intent),
      input: envelope.payload,
      // What stands outside a seal may be anybody's word.
      key: this.#options.seal ? requestId : (idempotencyKey ?? requestId),
      ...(traceparent !== undefined && { traceparent }),
      invoke: (call) => this.#options.route(envelope, call, timeout),
      answer: (outcome) => {
        const timestamp = new Date(this.#options.sealing.now()).toISOString()
        const metadata = { agent: node, traceId, timestamp }
        return seal(toResponse(toSaid(outcome, envelope), metadata))
      },
    }
  }
}

const mostPassedOn = 8

const isLost = ({ metadata }: IntentEnvelope): boolean =>
  metadata.identityChain.filter((one) => one.startsWith('proxy:')).length > mostPassedOn

interface Unsealed {
  readonly plain: unknown
  readonly answer: (said: unknown) => Frame
}

const refuse = (code: ErrorCode, message: string) => ({
  refused: toFrame('error', toErrorInfo(code, message)),
})

function toSaid(outcome: Outcome | undefined, { intent }: IntentEnvelope): AgentResult {
  if (!outcome) {
    const message = `There is no intent ${intent.name} ${intent.version} here.`
    return { error: toErrorInfo('CAPABILITY_NOT_FOUND', message) }
  }
  switch (outcome.kind) {
    case 'done':
      return { payload: (outcome.data ?? {}) as JsonObject }
    case 'asking':
      return { error: toErrorInfo('UNAUTHORIZED', 'It needs an answer from a person first.') }
    case 'failed':
      return { error: toError(outcome.failure) }
  }
}

/** What governance refuses, in the words of the agents. */
const translations: Readonly<Record<string, ErrorCode>> = {
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
  // It was done: nobody may take this for a refusal.
  result_too_large: 'PROTOCOL_ERROR',
  ledger_unavailable: 'AGENT_UNAVAILABLE',
  log_unavailable: 'AGENT_UNAVAILABLE',
}

function toError(failure: Extract<Outcome, { kind: 'failed' }>['failure']): ErrorInfo {
  const { code, message, fixedBy, retryable, details } = failure
  return toErrorInfo(
    isErrorCode(code) ? code : (translations[code] ?? 'INTERNAL_AGENT_ERROR'),
    fixedBy === 'operator' ? 'It is out of order.' : message,
    { retryable, details: { ...(fixedBy !== 'operator' && details), reason: code } },
  )
}
