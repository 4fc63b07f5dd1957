import type { Cancellation } from '../../../capability/cancellation.ts'
import type { Contract, Parsed } from '../../../capability/contract.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { AgentContext } from '../agents/agent.ts'
import type { Candidate } from '../agents/registry.ts'
import { type AgentResult, isAgentFailure, toAgentFailure } from '../envelope/agent-result.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { ErrorCode } from '../envelope/error-codes.ts'
import { type ErrorInfo, toErrorInfo } from '../envelope/response.ts'
import { toTraceparent } from '../envelope/trace.ts'

export interface AskOptions {
  readonly candidate: Candidate
  readonly envelope: IntentEnvelope
  /** Number of the attempt within its execution. */
  readonly number: number
  readonly timeoutMs: number
  /** End of the time for all attempts, in milliseconds since the epoch. */
  readonly deadline: number
  /** Cancels this attempt alone. */
  readonly stop: Cancellation
  /** Called with an answer that arrives after the attempt has ended. */
  readonly onLate: (outcome: 'ok' | ErrorCode) => void
}

/** Asks one agent once. Settles exactly once, after `timeoutMs` at the latest; never rejects. */
export function askAgent(options: AskOptions): Promise<AgentResult> {
  const { candidate, timeoutMs, stop, onLate } = options
  const { name } = candidate.agent
  return new Promise((resolve) => {
    const request = new AgentRequest(options)
    let isSettled = false
    const settle = (result: AgentResult) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      resolve(result)
    }
    const timer = setTimeout(() => {
      const message = `${name} did not answer within ${Math.round(timeoutMs)} ms.`
      settle(request.toFailure(toErrorInfo('AGENT_TIMEOUT', message)))
      stop.cancel(message)
    }, Math.ceil(timeoutMs)) // setTimeout truncates, and would fire before the deadline
    stop.onCancel((reason) =>
      settle(request.toFailure(toErrorInfo('WORKFLOW_ABORTED', `${name} was stopped: ${reason}`))),
    )
    if (isSettled) return
    request.send().then(
      (result) =>
        isSettled ? onLate(isAgentFailure(result) ? result.error.code : 'ok') : settle(result),
      (error) => {
        const message = `An internal error occurred while ${name} was being asked.`
        settle(request.toFailure(toErrorInfo('INTERNAL_AGENT_ERROR', message), String(error)))
      },
    )
  })
}

class AgentRequest {
  readonly #options: AskOptions
  #invoked = false

  constructor(options: AskOptions) {
    this.#options = options
  }

  /** Validates the payload, invokes the agent, validates its answer. */
  async send(): Promise<AgentResult> {
    const { candidate, envelope } = this.#options
    const { agent, offer } = candidate
    const input = await parse(offer.input, envelope.payload)
    if (!input.ok) {
      const message = `The payload does not match the input schema of ${agent.name}: ${toText(input)}`
      // Other agents have other schemas: try the next one.
      return toAgentFailure(toErrorInfo('VALIDATION_ERROR', message), { failover: true })
    }
    const parsedEnvelope =
      input.value === envelope.payload
        ? envelope
        : Object.freeze({ ...envelope, payload: input.value as JsonObject })
    this.#invoked = true
    const result = await agent.invoke(parsedEnvelope, new LazyAgentContext(this.#options))
    if (isAgentFailure(result)) return result
    const output = await parse(offer.output, result.payload)
    if (output.ok) return result
    const message = `The answer of ${agent.name} does not match its output schema.`
    return toAgentFailure(toErrorInfo('PROTOCOL_ERROR', message), {
      cause: toText(output),
      instance: result.instance,
    })
  }

  /** A failure from outside the agent: it may have taken effect once the agent was invoked. */
  toFailure(error: ErrorInfo, cause?: string) {
    return toAgentFailure(error, { certainty: this.#invoked ? 'unknown' : 'nothing', cause })
  }
}

/** Synchronous without a contract: saves a promise on the path of every call. */
const parse = (contract: Contract | undefined, value: unknown): Parsed | Promise<Parsed> =>
  contract ? contract.parse(value) : { ok: true, value }

const toText = (parsed: Parsed): string =>
  parsed.ok
    ? ''
    : parsed.issues.map(({ pointer, message }) => `${pointer || '/'} ${message}`).join('; ')

/** Computes each member on access: most agents use none of them. */
class LazyAgentContext implements AgentContext {
  readonly #options: AskOptions

  constructor(options: AskOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#options.stop.signal
  }

  get deadline(): number {
    return this.#options.deadline
  }

  get traceparent(): string {
    const { envelope, candidate, number } = this.#options
    return toTraceparent(envelope.metadata.traceId, `${candidate.agent.name} ${number}`)
  }
}
